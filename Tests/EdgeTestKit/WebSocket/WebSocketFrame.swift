/// One frame (RFC 6455 section 5.2), encoded and parsed by hand, so that it can also be invalid.
package struct WebSocketFrame: Sendable, Equatable {
    package enum Opcode {
        package static let continuation: UInt8 = 0x0
        package static let text: UInt8 = 0x1
        package static let binary: UInt8 = 0x2
        package static let close: UInt8 = 0x8
        package static let ping: UInt8 = 0x9
        package static let pong: UInt8 = 0xA
    }

    package enum LengthForm: Sendable { case minimal, sixteenBits, sixtyFourBits }

    package var isFinal = true
    /// The three reserved bits as a number, 0 to 7.
    package var reserved: UInt8 = 0
    package var opcode: UInt8
    package var payload: [UInt8]

    package init(_ opcode: UInt8, _ payload: [UInt8] = [], isFinal: Bool = true, reserved: UInt8 = 0) {
        self.opcode = opcode
        self.payload = payload
        self.isFinal = isFinal
        self.reserved = reserved
    }

    package static func text(_ text: String) -> WebSocketFrame { WebSocketFrame(Opcode.text, Array(text.utf8)) }
    package static func binary(_ bytes: [UInt8]) -> WebSocketFrame { WebSocketFrame(Opcode.binary, bytes) }
    package static func ping(_ bytes: [UInt8] = []) -> WebSocketFrame { WebSocketFrame(Opcode.ping, bytes) }

    /// A Close with a code and a reason, or an empty one.
    package static func close(_ code: UInt16?, _ reason: String = "") -> WebSocketFrame {
        let prefix = code.map { [UInt8($0 >> 8), UInt8($0 & 0xFF)] } ?? []
        return WebSocketFrame(Opcode.close, prefix + Array(reason.utf8))
    }

    /// The frame's bytes; a nil `mask` leaves the frame unmasked, which is forbidden to clients.
    package func encoded(mask: [UInt8]? = [0x12, 0x34, 0x56, 0x78], length form: LengthForm = .minimal) -> [UInt8] {
        var bytes = [(isFinal ? 0x80 : 0) | (reserved << 4) | opcode]
        let maskBit: UInt8 = mask == nil ? 0 : 0x80
        let count = payload.count
        if form == .minimal && count < 126 {
            bytes.append(maskBit | UInt8(count))
        } else if form != .sixtyFourBits && count <= 0xFFFF {
            bytes += [maskBit | 126, UInt8(count >> 8), UInt8(count & 0xFF)]
        } else {
            bytes.append(maskBit | 127)
            bytes += (0..<8).map { UInt8(truncatingIfNeeded: UInt64(count) >> (56 - 8 * UInt64($0))) }
        }
        guard let mask else { return bytes + payload }
        bytes += mask
        let start = bytes.count
        bytes += payload
        // Without optimisation this is several times as fast as a loop over the elements.
        bytes.withUnsafeMutableBufferPointer { bytes in
            var index = 0
            while index < count {
                bytes[start + index] ^= mask[index & 3]
                index += 1
            }
        }
        return bytes
    }

    /// Takes one unmasked frame from the stream; nil while it is incomplete.
    static func take(from stream: inout ByteStream) throws -> WebSocketFrame? {
        let bytes = stream.unread
        guard bytes.count >= 2 else { return nil }
        let first = bytes[bytes.startIndex]
        let second = bytes[bytes.startIndex + 1]
        guard second & 0x80 == 0 else { throw EdgeTestError("the server sent a masked frame: \(stream)") }
        var headLength = 2
        var length = Int(second)
        if second >= 126 {
            let size = second == 126 ? 2 : 8
            headLength += size
            guard bytes.count >= headLength else { return nil }
            length = bytes.dropFirst(2).prefix(size).reduce(0) { $0 << 8 | Int($1) }
            guard length >= (size == 2 ? 126 : 0x10000) else {
                throw EdgeTestError("the server sent a length that isn't minimal: \(stream)")
            }
        }
        guard bytes.count >= headLength + length else { return nil }
        let payload = Array(bytes.dropFirst(headLength).prefix(length))
        stream.drop(headLength + length)
        return WebSocketFrame(first & 0xF, payload, isFinal: first & 0x80 != 0, reserved: first >> 4 & 7)
    }
}
