import Foundation
import Glibc

/// How long the machine's cores have worked, as Linux tells (proc(5), `/proc/stat`): to see whether others worked during a measurement.
enum CoreUsage {
    /// Of all cores together, what the hypervisor gave to others included.
    static var busySeconds: Double? {
        guard let stat = try? String(contentsOfFile: "/proc/stat", encoding: .utf8) else { return nil }
        return busySeconds(stat: stat, ticksPerSecond: Double(sysconf(Int32(_SC_CLK_TCK))))
    }

    /// - Parameter stat: its first line has user, nice, system, idle, iowait, irq, softirq and steal.
    static func busySeconds(stat: String, ticksPerSecond: Double) -> Double? {
        guard let line = stat.split(separator: "\n").first, line.hasPrefix("cpu ") else { return nil }
        let fields = line.split(separator: " ").dropFirst().map { Double($0) ?? 0 }
        guard fields.count >= 8 else { return nil }
        return (fields[..<3] + fields[5..<8]).reduce(0, +) / ticksPerSecond
    }
}

/// What others did while a load ran.
struct Disturbance {
    /// Of one core.
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

    /// - Parameter load: which has ended.
    /// - Returns: how much of a core others have taken since this was made.
    func share(besides load: SpawnedProcess) -> Double? {
        guard let busy, let now = CoreUsage.busySeconds, let own = load.cpuSeconds else { return nil }
        let others = now - busy - own - (Self.cpuSeconds(servers) - used)
        return max(others, 0) / max(Date().timeIntervalSince(start), 0.001)
    }
}
