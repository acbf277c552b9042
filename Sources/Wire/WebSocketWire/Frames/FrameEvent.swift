import WireText

/// The events that `FrameReader` returns.
package enum FrameEvent: Equatable, Sendable {
    case data(DataPiece)
    // Control payloads are on the heap, which keeps data events small. Control frames are rare.
    case ping(ControlPayload)
    case pong(ControlPayload)
    /// The last event: input after a Close frame is ignored (RFC 6455 §5.5.1).
    case close(PeerClose)
    /// The last event: the connection has failed (RFC 6455 §7.1.7).
    case fault(FrameFault)
}

/// A piece of a data message's payload, split arbitrarily by frames and input. A message has exactly one first and one
/// last piece, which may be the same. Only a last piece may be empty.
package struct DataPiece: Hashable, Sendable {
    /// The position of the payload in the input, unmasked in place.
    package let range: Range<Int>
    /// This and the next property are the same for all pieces of a message. Uncompressed text is valid UTF-8 so far.
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
    /// Nil if the frame has none; owners report 1005 (§7.1.5).
    package let code: CloseCode?
    private let payload: ControlPayload

    /// The peer's text, valid UTF-8. Never log it unescaped.
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
