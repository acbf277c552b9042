import Synchronization

/// Counts the sessions of the whole gateway, on all reactors.
package final class SessionSlots: Sendable {
    private struct Places {
        var maximum: Int
        var taken = 0
    }

    private let places: Mutex<Places>

    /// - Parameter maximum: `MAX_SESSIONS_GLOBAL`; `nil` is no limit beside those on connections.
    package init(maximum: Int?) { places = Mutex(Places(maximum: maximum ?? .max)) }

    /// Sessions that live already go on, also where they are too many now.
    package func setMaximum(_ maximum: Int?) { places.withLock { $0.maximum = maximum ?? .max } }

    package var isFull: Bool { places.withLock { $0.taken >= $0.maximum } }

    package var count: Int { places.withLock { $0.taken } }

    /// `nil` when all are taken.
    func claim() -> SessionSlot? {
        let isClaimed = places.withLock { places in
            guard places.taken < places.maximum else { return false }
            places.taken += 1
            return true
        }
        return isClaimed ? SessionSlot(of: self) : nil
    }

    fileprivate func release() { places.withLock { $0.taken -= 1 } }
}

/// One session's place among `MAX_SESSIONS_GLOBAL`. It is given back when the last reference goes, on whichever thread that happens: a
/// session that ends halfway through its opening can't leak it.
package final class SessionSlot: Sendable {
    private let slots: SessionSlots

    fileprivate init(of slots: SessionSlots) { self.slots = slots }

    deinit { slots.release() }
}
