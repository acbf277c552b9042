/// What `FrameReader` has read.
package enum FrameEvent: Equatable, Sendable {
    case data(DataPiece)
    // On the heap: so an event of data is small. Control frames are rare.
    case ping(ControlPayload)
    case pong(ControlPayload)
    /// The last event: whatever comes after a Close is ignored (RFC 6455 §5.5.1).
    case close(PeerClose)
    /// The last event: the connection has failed (RFC 6455 §7.1.7).
    case fault(FrameFault)
}

/// A piece of a data message's payload, however frames and input have cut it. A message has exactly one first and one last piece, which may
/// be the same. No piece is empty, except for a last one.
package struct DataPiece: Hashable, Sendable {
    /// Where the payload is in the input, unmasked in place.
    package let range: Range<Int>
    /// This and the next are the same for all pieces of a message. Text that isn't compressed is UTF-8 so far.
    package let isText: Bool
    package let isCompressed: Bool
    package let isFirst: Bool
    package let isLast: Bool

    package init(range: Range<Int>, isText: Bool, isCompressed: Bool, isFirst: Bool, isLast: Bool) {
        self.range = range
        self.isText = isText
        self.isCompressed = isCompressed
        self.isFirst = isFirst
        self.isLast = isLast
    }
}

/// A valid Close frame (RFC 6455 §5.5.1).
package struct PeerClose: Equatable, Sendable {
    /// Nil where it has none; an owner reports 1005 (§7.1.5).
    package let code: CloseCode?
    private let payload: ControlPayload

    /// UTF-8. It is the peer's text: never log it unescaped.
    package var reason: String { String(decoding: payload.bytes.dropFirst(2), as: UTF8.self) }

    package static func read(_ payload: ControlPayload) throws(FrameFault) -> PeerClose {
        guard payload.count > 0 else { return PeerClose(code: nil, payload: payload) }
        guard payload.count >= 2 else { throw .closeOfOneByte }
        guard let code = CloseCode(rawValue: UInt16(payload[0]) << 8 | UInt16(payload[1])) else { throw .closeCode }
        let isUTF8 = payload.withSpan { bytes in
            var validator = UTF8Validator()
            let reason = bytes.extracting(2..<bytes.count)
            return validator.accept(reason) == reason.count && validator.isComplete
        }
        guard isUTF8 else { throw .closeReasonNotUTF8 }
        return PeerClose(code: code, payload: payload)
    }

    private init(code: CloseCode?, payload: ControlPayload) {
        self.code = code
        self.payload = payload
    }
}
