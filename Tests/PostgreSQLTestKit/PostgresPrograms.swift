import Foundation
import Glibc
import Synchronization

/// PostgreSQL's programs: installed ones, or those that `require_postgresql` has unpacked.
enum PostgresPrograms {
    static let folder: String? = {
        let roots = ["", FileManager.default.currentDirectoryPath + "/.build/servers"]
        let folders = roots.flatMap { root -> [String] in
            let versions = root + "/usr/lib/postgresql"
            let names = (try? FileManager.default.contentsOfDirectory(atPath: versions)) ?? []
            return names.sorted { (Int($0) ?? 0) > (Int($1) ?? 0) }.map { "\(versions)/\($0)/bin" }
        }
        return folders.first { FileManager.default.isExecutableFile(atPath: $0 + "/postgres") }
    }()

    static func path(_ name: String) throws -> String {
        guard let folder else { throw PostgresTestError("PostgreSQL isn't installed: scripts/test does that") }
        return "\(folder)/\(name)"
    }

    /// PostgreSQL refuses to run as root.
    static let user: (id: uid_t, group: gid_t)? = {
        guard geteuid() == 0, let nobody = getpwnam("nobody") else { return nil }
        return (nobody.pointee.pw_uid, nobody.pointee.pw_gid)
    }()

    /// As a user that PostgreSQL accepts, and ending with this process.
    static func asUser(_ command: [String]) -> [String] {
        var words = ["/usr/bin/setpriv", "--pdeathsig", "KILL"]
        if let user { words += ["--reuid=\(user.id)", "--regid=\(user.group)", "--clear-groups"] }
        return words + ["--"] + command
    }

    static func give(_ path: String) {
        if let user { chown(path, user.id, user.group) }
    }
}

package struct PostgresTestError: Error, CustomStringConvertible {
    package let description: String

    package init(_ text: String) { description = text }
}

/// Starts programs without `Foundation.Process`, which crashes in processes with many files.
enum Program {
    /// A process whose parent is a thread that lives as long as it does: `PR_SET_PDEATHSIG` is sent when that thread
    /// ends.
    ///
    /// - Parameter ended: is signalled after the end.
    static func start(_ words: [String], output: String, ended: DispatchSemaphore) throws -> pid_t {
        let started = DispatchSemaphore(value: 0)
        let box = Box()
        Thread.detachNewThread {
            box.pid = spawn(words, output: output)
            started.signal()
            var status: Int32 = 0
            if box.pid > 0 { while waitpid(box.pid, &status, 0) < 0, errno == EINTR {} }
            box.status = status
            ended.signal()
        }
        started.wait()
        guard box.pid > 0 else { throw PostgresTestError("\(words) can't be started") }
        return box.pid
    }

    static func run(_ words: [String], output: String) throws {
        let ended = DispatchSemaphore(value: 0)
        let box = Box()
        Thread.detachNewThread {
            box.pid = spawn(words, output: output)
            var status: Int32 = -1
            if box.pid > 0 { while waitpid(box.pid, &status, 0) < 0, errno == EINTR {} }
            box.status = status
            ended.signal()
        }
        ended.wait()
        guard box.status == 0 else {
            let log = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
            throw PostgresTestError("\(words.joined(separator: " ")): \(box.status) \(log.suffix(2_000))")
        }
    }

    private final class Box: @unchecked Sendable {
        var pid: pid_t = -1
        var status: Int32 = -1
    }

    private static func spawn(_ words: [String], output: String) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o644)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        _ = closeFrom(&actions, 3)
        var (none, all) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var environment = ["PATH=/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL=C"]
        // By which `scripts/test` finds what is left behind.
        if let folder = ProcessInfo.processInfo.environment["TMPDIR"] { environment.append("TMPDIR=\(folder)") }
        let arguments = words.map { strdup($0) } + [nil]
        let variables = environment.map { strdup($0) } + [nil]
        defer { (arguments + variables).forEach { free($0) } }
        var process: pid_t = 0
        return posix_spawn(&process, words[0], &actions, &attributes, arguments, variables) == 0 ? process : -1
    }

    // glibc has it, but Swift's module of it doesn't show it.
    private static let closeFrom = unsafeBitCast(
        dlsym(nil, "posix_spawn_file_actions_addclosefrom_np"),
        to: (@convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32).self)
}

/// What must not outlive this process.
enum Leftovers {
    private static let known = Mutex<(processes: Set<pid_t>, directories: Set<String>, isRegistered: Bool)>(
        ([], [], false))

    static func add(directory: String) {
        known.withLock { known in
            known.directories.insert(directory)
            if !known.isRegistered { atexit { Leftovers.remove() } }
            known.isRegistered = true
        }
    }

    static func add(process: pid_t) { known.withLock { _ = $0.processes.insert(process) } }
    static func ended(process: pid_t) { known.withLock { _ = $0.processes.remove(process) } }

    static func remove(directory: String) {
        known.withLock { _ = $0.directories.remove(directory) }
        try? FileManager.default.removeItem(atPath: directory)
    }

    private static func remove() {
        let (processes, directories, _) = known.withLock { $0 }
        for process in processes { kill(process, SIGQUIT) }
        // Their main processes end last.
        for process in processes {
            for _ in 0..<200 where kill(process, 0) == 0 { usleep(10_000) }
            kill(process, SIGKILL)
        }
        for directory in directories { try? FileManager.default.removeItem(atPath: directory) }
    }
}

/// Runs what blocks on a thread of its own: Swift's pool has few, and other tests need them.
func offPool<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}
