/// Rate limits on one client: messages and bytes per second. Times in nanoseconds of one monotonic clock.
///
/// Each step that a client makes the gateway take costs it something, however little content comes with it: a message
/// in fragments of one byte, or in TLS records of one byte, is charged for each of them.
///
/// Nothing is refused here. Input that has arrived counts and goes on; the client is read again when its allowance
/// has recovered.
package struct TrafficMeter: Sendable {
    /// The bytes that a step is charged beside its own: a frame, a TLS record, and a read of the socket. The gateway
    /// relays more than a gigabyte a second in large messages and passes a few hundred thousand small records, so a
    /// step costs it more time than so many bytes. An honest message takes three steps: with the default rates a
    /// client's messages use a twentieth of its bytes for that.
    package static let stepBytes = 64

    private var messages: PacingBucket
    private var bytes: PacingBucket

    /// - Parameters:
    ///   - messagesPerSecond: 0: no limit (`MESSAGES_PER_SECOND`).
    ///   - bytesPerSecond: 0: no limit (`CLIENT_BYTES_PER_SECOND`).
    package init(messagesPerSecond: Int, bytesPerSecond: Int) {
        messages = PacingBucket(perSecond: messagesPerSecond)
        bytes = PacingBucket(perSecond: bytesPerSecond)
    }

    /// A message has begun, or a control frame has arrived.
    package mutating func countMessage(now: UInt64) {
        messages.spend(1, now: now)
    }

    /// - Parameters:
    ///   - octets: what was read.
    ///   - steps: what that took: see ``stepBytes``.
    package mutating func count(octets: Int, steps: Int, now: UInt64) {
        bytes.spend(octets + steps * Self.stepBytes, now: now)
    }

    /// Adds what the client has sent on another connection, counted by `other`.
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

/// A token bucket of one second's allowance, as a leaky-bucket meter (the generic cell rate algorithm of ITU-T I.371):
/// its state is a time.
struct RateBucket: Sendable {
    static let depth: UInt64 = 1_000_000_000

    /// 0: no limit.
    var perSecond: Int
    /// When the allowance will have recovered fully.
    private var paidAt: UInt64 = 0

    init(perSecond: Int) {
        self.perSecond = perSecond
    }

    mutating func spend(_ count: Int, now: UInt64) {
        paidAt = max(paidAt, now) + price(count)
    }

    /// Adds the debt of `other`.
    mutating func add(_ other: RateBucket, now: UInt64) {
        let more = other.owed(now)
        if more > 0 { paidAt = max(paidAt, now) + more }
    }

    /// In nanoseconds; equal to the bucket's depth if the bucket is empty.
    private func owed(_ now: UInt64) -> UInt64 {
        paidAt > now ? paidAt - now : 0
    }

    /// When at most `allowed` nanoseconds are owed; nil: now.
    func time(untilOwed allowed: UInt64, now: UInt64) -> UInt64? {
        owed(now) <= allowed ? nil : paidAt - allowed
    }

    func price(_ count: Int) -> UInt64 {
        perSecond == 0 ? 0 : UInt64(count) * Self.depth / UInt64(perSecond)
    }
}

/// Limits how fast a source is read: one that has sent more than a second's allowance isn't read until that has
/// recovered.
package struct PacingBucket: Sendable {
    /// The bytes that a target is charged, beside its own, for a read, for a TLS record, and for each step of
    /// translating its output: a piece of text, a negotiation, a subnegotiation, a prompt. A step takes far more time
    /// than so few bytes, and the gateway's answer to a negotiation has more of them. A MUD sends hundreds of prompts
    /// and packages a second at most; with the default rate 16,000 fit.
    package static let targetStepBytes = 256

    /// What must have recovered before the source is read again, in nanoseconds, so that it isn't paused for every few
    /// bytes.
    private static let pause: UInt64 = 100_000_000

    private var bucket: RateBucket

    /// - Parameter perSecond: 0: no limit.
    package init(perSecond: Int) {
        bucket = RateBucket(perSecond: perSecond)
    }

    package mutating func spend(_ count: Int, now: UInt64) {
        bucket.spend(count, now: now)
    }

    /// Adds what was counted by `other`.
    package mutating func add(_ other: PacingBucket, now: UInt64) {
        bucket.add(other.bucket, now: now)
    }

    /// When the source may be read; nil: at once.
    package func readableAt(_ now: UInt64) -> UInt64? {
        guard bucket.time(untilOwed: RateBucket.depth, now: now) != nil else { return nil }
        // At a low rate the pause is longer: there must be room for one message.
        let free = min(max(Self.pause, bucket.price(1)), RateBucket.depth)
        return bucket.time(untilOwed: RateBucket.depth - free, now: now)
    }
}
