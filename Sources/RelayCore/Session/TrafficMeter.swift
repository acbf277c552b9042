/// How much one client may send: messages a second and bytes a second. Times in nanoseconds of one monotonic clock.
///
/// Nothing is refused here. What has arrived counts and goes on; the client is read again when it is paid for.
package struct TrafficMeter: Sendable {
    private var messages: PacingBucket
    private var bytes: PacingBucket

    /// - Parameters:
    ///   - messagesPerSecond: 0: no limit (`MESSAGES_PER_SECOND`).
    ///   - bytesPerSecond: 0: no limit (`CLIENT_BYTES_PER_SECOND`).
    package init(messagesPerSecond: Int, bytesPerSecond: Int) {
        messages = PacingBucket(perSecond: messagesPerSecond)
        bytes = PacingBucket(perSecond: bytesPerSecond)
    }

    /// - Parameter isMessage: a message begins with these bytes.
    package mutating func count(bytes count: Int, isMessage: Bool, now: UInt64) {
        bytes.spend(count, now: now)
        if isMessage { messages.spend(1, now: now) }
    }

    /// Counts against this client what it has sent on another connection, where `other` has counted it.
    package mutating func add(_ other: TrafficMeter, now: UInt64) {
        messages.add(other.messages, now: now)
        bytes.add(other.bytes, now: now)
    }

    /// When the client may be read; nil: at once.
    package func readableAt(_ now: UInt64) -> UInt64? {
        switch (messages.readableAt(now), bytes.readableAt(now)) {
        case (let first?, let second?): max(first, second)
        case (let first, let second): first ?? second
        }
    }
}

/// A token bucket that holds one second's worth, in the form of a leaky meter (the generic cell rate algorithm of ITU-T I.371): what is
/// owed is a time.
struct RateBucket: Sendable {
    static let depth: UInt64 = 1_000_000_000

    /// 0: no limit.
    var perSecond: Int
    /// When all that was spent will be paid for.
    private var paidAt: UInt64 = 0

    init(perSecond: Int) {
        self.perSecond = perSecond
    }

    mutating func spend(_ count: Int, now: UInt64) {
        paidAt = max(paidAt, now) + price(count)
    }

    /// Owes from here on what `other` owes, too.
    mutating func add(_ other: RateBucket, now: UInt64) {
        let more = other.owed(now)
        if more > 0 { paidAt = max(paidAt, now) + more }
    }

    /// In nanoseconds; a bucket's depth: it is empty.
    private func owed(_ now: UInt64) -> UInt64 {
        paidAt > now ? paidAt - now : 0
    }

    /// When no more than `allowed` nanoseconds are owed; nil: now.
    func time(untilOwed allowed: UInt64, now: UInt64) -> UInt64? {
        owed(now) <= allowed ? nil : paidAt - allowed
    }

    func price(_ count: Int) -> UInt64 {
        perSecond == 0 ? 0 : UInt64(count) * Self.depth / UInt64(perSecond)
    }
}

/// How fast a source may be read: one that has sent more than a second's worth at once isn't read until that is paid for.
package struct PacingBucket: Sendable {
    /// What must have come free before the source is read again, in nanoseconds: so it isn't paused for every few bytes.
    private static let pause: UInt64 = 100_000_000

    private var bucket: RateBucket

    /// - Parameter perSecond: 0: no limit.
    package init(perSecond: Int) {
        bucket = RateBucket(perSecond: perSecond)
    }

    package mutating func spend(_ count: Int, now: UInt64) {
        bucket.spend(count, now: now)
    }

    /// Counts against this source what was counted against `other`.
    package mutating func add(_ other: PacingBucket, now: UInt64) {
        bucket.add(other.bucket, now: now)
    }

    /// When the source may be read; nil: at once.
    package func readableAt(_ now: UInt64) -> UInt64? {
        guard bucket.time(untilOwed: RateBucket.depth, now: now) != nil else { return nil }
        // At a low rate the pause is longer: there must be room for one.
        let free = min(max(Self.pause, bucket.price(1)), RateBucket.depth)
        return bucket.time(untilOwed: RateBucket.depth - free, now: now)
    }
}
