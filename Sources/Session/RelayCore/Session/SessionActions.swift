/// The actions that the session must perform after an event. A set, so that an event in the steady state allocates
/// nothing.
///
/// The session performs them in the order of declaration.
package struct SessionActions: OptionSet, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    package static let pauseClient = SessionActions(rawValue: 1 << 0)
    package static let resumeClient = SessionActions(rawValue: 1 << 1)
    package static let pauseTarget = SessionActions(rawValue: 1 << 2)
    package static let resumeTarget = SessionActions(rawValue: 1 << 3)
    package static let sendPing = SessionActions(rawValue: 1 << 4)
    /// Write the target's queue, then FIN.
    package static let finishTarget = SessionActions(rawValue: 1 << 5)
    /// Close the target now.
    package static let dropTarget = SessionActions(rawValue: 1 << 6)
    /// Write the client's queue, then a Close frame with the machine's `closeReason`.
    package static let closeClient = SessionActions(rawValue: 1 << 7)
    /// End the client's connection now.
    package static let dropClient = SessionActions(rawValue: 1 << 8)
    /// Nothing is left: release the session.
    package static let end = SessionActions(rawValue: 1 << 9)
}

/// The limits of one session, in bytes and nanoseconds.
package struct SessionLimits: Sendable {
    /// Bytes toward the client above which the target is no longer read.
    package static let clientBufferBytes = 65_536
    package var clientBufferBytes = clientBufferBytes
    /// Bytes toward the target above which the client is no longer read.
    package static let targetBufferBytes = 65_536
    package var targetBufferBytes = targetBufferBytes
    /// Between pings to the client (`PING_INTERVAL_SECONDS`).
    package var pingInterval: UInt64 = 30_000_000_000
    /// A client that has sent nothing at all for this time is dropped (three times `PING_INTERVAL_SECONDS`).
    package var peerSilence: UInt64 = 90_000_000_000
    /// The time limit for writing the bytes queued at a close (`CLOSE_FLUSH_MS`).
    package var closeFlush: UInt64 = 5_000_000_000
    /// A client that has paused its target for this time is detached, if it can resume (`PING_INTERVAL_SECONDS`).
    package var slowClient: UInt64 = 30_000_000_000
    /// How long a detached session waits for its client (`RESUME_GRACE_MINUTES`).
    package var resumeGrace: UInt64 = 2_700_000_000_000
    /// The longest life of a session, with or without a client (`SESSION_TIMEOUT_HOURS`).
    package var sessionTimeout: UInt64 = 86_400_000_000_000

    package init() {}
}

/// What is left of a session's time while it waits for its client. Nanoseconds of the machine's monotonic clock.
package struct DetachedState: Codable, Hashable, Sendable {
    /// The client may come back until then.
    package var deadline: UInt64
    /// The session ends then in any case.
    package var timeout: UInt64
}
