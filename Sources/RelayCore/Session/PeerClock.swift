/// When to ping the client, and when its silence has lasted too long. Times in nanoseconds of one monotonic clock.
///
/// While we have stopped reading the client its pongs can't be heard, and the silence stands still. The pings go on and watch in its
/// place: a socket that isn't read tells of its end when it is written to.
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

    /// While the silence stands still it begins where it stood: what was under way then may come in later.
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
