package import FoundationEssentials
import Observability

/// A configuration and the data that `check-config` shows about it.
package struct LoadedConfiguration: Sendable {
    package let configuration: GatewayConfiguration
    package let warnings: [ConfigurationWarning]
    /// Every setting in the table's order, with the value in effect and its origin.
    package let settings: [EffectiveSetting]
}

/// The value that a setting has, as text.
package struct EffectiveSetting: Sendable, Equatable, CustomStringConvertible {
    package let row: SettingRow
    /// As it was written: perhaps one of ``SettingRow/spellings``.
    let name: String
    /// Escaped; `(secret)` in place of a secret, and empty for what isn't set.
    package let value: String
    package let origin: ConfigurationError.Origin
    /// It isn't set, or set to its default.
    package let isDefault: Bool
    /// A hash of the file that the setting names, different in each process; nil if no file was read for this setting.
    let fileHash: Int?

    /// `NAME=value`, with its origin as a comment, and the actual figure for a derived 0.
    package var description: String {
        let derived = value == "0" ? row.derived.map { ": \($0.value) here" } : nil
        return "\(name)=\(value)  # \(source)\(derived ?? "")"
    }

    private var source: String {
        switch origin {
        case .defaultValue: "default"
        case .environment: "environment"
        case .file(_, let line): "line \(line)"
        }
    }
}

/// Loads the gateway's configuration from the environment and an environment file; the environment wins.
///
/// An empty value counts as not set. Loading doesn't listen, connect or write. The files that settings name are read,
/// and checked as far as that is possible without a handshake.
package enum ConfigurationLoading {
    /// Bytes of an environment file.
    static let maximumFileBytes = 262_144

    /// Everything that `serve` needs.
    ///
    /// - Parameters:
    ///   - environment: variables of the process.
    ///   - environmentFile: its path; nil: there is none.
    ///   - now: for warnings about certificates that expire.
    /// - Throws: all errors at once.
    package static func load(
        environment: [String: String], environmentFile: String?, now: Date
    ) throws(ConfigurationErrors) -> LoadedConfiguration {
        let (configuration, loader) = try read(environment, environmentFile, now: now) { loader in
            (loader.gatewayConfiguration(), loader)
        }
        guard let configuration else { preconditionFailure("A part is missing, and no error says so.") }
        return LoadedConfiguration(
            configuration: configuration, warnings: loader.warnings, settings: loader.effectiveSettings)
    }

    /// The store of ATTESTED_KEYS_PATH or STORE_URL, for tools. For the other settings, only the names are checked.
    package static func loadStoreLocation(
        environment: [String: String], environmentFile: String?
    ) throws(ConfigurationErrors) -> StoreLocation {
        try read(environment, environmentFile) { loader in
            let database = loader.fleetStore()
            return database.map(StoreLocation.database) ?? .file(path: loader.read(\.keyStore).path)
        }
    }

    /// The database of STORE_URL, for tools; nil if it isn't set.
    package static func loadFleetStore(
        environment: [String: String], environmentFile: String?
    ) throws(ConfigurationErrors) -> FleetStoreConfiguration? {
        try read(environment, environmentFile) { $0.fleetStore() }
    }

    /// The few settings that `signing-keys …` needs.
    package static func loadTokens(
        environment: [String: String], environmentFile: String?
    ) throws(ConfigurationErrors) -> SectionValues<TokenSection> {
        try read(environment, environmentFile) { $0.read(\.tokens) }
    }

    /// AUDIT_LOG_PATH alone, for tools that read the audit log.
    package static func loadAuditLogPath(
        environment: [String: String], environmentFile: String?
    ) throws(ConfigurationErrors) -> String? {
        try read(environment, environmentFile) { $0.read(\.logs).auditLogPath }
    }

    /// CONTROL_SOCKET_PATH alone, for tools that talk to the running gateway.
    package static func loadControlSocketPath(
        environment: [String: String], environmentFile: String?
    ) throws(ConfigurationErrors) -> String? {
        try read(environment, environmentFile) { $0.tickets().controlSocketPath }
    }

    /// The one way to read settings: a file that can't be read is an error before all others, and then come all others.
    private static func read<Value>(
        _ environment: [String: String], _ environmentFile: String?, now: Date = Date(),
        _ body: (inout ConfigurationLoader) -> Value
    ) throws(ConfigurationErrors) -> Value {
        var loader = ConfigurationLoader(environment: environment, environmentFile: environmentFile, now: now)
        try loader.throwFileError()
        let value = body(&loader)
        try loader.throwErrors()
        return value
    }
}

/// Where a gateway's settings come from, so that a reload can read them again.
package struct ConfigurationSource: Sendable {
    package let environment: [String: String]
    /// Its path; nil: there is none.
    package let environmentFile: String?

    /// - Parameters:
    ///   - environment: of the process; it doesn't change while that runs.
    ///   - environmentFile: the path of an `EnvironmentFile`.
    package init(environment: [String: String], environmentFile: String?) {
        self.environment = environment
        self.environmentFile = environmentFile
    }

    package func load(now: Date) throws(ConfigurationErrors) -> LoadedConfiguration {
        try ConfigurationLoading.load(environment: environment, environmentFile: environmentFile, now: now)
    }
}
