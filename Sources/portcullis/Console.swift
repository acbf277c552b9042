import ArgumentParser
import FoundationEssentials
import GatewayServer
import Glibc
import Settings

/// The output and failures of all commands.
enum Console {
    static func say(_ text: String) {
        show(text + "\n")
    }

    /// Prints the text unchanged.
    static func show(_ text: String) {
        write(text, to: STDOUT_FILENO)
    }

    static func complain(_ text: String) {
        write(text + "\n", to: STDERR_FILENO)
    }

    /// Prints what failed; throwing the returned error ends the command with exit code 1.
    static func failure(_ reason: String, hint: String? = nil) -> ExitCode {
        complain("portcullis: error: \(reason)")
        if let hint { complain("portcullis: hint: \(hint)") }
        return .failure
    }

    /// The settings, or all of their errors at once.
    static func load(_ options: SettingsOptions) throws -> LoadedConfiguration {
        do throws(ConfigurationErrors) {
            return try source(options).load(now: .now)
        } catch {
            complain("portcullis: error: \(error)")
            throw ExitCode(78)  // EX_CONFIG of sysexits(3).
        }
    }

    static func source(_ options: SettingsOptions) -> ConfigurationSource {
        ConfigurationSource(environment: environment, environmentFile: options.environmentFile)
    }

    /// Listening sockets of another process, or what is wrong with them.
    static func sockets<Value>(_ body: () throws(SocketFault) -> Value) throws -> Value {
        do throws(SocketFault) { return try body() } catch { throw failure("\(error)") }
    }

    /// The file of `--store`, or the store of the settings, or all errors of the settings.
    static func storeLocation(_ file: String?, _ options: SettingsOptions) throws -> StoreLocation {
        if let file { return .file(path: file) }
        do throws(ConfigurationErrors) {
            return try ConfigurationLoading.loadStoreLocation(
                environment: environment, environmentFile: options.environmentFile)
        } catch {
            complain("portcullis: error: \(error)")
            throw ExitCode(78)
        }
    }

    /// The database of STORE_URL, or all errors of the settings.
    static func fleetStore(_ options: SettingsOptions) throws -> FleetStoreConfiguration {
        let store: FleetStoreConfiguration?
        do throws(ConfigurationErrors) {
            store = try ConfigurationLoading.loadFleetStore(
                environment: environment, environmentFile: options.environmentFile)
        } catch {
            complain("portcullis: error: \(error)")
            throw ExitCode(78)
        }
        guard let store else { throw failure("STORE_URL isn't set", hint: "it names the database of a fleet.") }
        return store
    }

    /// AUDIT_LOG_PATH, or all errors of the settings.
    static func auditLogPath(_ options: SettingsOptions) throws -> String? {
        do throws(ConfigurationErrors) {
            return try ConfigurationLoading.loadAuditLogPath(
                environment: environment, environmentFile: options.environmentFile)
        } catch {
            complain("portcullis: error: \(error)")
            throw ExitCode(78)
        }
    }

    /// The settings of access tokens, or all errors of the settings.
    static func tokenSettings(_ options: SettingsOptions) throws -> SectionValues<TokenSection> {
        do throws(ConfigurationErrors) {
            return try ConfigurationLoading.loadTokens(
                environment: environment, environmentFile: options.environmentFile)
        } catch {
            complain("portcullis: error: \(error)")
            throw ExitCode(78)
        }
    }

    /// CONTROL_SOCKET_PATH, or all errors of the settings.
    static func controlSocketPath(_ options: SettingsOptions) throws -> String? {
        do throws(ConfigurationErrors) {
            return try ConfigurationLoading.loadControlSocketPath(
                environment: environment, environmentFile: options.environmentFile)
        } catch {
            complain("portcullis: \(error)")
            throw ExitCode(78)
        }
    }

    /// - Parameter socket: `--socket`; nil uses CONTROL_SOCKET_PATH.
    static func controlSocket(_ socket: String?, _ settings: SettingsOptions) throws -> String {
        if let path = try socket ?? controlSocketPath(settings) { return path }
        throw failure(
            "no control socket is configured",
            hint: "Set CONTROL_SOCKET_PATH for the gateway and for this command, or name it with --socket.")
    }

    /// A client for the control socket in the settings, if there is one; a gateway needn't be listening on it.
    static func runningGateway(_ options: SettingsOptions) -> ControlClient? {
        let path = try? ConfigurationLoading.loadControlSocketPath(
            environment: environment, environmentFile: options.environmentFile)
        return path.map(ControlClient.init)
    }

    static func noGateway(on path: String) -> ExitCode {
        failure(
            "no gateway answers on \(path)",
            hint: "Is it running, with CONTROL_SOCKET_PATH set to this path, as the same user?")
    }

    static var environment: [String: String] { ProcessInfo.processInfo.environment }

    /// Every error that reaches this function is unexpected: it is printed, and the process ends with exit code 1.
    static func exitingOnError(_ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            complain("portcullis: error: \(error)")
            exit(1)
        }
    }

    static func exit(_ code: Int32) -> Never {
        Glibc.exit(code)
    }

    /// Writes the whole text at once, without `print`'s buffering, which would delay a reader on a pipe.
    private static func write(_ text: String, to descriptor: Int32) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            bytes.removeFirst(count)
        }
    }
}
