import WebSocketWire

/// Reads what the gateway that has a session sends to a client of another gateway: whole messages, joined from their
/// frames (RFC 6455 §5.4), however the bytes are split.
package struct RelayedMessages: Sendable {
    /// Of one message.
    package static let maximumMessageBytes = 1_048_576

    package enum Event: Hashable, Sendable {
        case message([UInt8], isText: Bool)
        case ping
        /// The last event. The code is nil if the Close frame has none.
        case close(code: UInt16?, reason: String)
        /// The last event: these aren't the frames of a gateway.
        case malformed(String)

        /// Whose the session is, if this is the message that says so; it is as short as in a ``RelayPreface``.
        package var introduced: [UInt8]? {
            guard case .message(let principal, isText: false) = self,
                (1...RelayPrefaceLimits.maximumPrincipalBytes).contains(principal.count)
            else { return nil }
            return principal
        }
    }

    private var reader = FrameReader(role: .client, limits: MessageLimits(messageBytes: maximumMessageBytes))
    private var message: [UInt8] = []

    package init() {}

    /// - Parameter bytes: the next ones behind the header of the 101.
    /// - Returns: what they complete.
    package mutating func take(_ bytes: [UInt8]) -> [Event] {
        var (bytes, position, events) = (bytes, 0, [Event]())
        while let event = next(in: &bytes, from: &position) {
            if let complete = complete(event, bytes) { events.append(complete) }
        }
        return events
    }

    private mutating func next(in bytes: inout [UInt8], from position: inout Int) -> FrameEvent? {
        var span = bytes.mutableSpan
        return reader.next(in: &span, from: &position)
    }

    private mutating func complete(_ event: FrameEvent, _ bytes: [UInt8]) -> Event? {
        switch event {
        case .data(let piece):
            message += bytes[piece.range]
            guard piece.isLast else { return nil }
            defer { message = [] }
            return .message(message, isText: piece.isText)
        case .ping: return .ping
        case .pong: return nil
        case .close(let close): return .close(code: close.code?.rawValue, reason: close.reason)
        case .fault(let fault): return .malformed("\(fault)")
        }
    }
}

/// Writes what a client sends to the gateway that has its session: the headers of its frames (RFC 6455 §5.2). Their
/// mask protects intermediaries, of which there are none: it is zero.
package struct RelayedInput: Sendable {
    private var isWithinMessage = false

    package init() {}

    /// - Parameter count: of the part of a message that follows the header.
    package mutating func header(ofPart count: Int, isText: Bool, isLast: Bool) -> [UInt8] {
        let opcode: Opcode = isWithinMessage ? .continuation : isText ? .text : .binary
        isWithinMessage = !isLast
        return Self.header(opcode, isFinal: isLast, count)
    }

    package static let ping = header(.ping, 0)
    package static let pong = header(.pong, 0)

    /// - Parameter code: nil, or one that must not be sent: the frame has none.
    package static func close(code: UInt16?) -> [UInt8] {
        let payload = ControlPayload(close: code.flatMap { CloseCode(rawValue: $0) })
        return header(.close, payload.count) + payload.bytes
    }

    private static func header(_ opcode: Opcode, isFinal: Bool = true, _ count: Int) -> [UInt8] {
        FrameHeader(opcode, isFinal: isFinal, payloadBytes: count, mask: MaskKey(random: 0)).bytes
    }
}
