import Synchronization

/// Counts the sessions of the whole gateway, on all reactors.
package final class SessionLeases: Sendable {
    /// Leases above the maximum, for clients that resume a session. A detached session keeps its lease, and the
    /// client's new connection needs its own until the resume is complete.
    package static let reserve = 64

    private let maximum: @Sendable () -> Int?
    private let taken = Mutex(0)

    /// - Parameter maximum: `MAX_SESSIONS_GLOBAL`; `nil`: only the limits on connections apply. It is read at each use,
    ///   and existing sessions above a lowered maximum continue.
    package init(maximum: @autoclosure @escaping @Sendable () -> Int?) { self.maximum = maximum }

    package var isFull: Bool { count >= maximum(forReturning: false) }

    var isFullForReturning: Bool { count >= maximum(forReturning: true) }

    package var count: Int { taken.withLock { $0 } }

    private func maximum(forReturning: Bool) -> Int {
        let maximum = maximum() ?? .max
        return forReturning && maximum < .max - Self.reserve ? maximum + Self.reserve : maximum
    }

    /// `nil` when all are taken.
    ///
    /// - Parameter forReturning: whether the client has a session that it can resume.
    func claim(forReturning: Bool = false) -> SessionLease? {
        let maximum = maximum(forReturning: forReturning)
        let isClaimed = taken.withLock { taken in
            guard taken < maximum else { return false }
            taken += 1
            return true
        }
        return isClaimed ? SessionLease(of: self) : nil
    }

    fileprivate func release() { taken.withLock { $0 -= 1 } }
}

/// One session's lease on one of `MAX_SESSIONS_GLOBAL`. It is released with its last reference, on any thread, so a
/// session that fails while it is being opened can't leak it.
package final class SessionLease: Sendable {
    private let leases: SessionLeases

    fileprivate init(of leases: SessionLeases) { self.leases = leases }

    deinit { leases.release() }
}

/// Whether the gateway is ending: set once, by the shutdown, and read by every reactor.
package final class DrainSwitch: Sendable {
    private let draining = Atomic(false)
    private let handingOver = Atomic(false)

    package init() {}

    package func beginDraining() { draining.store(true, ordering: .releasing) }

    package var isDraining: Bool { draining.load(ordering: .acquiring) }

    /// A new process is about to take over, or has: this one admits nobody. Unlike a shutdown it ends no session, and
    /// it can be taken back.
    package var isHandingOver: Bool {
        get { handingOver.load(ordering: .acquiring) }
        set { handingOver.store(newValue, ordering: .releasing) }
    }

    /// Whether new clients are refused, for either reason.
    package var refusesNewcomers: Bool { isDraining || isHandingOver }
}
