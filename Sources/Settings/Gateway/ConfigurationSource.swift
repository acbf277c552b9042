package import FoundationEssentials

/// Where a gateway's settings come from, so that a reload can read them again.
package struct ConfigurationSource: Sendable {
    private let environment: [String: String]
    private let environmentFile: String?

    /// - Parameters:
    ///   - environment: of the process; it doesn't change while that runs.
    ///   - environmentFile: path of `--env-file`.
    package init(environment: [String: String], environmentFile: String?) {
        self.environment = environment
        self.environmentFile = environmentFile
    }

    package func load(now: Date) throws(ConfigurationErrors) -> LoadedConfiguration {
        try ConfigurationLoading.load(environment: environment, environmentFile: environmentFile, now: now)
    }
}
