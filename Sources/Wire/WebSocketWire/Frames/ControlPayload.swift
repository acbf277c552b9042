/// The payload of a control frame: at most 125 bytes (RFC 6455 §5.5).
///
/// It is on the heap: control frames are rare, and a connection without one reserves no memory. (An `InlineArray` lost
/// its bytes inside an enum's payload when compiled with optimisation by Swift 6.3.1.)
package struct ControlPayload: Hashable, Sendable {
    package static let maximumBytes = 125

    package private(set) var bytes: [UInt8] = []

    package init() {}

    /// Nil if there are too many bytes.
    package init?(_ bytes: some Sequence<UInt8>) {
        for byte in bytes {
            guard count < Self.maximumBytes else { return nil }
            append(byte)
        }
    }

    /// The payload of a Close frame (RFC 6455 §5.5.1): empty without a code. A reason that is too long is cut between
    /// characters.
    package init(close code: CloseCode?, reason: String = "") {
        guard let code else { return }
        append(UInt8(code.rawValue >> 8))
        append(UInt8(code.rawValue & 0xFF))
        for scalar in reason.unicodeScalars {
            let bytes = UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
            guard count + bytes.count <= Self.maximumBytes else { return }
            bytes.forEach { append($0) }
        }
    }

    package var count: Int { bytes.count }
    package subscript(index: Int) -> UInt8 { bytes[index] }

    package func withSpan<Result>(_ body: (Span<UInt8>) -> Result) -> Result { body(bytes.span) }

    /// Copies the payload to the front of `output`, which must have room for it.
    package func copy(into output: inout MutableSpan<UInt8>) {
        for index in 0..<count { output[index] = bytes[index] }
    }

    mutating func append(_ byte: UInt8) {
        precondition(count < Self.maximumBytes)
        bytes.append(byte)
    }

    mutating func removeAll() { bytes = [] }
}

/// Decides which pings are answered (RFC 6455 §5.5.2). Each is answered at once, until `maximumWaiting` pongs wait for
/// a peer that doesn't read. Then only the latest ping is answered (§5.5.3).
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
