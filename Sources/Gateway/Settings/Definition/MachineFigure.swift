import Glibc

/// The meaning of a setting of 0 for this process on this machine.
package enum MachineFigure: Sendable {
    /// Connections, or sessions, that fit into the limit of open files.
    case openConnections
    case cores

    package var value: Int {
        switch self {
        case .openConnections: FileLimit.capacity
        case .cores: Cores.count
        }
    }
}

/// The maximum number of files this process may have open, and the number of connections that follows from it.
package enum FileLimit {
    /// Descriptors kept for the store, logs and listening sockets, with a margin.
    private static let reserve = 256
    /// libwebsockets allocates tables of this size for each reactor.
    private static let ceiling: rlim_t = 131_072

    /// Raises the soft limit to the hard one, up to the ceiling.
    package static func raise() {
        var limit = reachable
        setrlimit(__rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue)), &limit)
    }

    /// How many connections fit, and as many sessions: a session needs two descriptors.
    package static var capacity: Int {
        max(Int(reachable.rlim_cur) - reserve, 64) / 2
    }

    private static var reachable: rlimit {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue)), &limit)
        limit.rlim_cur = min(limit.rlim_max, ceiling)
        return limit
    }
}

package enum Cores {
    /// Processors that are online; at least 1.
    package static var count: Int { max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1) }
}
