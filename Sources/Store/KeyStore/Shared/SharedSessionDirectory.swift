/// Which gateway of a fleet has which session, as far as it can be resumed. Shared by all gateways; its answers come on
/// any thread, once, and in time.
///
/// A session is named by its mark, the SHA-256 of its id: ids are for clients. Nothing here helps to resume a session,
/// since its token is known to its gateway and its client only.
package protocol SharedSessionDirectory: Sendable {
    /// Notes sessions of a gateway that have begun or ended. A session that has begun has this gateway from now on,
    /// whichever had it before; one that has ended is forgotten only if it still has this gateway.
    func note(
        _ changes: SessionChanges, of gateway: String,
        then: @escaping @Sendable (Result<Void, KeyRegistryError>) -> Void)

    /// What the store knows of a session, read in one moment.
    func find(_ mark: SessionMark, then: @escaping @Sendable (Result<SessionTrace, KeyRegistryError>) -> Void)

    /// Forgets all sessions of a gateway that has ended.
    func forgetSessions(of gateway: String) async throws(KeyRegistryError)
}

/// The SHA-256 of a session's id.
package struct SessionMark: Hashable, Sendable, Comparable {
    package static let byteCount = 32

    package let bytes: [UInt8]

    package init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    package static func < (left: Self, right: Self) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
}

/// Sessions that have begun and ended: one write. A session is in one of the two at most.
package struct SessionChanges: Hashable, Sendable {
    package var began: [SessionMark] = []
    package var ended: [SessionMark] = []

    package init(began: [SessionMark] = [], ended: [SessionMark] = []) {
        self.began = began
        self.ended = ended
    }
}

/// What a gateway has yet to write to the directory. Only the last change of a session counts, so it is bounded by the
/// number of sessions that have changed since the last write; above ``maximum`` further sessions are left out.
package struct PendingSessions: Sendable {
    /// Sessions whose changes wait while the store doesn't answer: some 30 MB.
    package static let maximum = 200_000
    /// Of one write.
    package static let maximumBatch = 500

    private var isPresent: [SessionMark: Bool] = [:]
    /// Changes that were left out: sessions that no other gateway finds, or rows that stay until this gateway has
    /// ended.
    package private(set) var leftOut = 0

    package init() {}

    package var count: Int { isPresent.count }

    /// Everything is announced again from here on.
    package mutating func beginAgain() { leftOut = 0 }

    package mutating func began(_ mark: SessionMark) { change(mark, true) }
    package mutating func ended(_ mark: SessionMark) { change(mark, false) }

    private mutating func change(_ mark: SessionMark, _ present: Bool) {
        guard isPresent[mark] != nil || isPresent.count < Self.maximum else { return leftOut += 1 }
        isPresent[mark] = present
    }

    /// Takes out as many changes as one write has; nil: there are none.
    package mutating func takeBatch() -> SessionChanges? {
        guard !isPresent.isEmpty else { return nil }
        var batch = SessionChanges()
        for (mark, present) in isPresent.prefix(Self.maximumBatch) {
            if present { batch.began.append(mark) } else { batch.ended.append(mark) }
        }
        for mark in batch.began + batch.ended { isPresent[mark] = nil }
        return batch
    }

    /// The write has failed. Later changes of the same sessions stay.
    package mutating func giveBack(_ batch: SessionChanges) {
        for mark in batch.began where isPresent[mark] == nil { change(mark, true) }
        for mark in batch.ended where isPresent[mark] == nil { change(mark, false) }
    }
}
