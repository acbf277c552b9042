import CLibwebsockets
import FoundationEssentials
import Glibc

/// The process that is to replace this one.
package struct NewProcess: Sendable {
    /// The variable that tells a gateway that it replaces another: the number of its end of the channel.
    package static let variable = "PORTCULLIS_HANDOVER_FD"
    private static let channelDescriptor: Int32 = 3

    package let id: Int32

    /// Where this process' program is, as long as nobody has replaced it.
    package static let programAtStart: String? = link("/proc/self/exe")

    /// Starts a program with this process' arguments and environment, and nothing of its files but standard input,
    /// output and error, and the channel.
    ///
    /// - Parameter environment: nil: this process'.
    package static func start(
        _ program: String, channel: Int32, environment: [String: String]? = nil
    ) throws(HandoverFault) -> NewProcess {
        guard access(program, X_OK) == 0 else {
            throw .failed("\(program) can't be run: \(String(cString: strerror(errno)))")
        }
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_adddup2(&actions, channel, channelDescriptor)
        // Swift's Glibc doesn't show glibc's function for it.
        _ = portcullis_spawn_close_from(&actions, channelDescriptor + 1)
        resetSignals(&attributes)
        let arguments = ([program] + CommandLine.arguments.dropFirst()).map { strdup($0) } + [nil]
        let environment = Self.lines(of: environment ?? ProcessInfo.processInfo.environment).map { strdup($0) } + [nil]
        defer { for text in arguments + environment { free(text) } }
        var id: pid_t = 0
        let code = posix_spawn(&id, program, &actions, &attributes, arguments, environment)
        guard code == 0 else { throw .failed("\(program) can't be started: \(String(cString: strerror(code)))") }
        return NewProcess(id: id)
    }

    /// Ignored signals would stay ignored in the new program.
    private static func resetSignals(_ attributes: inout posix_spawnattr_t) {
        var signals = sigset_t()
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
    }

    /// Without what concerns this process alone.
    private static func lines(of environment: [String: String]) -> [String] {
        var variables = environment
        for name in ["LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"] { variables[name] = nil }
        variables[variable] = "\(channelDescriptor)"
        return variables.map { "\($0.key)=\($0.value)" }
    }

    private static func link(_ path: String) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &buffer, buffer.count)
        return count > 0 ? String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }

    /// Ends it, whatever it does, and waits for its end.
    ///
    /// - Returns: how it has ended, after "it".
    @discardableResult
    package func end() -> String {
        var status: Int32 = 0
        // It may be about to end by itself: then its own status is worth more.
        for _ in 0..<Self.looks {
            if waitpid(id, &status, WNOHANG) == id { return Self.text(of: status) }
            usleep(Self.lookMicroseconds)
        }
        kill(id, SIGKILL)
        while waitpid(id, &status, 0) < 0, errno == EINTR {}
        return "was ended"
    }

    private static let looks = 20
    private static let lookMicroseconds: UInt32 = 10_000

    private static func text(of status: Int32) -> String {
        let signal = status & 0x7F
        return signal == 0 ? "ended with status \((status >> 8) & 0xFF)" : "was ended by signal \(signal)"
    }
}
