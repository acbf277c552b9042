import GatewayServer
import Observability
import Settings

/// Why an operator's command failed, in a sentence, and what to do about it.
///
/// Its members are beside the commands that throw them.
package struct OperatorError: Error, Equatable, CustomStringConvertible {
    package let text: String
    package let hint: String?
    /// There is no store: the gateway hasn't run yet, or the path is wrong. Some commands take it for an empty one.
    package private(set) var isMissingStore = false

    package init(_ text: String, hint: String? = nil) {
        self.text = text
        self.hint = hint
    }

    package var description: String { text }
}

extension OperatorError {
    /// - Parameter reason: why the store's file or database can't be read or written.
    static func store(_ reason: String) -> OperatorError {
        OperatorError(
            "the key store can't be used: \(reason)", hint: "portcullis store check says what is wrong with it.")
    }

    /// - Parameters:
    ///   - what: such as `no keys yet`; nil: nothing but that there is no store.
    ///   - path: of the store's file.
    static func noStore(_ what: String? = nil, path: String) -> OperatorError {
        var error = OperatorError(
            (what.map { $0 + ": " } ?? "") + "no database at \(EscapedText(NamedFile.absolute(path)))",
            hint:
                "the gateway makes it when it starts. --env-file names the gateway's settings, --store the file itself."
        )
        error.isMissingStore = true
        return error
    }

    /// - Parameters:
    ///   - name: of the fleet's database.
    ///   - reason: why it can't be used.
    static func database(_ name: String, _ reason: String) -> OperatorError {
        OperatorError(
            "\(EscapedText(name)) can't be used: \(EscapedText(reason))",
            hint: "portcullis store check says more. The role needs its rights (config/postgresql-roles.sql).")
    }

    static let secretKeys = OperatorError(
        FleetStoreConfiguration.unusableSecretKeys, hint: "make one with: openssl rand -hex 32")
}
