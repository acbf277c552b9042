import ArgumentParser
import FoundationEssentials
import GatewayServer
import Observability
import Settings
import Synchronization

/// Which settings a command reads, and what it reads of them.
extension Console {
    /// For `serve`, whose log says where its settings are.
    static func source(_ options: SettingsOptions) -> ConfigurationSource {
        ConfigurationSource(environment: environment, environmentFile: file(options)?.path)
    }

    static func load(_ options: SettingsOptions, quietly isQuiet: Bool = false) throws -> LoadedConfiguration {
        try settings(options, quietly: isQuiet) { environment, file throws(ConfigurationErrors) in
            try ConfigurationLoading.load(environment: environment, environmentFile: file, now: .now)
        }
    }

    /// The file of `--store`, or the store of the settings.
    static func storeLocation(_ file: String?, _ options: SettingsOptions) throws -> StoreLocation {
        if let file { return .file(path: file) }
        return try settings(options, ConfigurationLoading.loadStoreLocation)
    }

    /// The database of STORE_URL.
    static func fleetStore(_ options: SettingsOptions) throws -> FleetStoreConfiguration {
        let store = try settings(options, ConfigurationLoading.loadFleetStore)
        guard let store else { throw failure("STORE_URL isn't set", hint: "it names the database of a fleet.") }
        return store
    }

    /// AUDIT_LOG_PATH
    static func auditLogPath(_ options: SettingsOptions) throws -> String? {
        try settings(options, ConfigurationLoading.loadAuditLogPath)
    }

    /// The settings of access tokens.
    static func tokenSettings(_ options: SettingsOptions) throws -> SectionValues<TokenSection> {
        try settings(options, ConfigurationLoading.loadTokens)
    }

    /// - Parameter socket: `--socket`; nil uses CONTROL_SOCKET_PATH.
    static func controlSocket(_ socket: String?, _ options: SettingsOptions) throws -> String {
        if let path = try socket ?? settings(options, ConfigurationLoading.loadControlSocketPath) { return path }
        throw failure(
            "no control socket is configured",
            hint: "Set CONTROL_SOCKET_PATH for the gateway and for this command, or name it with --socket.")
    }

    /// A client for the control socket in the settings, if there is one; a gateway needn't be listening on it. Call it
    /// before anything is changed.
    ///
    /// - Parameter store: `--store`. With it nothing else is read of the settings, so the command can do without them;
    ///   it says so.
    static func runningGateway(_ options: SettingsOptions, besides store: String?) throws -> ControlClient? {
        guard store != nil else {
            return try settings(options, ConfigurationLoading.loadControlSocketPath).map(ControlClient.init)
        }
        do throws(ConfigurationErrors) {
            return try ConfigurationLoading.loadControlSocketPath(
                environment: environment, environmentFile: file(options)?.path
            ).map(ControlClient.init)
        } catch {
            complain("portcullis: warning: no gateway is asked, because its settings can't be read: \(error)")
            return nil
        }
    }

    // MARK: Where they are

    private static func file(_ options: SettingsOptions) -> EnvironmentFile? {
        EnvironmentFile(option: options.environmentFile, environment: environment)
    }

    /// What `read` makes of the environment and the file, or all errors of the settings.
    private static func settings<Value>(
        _ options: SettingsOptions, quietly isQuiet: Bool = false,
        _ read: (_ environment: [String: String], _ file: String?) throws(ConfigurationErrors) -> Value
    ) throws -> Value {
        let file = file(options)
        if !isQuiet { say(where: file) }
        do throws(ConfigurationErrors) {
            return try read(environment, file?.path)
        } catch {
            complain("portcullis: error: \(error)")
            if file?.choice != .option { complain("portcullis: hint: --env-file names other settings.") }
            throw ExitCode(78)  // EX_CONFIG of sysexits(3).
        }
    }

    private static let hasSaidWhere = Atomic(false)

    /// Once, on standard error. Whoever has named the file needn't be told.
    private static func say(where file: EnvironmentFile?) {
        guard file?.choice != .option, !hasSaidWhere.exchange(true, ordering: .relaxed) else { return }
        guard let file else {
            return complain(
                "portcullis: settings: the environment alone (there is no \(EnvironmentFile.standardPath), and neither --env-file nor"
                    + " \(EnvironmentFile.variable) names a file)")
        }
        let reason = file.choice == .variable ? ", of \(EnvironmentFile.variable)" : ""
        complain("portcullis: settings: \(EscapedText(file.path))\(reason)")
    }
}
