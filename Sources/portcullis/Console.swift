import ArgumentParser
import FoundationEssentials
import GatewayServer
import Glibc
import Settings

/// What the commands share: how they speak, and how they fail.
enum Console {
    static func say(_ text: String) {
        show(text + "\n")
    }

    /// The text as it is.
    static func show(_ text: String) {
        write(text, to: STDOUT_FILENO)
    }

    static func complain(_ text: String) {
        write(text + "\n", to: STDERR_FILENO)
    }

    /// Says what failed; the error to throw ends the command with 1.
    static func failure(_ reason: String, hint: String? = nil) -> ExitCode {
        complain("portcullis: error: \(reason)")
        if let hint { complain("portcullis: hint: \(hint)") }
        return .failure
    }

    /// The settings, or all that is wrong with them, at once.
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

    /// ATTESTED_KEYS_PATH, or all that is wrong with the settings.
    static func keyStorePath(_ options: SettingsOptions) throws -> String {
        do throws(ConfigurationErrors) {
            return try ConfigurationLoading.loadKeyStorage(
                environment: environment, environmentFile: options.environmentFile
            ).path
        } catch {
            complain("portcullis: error: \(error)")
            throw ExitCode(78)
        }
    }

    /// CONTROL_SOCKET_PATH, or all that is wrong with the settings.
    static func controlSocketPath(_ options: SettingsOptions) throws -> String? {
        do throws(ConfigurationErrors) {
            return try ConfigurationLoading.loadControlSocketPath(
                environment: environment, environmentFile: options.environmentFile)
        } catch {
            complain("portcullis: \(error)")
            throw ExitCode(78)
        }
    }

    /// - Parameter socket: `--socket`; nil takes CONTROL_SOCKET_PATH.
    static func controlSocket(_ socket: String?, _ settings: SettingsOptions) throws -> String {
        if let path = try socket ?? controlSocketPath(settings) { return path }
        throw failure(
            "no control socket is configured",
            hint: "Set CONTROL_SOCKET_PATH for the gateway and for this command, or name it with --socket.")
    }

    /// Where settings name a control socket; nobody need answer there.
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

    /// Every error that reaches here is unforeseen: it is said, and the process ends with 1.
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

    /// At once, whole, and without the buffering of `print`, which a reader on a pipe would wait for.
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
