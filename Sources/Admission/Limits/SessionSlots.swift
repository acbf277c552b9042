import Synchronization

/// Counts the sessions of the whole gateway, on all reactors.
package final class SessionSlots: Sendable {
    private let maximum: Int
    private let taken = Mutex(0)

    /// - Parameter maximum: `MAX_SESSIONS_GLOBAL`; `nil` is no limit beside those on connections.
    package init(maximum: Int?) { self.maximum = maximum ?? .max }

    package var isFull: Bool { taken.withLock { $0 >= maximum } }

    package var count: Int { taken.withLock { $0 } }

    /// `nil` when all are taken.
    func claim() -> SessionSlot? {
        let isClaimed = taken.withLock { taken in
            guard taken < maximum else { return false }
            taken += 1
            return true
        }
        return isClaimed ? SessionSlot(of: self) : nil
    }

    fileprivate func release() { taken.withLock { $0 -= 1 } }
}

/// One session's place among `MAX_SESSIONS_GLOBAL`. It is given back when the last reference goes, on whichever thread that happens: a
/// session that ends halfway through its opening can't leak it.
package final class SessionSlot: Sendable {
    private let slots: SessionSlots

    fileprivate init(of slots: SessionSlots) { self.slots = slots }

    deinit { slots.release() }
}
