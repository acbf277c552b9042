/// When to ping the client, and when its silence has lasted too long. Times in nanoseconds of one monotonic clock.
///
/// While the client isn't read its pongs can't arrive, so the silence clock is stopped. Pings continue instead: writing
/// to a socket that isn't read reveals its end.
struct PeerClock {
    private let pingInterval: UInt64
    private let silence: UInt64
    private var lastHeard: UInt64
    private var nextPing: UInt64
    private var stoppedAt: UInt64?

    init(pingInterval: UInt64, silence: UInt64, now: UInt64) {
        self.pingInterval = pingInterval
        self.silence = silence
        lastHeard = now
        nextPing = now + pingInterval
    }

    /// While the clock is stopped, input counts from the stop: it may have been under way then.
    mutating func heard(at now: UInt64) {
        lastHeard = stoppedAt ?? now
    }

    mutating func stop(at now: UInt64) {
        stoppedAt = stoppedAt ?? now
    }

    mutating func start(at now: UInt64) {
        guard let stopped = stoppedAt else { return }
        stoppedAt = nil
        lastHeard += now >= stopped ? now - stopped : 0
    }

    enum Due {
        case nothing
        case ping
        case silence
    }

    mutating func due(at now: UInt64) -> Due {
        if let silenceEnd, now >= silenceEnd { return .silence }
        guard now >= nextPing else { return .nothing }
        nextPing = now + pingInterval
        return .ping
    }

    /// When to ask again.
    var nextDeadline: UInt64 {
        min(silenceEnd ?? .max, nextPing)
    }

    private var silenceEnd: UInt64? {
        stoppedAt == nil ? lastHeard + silence : nil
    }
}

/// How long a client has not kept up: from the time its queue was full until the client has read enough for its target
/// to be resumed.
///
/// A client that keeps reading isn't slow, even if its target stays paused: one compressed read from a target may
/// inflate to megabytes, and the queue stays full until they are sent. The clock therefore restarts whenever the client
/// has read as much as would otherwise have resumed the target.
struct SlownessClock {
    private let limit: UInt64
    private let enough: Int
    private var since: UInt64?
    private var read = 0

    /// - Parameters:
    ///   - limit: in nanoseconds.
    ///   - enough: bytes that a client has to read within the limit.
    init(limit: UInt64, enough: Int) {
        self.limit = limit
        self.enough = enough
    }

    mutating func update(isBehind: Bool, now: UInt64) {
        since = isBehind ? since ?? now : nil
        if !isBehind { read = 0 }
    }

    /// The client has read this many bytes of its queue.
    mutating func clientRead(_ bytes: Int, now: UInt64) {
        guard since != nil else { return }
        read += bytes
        guard read >= enough else { return }
        read = 0
        since = now
    }

    /// When the client counts as too slow; nil while it keeps up.
    var end: UInt64? { since.map { $0 + limit } }
}
