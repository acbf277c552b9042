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
