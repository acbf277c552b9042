import Foundation
import Glibc

/// Starts a program, as `Foundation.Process` does. That copies each entry of /proc/self/fd past the end of readdir's
/// buffer, which crashes now and then in a process with more than a thousand files.
package enum Spawn {
    package struct Failure: Error, CustomStringConvertible {
        let program: String
        let code: Int32

        package var description: String { "\(program) can't be started: \(String(cString: strerror(code)))" }
    }

    /// - Parameters:
    ///   - environment: the whole environment of the child.
    ///   - files: the child's standard input, output and error. It inherits no other files.
    /// - Returns: the process, for which the caller has to wait.
    package static func start(
        _ program: String, _ arguments: [String], environment: [String: String], directory: String?,
        files: (input: Int32, output: Int32, error: Int32)
    ) throws -> Int32 {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        for (number, file) in [files.input, files.output, files.error].enumerated() {
            posix_spawn_file_actions_adddup2(&actions, file, Int32(number))
        }
        _ = Self.addCloseFrom(&actions, 3)
        if let directory { _ = Self.addChangeDirectory(&actions, directory) }
        resetSignals(&attributes)
        let words = ([program] + arguments).map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { (words + variables).forEach { free($0) } }
        var process: pid_t = 0
        let code = posix_spawn(&process, program, &actions, &attributes, words, variables)
        guard code == 0 else { throw Failure(program: program, code: code) }
        return process
    }

    // glibc has them, but Swift's module of it doesn't show them.
    private static let addCloseFrom = unsafeBitCast(
        dlsym(nil, "posix_spawn_file_actions_addclosefrom_np"),
        to: (@convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32).self)
    private static let addChangeDirectory = unsafeBitCast(
        dlsym(nil, "posix_spawn_file_actions_addchdir_np"),
        to: (@convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, UnsafePointer<CChar>) -> Int32).self)

    /// The child blocks and ignores no signal, whatever this process does.
    private static func resetSignals(_ attributes: inout posix_spawnattr_t) {
        var none = sigset_t()
        var all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    }

    /// Waits for the end of a process that was started here; blocks.
    package static func end(of process: Int32) -> ChildOutput.Ending {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7f
        return signal == 0 ? .exited((status >> 8) & 0xff) : .signalled(signal)
    }
}
