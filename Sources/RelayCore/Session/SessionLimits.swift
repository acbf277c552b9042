/// What bounds one session, in bytes and nanoseconds.
package struct SessionLimits: Sendable {
    /// Bytes toward the client above which the target is no longer read (`CLIENT_BUFFER_BYTES`).
    package var clientBufferBytes = 65_536
    /// Bytes toward the target above which the client is no longer read (`TARGET_BUFFER_BYTES`).
    package var targetBufferBytes = 65_536
    /// Between pings to the client (`PING_INTERVAL_SECONDS`).
    package var pingInterval: UInt64 = 30_000_000_000
    /// A client that has sent nothing at all for so long is dropped (`PEER_SILENCE_SECONDS`).
    package var peerSilence: UInt64 = 90_000_000_000
    /// How long bytes queued at a close may take to leave (`CLOSE_FLUSH_MS`).
    package var closeFlush: UInt64 = 5_000_000_000
    /// A client that has held its target up for so long is detached, if it can come back (`SLOW_CLIENT_SECONDS`).
    package var slowClient: UInt64 = 30_000_000_000
    /// How long a detached session waits for its client (`RESUME_GRACE_MINUTES`).
    package var resumeGrace: UInt64 = 2_700_000_000_000
    /// The longest life of a session, with or without a client (`SESSION_TIMEOUT_HOURS`).
    package var sessionTimeout: UInt64 = 86_400_000_000_000

    package init() {}
}
