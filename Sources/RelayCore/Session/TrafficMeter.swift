/// How much one client may send: messages in windows of a second, and bytes a second. Times in nanoseconds of one monotonic clock.
package struct TrafficMeter: Sendable {
    package enum Verdict: Hashable, Sendable {
        case pass
        /// Too much: it comes to nothing. With a `notice`, the client is to be told; once a window.
        case over(notice: Bool)
    }

    private static let window: UInt64 = 1_000_000_000

    private let messagesPerSecond: Int
    private var bytes: RateBucket
    private var windowEnd: UInt64 = 0
    private var messages = 0
    private var hasNotice = false

    /// - Parameters:
    ///   - messagesPerSecond: 0: no limit (`MESSAGES_PER_SECOND`).
    ///   - bytesPerSecond: 0: no limit (`CLIENT_BYTES_PER_SECOND`). A message larger than that passes if nothing is owed, and is paid for
    ///     by the time behind it.
    package init(messagesPerSecond: Int, bytesPerSecond: Int) {
        self.messagesPerSecond = messagesPerSecond
        bytes = RateBucket(perSecond: bytesPerSecond)
    }

    /// A message has come. One that doesn't pass isn't counted against the bytes.
    package mutating func admit(bytes count: Int, now: UInt64) -> Verdict {
        enterWindow(now)
        guard messagesPerSecond == 0 || messages < messagesPerSecond else { return refuse(now: now) }
        guard bytes.spendIfThere(count, now: now) else { return refuse(now: now) }
        messages += 1
        return .pass
    }

    /// In place of ``admit(bytes:now:)`` where the client can't be told: everything counts and passes, and the client is read again when
    /// it is paid for. Also for what follows of a message that was admitted.
    ///
    /// - Parameter isMessage: a message begins here.
    /// - Returns: when the client may be read again; nil: at once.
    package mutating func count(bytes count: Int, isMessage: Bool, now: UInt64) -> UInt64? {
        enterWindow(now)
        bytes.spend(count, now: now)
        if isMessage { messages += 1 }
        let isOver = messagesPerSecond > 0 && messages > messagesPerSecond
        let paid = bytes.time(untilOwed: RateBucket.depth, now: now)
        return isOver ? max(windowEnd, paid ?? 0) : paid
    }

    /// Another limit, such as that of its address, refuses a message of this client: the notices of both are one.
    package mutating func refuse(now: UInt64) -> Verdict {
        enterWindow(now)
        defer { hasNotice = true }
        return .over(notice: !hasNotice)
    }

    private mutating func enterWindow(_ now: UInt64) {
        guard now >= windowEnd else { return }
        windowEnd = now + Self.window
        messages = 0
        hasNotice = false
    }
}

/// How fast a source may be read (`TARGET_BYTES_PER_SECOND`): one that has sent too much isn't read for a while.
package struct PacingBucket: Sendable {
    /// What must have come free before the source is read again, in nanoseconds: so it isn't paused for every few bytes.
    private static let pause: UInt64 = 100_000_000

    private var bucket: RateBucket

    /// - Parameter bytesPerSecond: 0: no limit.
    package init(bytesPerSecond: Int) {
        bucket = RateBucket(perSecond: bytesPerSecond)
    }

    package mutating func spent(_ bytes: Int, now: UInt64) {
        bucket.spend(bytes, now: now)
    }

    /// When the source may be read; nil: at once.
    package func readableAt(_ now: UInt64) -> UInt64? {
        guard bucket.time(untilOwed: RateBucket.depth, now: now) != nil else { return nil }
        return bucket.time(untilOwed: RateBucket.depth - Self.pause, now: now)
    }
}
