import Foundation
import Glibc

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
    private let servers: [Server]
    private let used: Double

    init(_ servers: [Server]) {
        self.servers = servers
        used = Self.cpuSeconds(servers)
    }

    private static func cpuSeconds(_ servers: [Server]) -> Double {
        servers.reduce(0) { $0 + (ProcessTree(root: $1.process.pid)?.usage?.cpuSeconds ?? 0) }
    }

    /// - Parameter load: the load, which has ended.
    /// - Returns: the share of a core that other processes have used since this value was made.
    func share(besides load: SpawnedProcess) -> Double? {
        guard let busy, let now = CoreUsage.busySeconds, let own = load.cpuSeconds else { return nil }
        let others = now - busy - own - (Self.cpuSeconds(servers) - used)
        return max(others, 0) / max(Date().timeIntervalSince(start), 0.001)
    }
}
