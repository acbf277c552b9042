import ArgumentParser
import FoundationEssentials
import GatewayServer
import Glibc

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

    /// Listening sockets of another process, or what is wrong with them.
    static func sockets<Value>(_ body: () throws(SocketFault) -> Value) throws -> Value {
        do throws(SocketFault) { return try body() } catch { throw failure("\(error)") }
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
