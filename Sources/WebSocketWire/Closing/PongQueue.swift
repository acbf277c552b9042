/// Which pings are answered (RFC 6455 §5.5.2): each at once, until so many pongs wait for a peer that doesn't read. Of further pings only the
/// latest is answered (§5.5.3).
package struct PongQueue: Sendable {
    /// Pongs in the output at once, at 127 bytes each.
    package static let maximumWaiting = 16

    private var waiting = 0
    /// On the heap, since there hardly ever is one.
    private var latest: [UInt8]?

    package init() {}

    /// - Returns: the payload of a pong to be queued now, or nil where it has to wait.
    package mutating func received(_ ping: ControlPayload) -> ControlPayload? {
        guard waiting < Self.maximumWaiting else {
            latest = ping.bytes
            return nil
        }
        waiting += 1
        return ping
    }

    /// All that was queued has been handed to the socket.
    ///
    /// - Returns: the payload of a pong to be queued now, for the latest ping that had to wait.
    package mutating func drained() -> ControlPayload? {
        waiting = 0
        guard let bytes = latest else { return nil }
        latest = nil
        waiting = 1
        return ControlPayload(bytes)
    }
}
