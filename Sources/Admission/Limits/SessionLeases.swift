import Synchronization

/// Counts the sessions of the whole gateway, on all reactors.
package final class SessionLeases: Sendable {
    /// Leases above the maximum, for clients that resume a session. A detached session keeps its lease, and the client's new connection
    /// needs its own until the resume is complete.
    package static let reserve = 64

    private struct State {
        var maximum: Int
        var taken = 0

        func maximum(forReturning: Bool) -> Int {
            forReturning && maximum < .max - SessionLeases.reserve ? maximum + SessionLeases.reserve : maximum
        }
    }

    private let state: Mutex<State>

    /// - Parameter maximum: `MAX_SESSIONS_GLOBAL`; `nil`: only the limits on connections apply.
    package init(maximum: Int?) { state = Mutex(State(maximum: maximum ?? .max)) }

    package var isFull: Bool { state.withLock { $0.taken >= $0.maximum } }

    var isFullForReturning: Bool { state.withLock { $0.taken >= $0.maximum(forReturning: true) } }

    package var count: Int { state.withLock { $0.taken } }

    /// For a reload. Existing sessions above a lowered maximum continue.
    package func setMaximum(_ maximum: Int?) { state.withLock { $0.maximum = maximum ?? .max } }

    /// `nil` when all are taken.
    ///
    /// - Parameter forReturning: whether the client has a session that it can resume.
    func claim(forReturning: Bool = false) -> SessionLease? {
        let isClaimed = state.withLock { state in
            guard state.taken < state.maximum(forReturning: forReturning) else { return false }
            state.taken += 1
            return true
        }
        return isClaimed ? SessionLease(of: self) : nil
    }

    fileprivate func release() { state.withLock { $0.taken -= 1 } }
}

/// One session's lease on one of `MAX_SESSIONS_GLOBAL`. It is released with its last reference, on any thread, so a session that fails
/// while it is being opened can't leak it.
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

    /// A new process is about to take over, or has: this one admits nobody. Unlike a shutdown it ends no session, and it can be taken back.
    package var isHandingOver: Bool {
        get { handingOver.load(ordering: .acquiring) }
        set { handingOver.store(newValue, ordering: .releasing) }
    }

    /// Whether new clients are refused, for either reason.
    package var refusesNewcomers: Bool { isDraining || isHandingOver }
}
