/// Decides which pings are answered (RFC 6455 §5.5.2). Each is answered at once, until `maximumWaiting` pongs wait for a peer that doesn't
/// read. Then only the latest ping is answered (§5.5.3).
package struct PongQueue: Sendable {
    /// The maximum number of pongs in the output, at 127 bytes each.
    package static let maximumWaiting = 16

    private var waiting = 0
    /// On the heap, because it is rarely set.
    private var latest: [UInt8]?

    package init() {}

    /// - Returns: the payload of a pong to queue now, or nil if it must wait.
    package mutating func received(_ ping: ControlPayload) -> ControlPayload? {
        guard waiting < Self.maximumWaiting else {
            latest = ping.bytes
            return nil
        }
        waiting += 1
        return ping
    }

    /// The whole queue was handed to the socket.
    ///
    /// - Returns: the payload of a pong to queue now, for the latest ping that had to wait.
    package mutating func drained() -> ControlPayload? {
        waiting = 0
        guard let bytes = latest else { return nil }
        latest = nil
        waiting = 1
        return ControlPayload(bytes)
    }
}
