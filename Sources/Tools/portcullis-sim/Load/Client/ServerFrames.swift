/// Parses a server's frames (RFC 6455 §5.2), however the bytes are split. A control frame's payload is held until it is
/// complete; data payloads are never held.
struct ServerFrames: Sendable {
    enum Event {
        /// Valid until the next byte is read. `isLast`: ends its message.
        case data(UnsafeRawBufferPointer, isLast: Bool)
        case ping([UInt8])
        /// - Parameter code: nil if the frame has none.
        case close(code: UInt16?)
    }

    private var head: [UInt8] = []
    /// The payload bytes that haven't arrived.
    private var left: UInt64 = 0
    private var isInPayload = false
    private var control: [UInt8] = []

    private var opcode: UInt8 { head[0] & 0x0F }
    private var isControl: Bool { opcode >= 8 }
    private var isFinal: Bool { head[0] & 0x80 != 0 }

    /// - Returns: false for anything that a server may not send: masked frames or reserved bits, an unknown opcode, a
    ///   long control frame.
    mutating func receive(_ bytes: UnsafeRawBufferPointer, _ body: (Event) -> Void) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            if isInPayload {
                take(&rest, body)
            } else {
                head.append(rest.removeFirst())
                guard advanceHead(body) else { return false }
            }
        }
        return true
    }

    private mutating func advanceHead(_ body: (Event) -> Void) -> Bool {
        guard head.count >= 2 else { return true }
        let short = head[1] & 0x7F
        let isKnown = [0, 1, 2, 8, 9, 10].contains(opcode)
        guard head[0] & 0x70 == 0, head[1] & 0x80 == 0, isKnown, !isControl || short <= 125 && isFinal else {
            return false
        }
        let lengthBytes = short == 127 ? 8 : short == 126 ? 2 : 0
        guard head.count == 2 + lengthBytes else { return true }
        left = lengthBytes == 0 ? UInt64(short) : head[2...].reduce(0) { $0 << 8 | UInt64($1) }
        isInPayload = true
        if left == 0 { end(UnsafeRawBufferPointer(start: nil, count: 0), body) }
        return true
    }

    private mutating func take(_ rest: inout Slice<UnsafeRawBufferPointer>, _ body: (Event) -> Void) {
        let count = Int(min(left, UInt64(rest.count)))
        let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(count))
        rest = rest.dropFirst(count)
        left -= UInt64(count)
        if isControl { control += piece }
        if left == 0 {
            end(piece, body)
        } else if !isControl {
            body(.data(piece, isLast: false))
        }
    }

    private mutating func end(_ piece: UnsafeRawBufferPointer, _ body: (Event) -> Void) {
        switch opcode {
        case 8: body(.close(code: control.count >= 2 ? UInt16(control[0]) << 8 | UInt16(control[1]) : nil))
        case 9: body(.ping(control))
        case 10: break
        default: body(.data(piece, isLast: isFinal))
        }
        head.removeAll(keepingCapacity: true)
        control.removeAll(keepingCapacity: true)
        isInPayload = false
    }
}

/// A client's frame (RFC 6455 §5.3): final, and masked.
enum ClientFrame {
    static let maximumHeadBytes = 14

    /// - Parameter buffer: has room for the head and the payload.
    /// - Returns: the length of the frame in bytes.
    static func write(
        _ payload: UnsafeRawBufferPointer, opcode: UInt8, mask: UInt32, to buffer: UnsafeMutableRawBufferPointer
    ) -> Int {
        var count = 0
        func put(_ byte: UInt8) {
            buffer[count] = byte
            count += 1
        }
        put(0x80 | opcode)
        switch payload.count {
        case ..<126: put(0x80 | UInt8(payload.count))
        case ..<65_536:
            put(0x80 | 126)
            for shift in [8, 0] { put(UInt8(truncatingIfNeeded: payload.count >> shift)) }
        default:
            put(0x80 | 127)
            for shift in stride(from: 56, through: 0, by: -8) { put(UInt8(truncatingIfNeeded: payload.count >> shift)) }
        }
        withUnsafeBytes(of: mask.littleEndian) { key in
            for byte in key { put(byte) }
        }
        copy(payload, mask: mask, to: UnsafeMutableRawBufferPointer(rebasing: buffer[count...]))
        return count + payload.count
    }

    /// Copies eight bytes at a time, then the rest.
    private static func copy(_ payload: UnsafeRawBufferPointer, mask: UInt32, to buffer: UnsafeMutableRawBufferPointer)
    {
        let word = (UInt64(mask) | UInt64(mask) << 32).littleEndian
        var index = 0
        while index + 8 <= payload.count {
            let masked = payload.loadUnaligned(fromByteOffset: index, as: UInt64.self) ^ word
            buffer.storeBytes(of: masked, toByteOffset: index, as: UInt64.self)
            index += 8
        }
        for index in index..<payload.count {
            buffer[index] = payload[index] ^ UInt8(truncatingIfNeeded: mask >> UInt32(index % 4 * 8))
        }
    }
}
