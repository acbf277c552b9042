import Glibc
import Reactors

/// How many files this process may have open, and what follows for connections.
enum FileLimit {
    /// For the store, logs, listening sockets, and a margin.
    private static let reserve = 256
    /// libwebsockets keeps tables of this size for each reactor.
    private static let ceiling: rlim_t = 131_072

    /// Raises the soft limit to the hard one, up to the ceiling.
    static func raise() {
        var limit = reachable
        setrlimit(__rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue)), &limit)
    }

    /// How many connections fit, and as many sessions: a session needs two descriptors.
    static var capacity: Int {
        max(Int(reachable.rlim_cur) - reserve, 64) / 2
    }

    private static var reachable: rlimit {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue)), &limit)
        limit.rlim_cur = min(limit.rlim_max, ceiling)
        return limit
    }
}

/// Gives the memory of sessions that have ended back to the system.
///
/// glibc keeps what was freed. After a crowd has left, that is most of what the process holds; and some of it comes free only when the timers
/// of its sessions would have fired, so it is looked for a few times.
struct MemoryReturn {
    /// Connections that must have been open for it to be worth the walk through the heap.
    private static let crowd = 256
    private static let looks = 12
    private var most = 0
    private var looksLeft = 0

    /// - Parameter connections: open now. To be called every few seconds, off the reactors.
    mutating func note(_ connections: Int) {
        most = max(most, connections)
        if most >= Self.crowd, connections <= most / 2 {
            most = connections
            looksLeft = Self.looks
        }
        guard looksLeft > 0 else { return }
        // At once, and then every third time.
        if looksLeft.isMultiple(of: 3) { ReactorPool.returnFreedMemory() }
        looksLeft -= 1
    }
}

/// What settings that are 0 amount to on this machine, for this process.
enum DerivedFigure {
    static func of(_ row: SettingRow) -> Int? {
        switch row.name {
        case SettingTable.maximumConnections.row.name, SettingTable.maximumSessions.row.name: FileLimit.capacity
        case SettingTable.reactorThreads.row.name: Cores.count
        default: nil
        }
    }
}

enum Cores {
    /// Processors that are online; at least 1.
    static var count: Int { max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1) }
}
