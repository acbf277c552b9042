import Synchronization

/// Counts the sessions of the whole gateway, on all reactors.
package final class SessionSlots: Sendable {
    /// Places beyond the maximum, for clients that come back: a session without its client keeps its place, and the connection that brings
    /// the client needs one until the two are one again.
    package static let reserve = 64

    private struct State {
        var maximum: Int
        var taken = 0

        func maximum(forReturning: Bool) -> Int {
            forReturning && maximum < .max - SessionSlots.reserve ? maximum + SessionSlots.reserve : maximum
        }
    }

    private let state: Mutex<State>

    /// - Parameter maximum: `MAX_SESSIONS_GLOBAL`; `nil` is no limit beside those on connections.
    package init(maximum: Int?) { state = Mutex(State(maximum: maximum ?? .max)) }

    package var isFull: Bool { state.withLock { $0.taken >= $0.maximum } }

    var isFullForReturning: Bool { state.withLock { $0.taken >= $0.maximum(forReturning: true) } }

    package var count: Int { state.withLock { $0.taken } }

    /// For a reload. Sessions that are above a lower one stay.
    package func setMaximum(_ maximum: Int?) { state.withLock { $0.maximum = maximum ?? .max } }

    /// `nil` when all are taken.
    ///
    /// - Parameter forReturning: for a client that has a session to come back for.
    func claim(forReturning: Bool = false) -> SessionSlot? {
        let isClaimed = state.withLock { state in
            guard state.taken < state.maximum(forReturning: forReturning) else { return false }
            state.taken += 1
            return true
        }
        return isClaimed ? SessionSlot(of: self) : nil
    }

    fileprivate func release() { state.withLock { $0.taken -= 1 } }
}

/// One session's place among `MAX_SESSIONS_GLOBAL`. It is given back when the last reference goes, on whichever thread that happens: a
/// session that ends halfway through its opening can't leak it.
package final class SessionSlot: Sendable {
    private let slots: SessionSlots

    fileprivate init(of slots: SessionSlots) { self.slots = slots }

    deinit { slots.release() }
}
