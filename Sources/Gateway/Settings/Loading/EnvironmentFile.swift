import Glibc

/// The environment file that a command reads. `serve` and the operator's commands choose it by the same rule, so that
/// commands find the settings of the gateway: `--env-file`, else `PORTCULLIS_ENV_FILE`, else the file of the Debian
/// package if it exists.
package struct EnvironmentFile: Sendable, Equatable {
    package enum Choice: Sendable, Equatable {
        /// `--env-file`
        case option
        /// `PORTCULLIS_ENV_FILE`
        case variable
        /// Neither: the standard path.
        case standard
    }

    package static let variable = "PORTCULLIS_ENV_FILE"
    package static let standardPath = "/etc/portcullis/portcullis.env"

    package let path: String
    package let choice: Choice

    /// - Parameters:
    ///   - option: of `--env-file`.
    ///   - environment: an empty `PORTCULLIS_ENV_FILE` counts as not set.
    ///   - isPresent: whether the standard path is there.
    /// - Returns: nil: the settings are those of the environment alone.
    package init?(
        option: String?, environment: [String: String], isPresent: (String) -> Bool = Self.isPresent
    ) {
        if let option {
            (path, choice) = (option, .option)
        } else if let named = environment[Self.variable], !named.isEmpty {
            (path, choice) = (named, .variable)
        } else if isPresent(Self.standardPath) {
            (path, choice) = (Self.standardPath, .standard)
        } else {
            return nil
        }
    }

    /// True also for a file that this user may not look for: it could be the gateway's, so a command must not do
    /// without it.
    package static func isPresent(_ path: String) -> Bool {
        access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR)
    }
}
