import Foundation
import Glibc

/// A child process that this process starts and ends. `setpriv` makes sure that it doesn't outlive this process.
final class SpawnedProcess {
    let pid: Int32
    private var status: Int32?
    /// Its total CPU time, once it has ended.
    private(set) var cpuSeconds: Double?

    /// - Parameters:
    ///   - cores: the only cores on which it may run (`taskset`).
    ///   - environment: its complete environment.
    ///   - output, log: files for its standard output and standard error.
    init(
        _ program: String, _ arguments: [String], cores: [Int], environment: [String: String] = [:], output: String,
        log: String
    ) throws {
        let words =
            ["setpriv", "--pdeathsig", "KILL", "taskset", "-c", cores.map(String.init).joined(separator: ","), program]
            + arguments
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        var all = environment
        all["PATH"] = ProcessInfo.processInfo.environment["PATH"]
        all["LD_LIBRARY_PATH"] = ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"]
        let argv = words.map { strdup($0) } + [nil]
        let envp = all.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { (argv + envp).forEach { free($0) } }
        var pid: pid_t = 0
        let error = posix_spawnp(&pid, words[0], &actions, nil, argv, envp)
        guard error == 0 else {
            throw SimOutput.failure("\(program) can't be started: \(String(cString: strerror(error))).")
        }
        self.pid = pid
    }

    /// The exit code, or 128 plus the signal; nil while it runs.
    var exitCode: Int32? {
        if let status { return status }
        var raw: Int32 = 0
        // A rusage begins with two timevals; their members belong to a module that this file may not import.
        var words = [Int](repeating: 0, count: MemoryLayout<rusage>.size / MemoryLayout<Int>.size)
        let isOver = words.withUnsafeMutableBytes {
            wait4(pid, &raw, WNOHANG, $0.baseAddress?.assumingMemoryBound(to: rusage.self)) == pid
        }
        guard isOver else { return nil }
        cpuSeconds = Double(words[0] + words[2]) + Double(words[1] + words[3]) / 1e6
        let signal = raw & 0x7F
        status = signal == 0 ? raw >> 8 & 0xFF : 128 + signal
        return status
    }

    /// - Returns: nil if it still runs after this time.
    func waitForExit(seconds: Double) -> Int32? {
        let deadline = Date(timeIntervalSinceNow: seconds)
        while exitCode == nil, Date() < deadline { usleep(20_000) }
        return exitCode
    }

    func signal(_ number: Int32) {
        if exitCode == nil { kill(pid, number) }
    }

    func end() {
        signal(SIGKILL)
        _ = waitForExit(seconds: 5)
    }
}

/// The busy time of the machine's cores from Linux (proc(5), `/proc/stat`), to detect other work during a measurement.
enum CoreUsage {
    /// The sum of all cores, including time that the hypervisor gave to others.
    static var busySeconds: Double? {
        guard let stat = try? String(contentsOfFile: "/proc/stat", encoding: .utf8) else { return nil }
        return busySeconds(stat: stat, ticksPerSecond: Double(sysconf(Int32(_SC_CLK_TCK))))
    }

    /// - Parameter stat: its first line contains user, nice, system, idle, iowait, irq, softirq and steal.
    static func busySeconds(stat: String, ticksPerSecond: Double) -> Double? {
        guard let line = stat.split(separator: "\n").first, line.hasPrefix("cpu ") else { return nil }
        let fields = line.split(separator: " ").dropFirst().map { Double($0) ?? 0 }
        guard fields.count >= 8 else { return nil }
        return (fields[..<3] + fields[5..<8]).reduce(0, +) / ticksPerSecond
    }
}

/// The work of other processes during a load.
struct Disturbance {
    /// As a share of one core.
    static let tolerated = 0.08

    private let start = Date()
    private let busy = CoreUsage.busySeconds
    private let roots: [Int32]
    private let used: Double

    /// - Parameter roots: the processes that take part, with their descendants.
    init(_ roots: [Int32]) {
        self.roots = roots
        used = Self.cpuSeconds(roots)
    }

    private static func cpuSeconds(_ roots: [Int32]) -> Double {
        roots.reduce(0) { $0 + (ProcessTree(root: $1)?.usage?.cpuSeconds ?? 0) }
    }

    /// - Parameter load: the load, which has ended.
    /// - Returns: the share of a core that other processes have used since this value was made.
    func share(besides load: SpawnedProcess) -> Double? {
        guard let busy, let now = CoreUsage.busySeconds, let own = load.cpuSeconds else { return nil }
        let others = now - busy - own - (Self.cpuSeconds(roots) - used)
        return max(others, 0) / max(Date().timeIntervalSince(start), 0.001)
    }
}
