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
