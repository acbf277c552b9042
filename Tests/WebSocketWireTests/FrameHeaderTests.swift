import Testing
import WebSocketWire

@Suite("Writing frames")
struct FrameHeaderTests {
    private let key = MaskKey(0x37, 0xFA, 0x21, 0x3D)

    @Test func `writes the RFC's headers (§5.7)`() {
        #expect(FrameHeader(.text, payloadBytes: 5).bytes == [0x81, 0x05])
        #expect(FrameHeader(.text, payloadBytes: 5, mask: key).bytes == [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D])
        #expect(FrameHeader(.text, isFinal: false, payloadBytes: 3).bytes == [0x01, 0x03])
        #expect(FrameHeader(.continuation, payloadBytes: 2).bytes == [0x80, 0x02])
        #expect(FrameHeader(.ping, payloadBytes: 5).bytes == [0x89, 0x05])
        #expect(FrameHeader(.binary, payloadBytes: 256).bytes == [0x82, 0x7E, 0x01, 0x00])
        #expect(
            FrameHeader(.binary, payloadBytes: 65_536).bytes == [0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0])
        #expect(FrameHeader(.text, isCompressed: true, payloadBytes: 7).bytes == [0xC1, 0x07])
    }

    @Test(arguments: [
        (0, 2), (125, 2), (126, 4), (65_535, 4), (65_536, 10), (Int.max, 10),
    ])
    func `takes the shortest form of every length`(payload: Int, expected: Int) {
        let header = FrameHeader(.binary, payloadBytes: payload)
        #expect(header.count == expected && header.bytes.count == expected)
        #expect(FrameHeader(.binary, payloadBytes: payload, mask: key).count == expected + 4)
        #expect(expected + 4 <= FrameHeader.maximumBytes)
    }

    @Test(arguments: [0, 1, 125, 126, 65_535, 65_536, 70_000])
    func `is read back as it was written`(count: Int) {
        let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        var frame = [UInt8](repeating: 0xEE, count: FrameHeader.maximumBytes)
        var span = frame.mutableSpan
        let written = FrameHeader(.binary, payloadBytes: count, mask: key).write(to: &span)
        frame.removeLast(frame.count - written)
        var body = payload
        var bodySpan = body.mutableSpan
        applyMask(key, to: &bodySpan)
        let limits = MessageLimits(messageBytes: 70_000)
        #expect(read([frame + body], limits: limits) == [.message(payload, isText: false)])
        let plain = FrameHeader(.binary, payloadBytes: count).bytes + payload
        #expect(read([plain], role: .client, limits: limits) == [.message(payload, isText: false)])
    }

    @Test(arguments: [0, 1, 9, 10, 11, 25, 30])
    func `cuts a message into fragments that read as the message (§5.4)`(count: Int) {
        let payload = (0..<count).map { UInt8($0) }
        var frames: [UInt8] = []
        var number = 0
        for fragment in Fragments(of: count, isText: true, maximum: 10) {
            #expect(fragment.range.count <= 10)
            frames += fragment.header.bytes + payload[fragment.range]
            number += 1
        }
        #expect(number == max(1, (count + 9) / 10))
        #expect(read(frames, role: .client) == [.message(payload, isText: true)])
    }

    @Test func `marks the first fragment alone as compressed (RFC 7692 §6)`() {
        let headers = Array(Fragments(of: 25, isText: false, isCompressed: true, maximum: 10)).map(\.header)
        #expect(headers.map(\.isCompressed) == [true, false, false])
        #expect(headers.map(\.opcode) == [.binary, .continuation, .continuation])
        #expect(headers.map(\.isFinal) == [false, false, true])
    }

    @Test func `cuts without overflow where a frame may have any length`() {
        #expect(Array(Fragments(of: 5, isText: false, maximum: .max)).map(\.range) == [0..<5])
    }
}

@Suite("Masking")
struct MaskKeyTests {
    private static let key = MaskKey(0x11, 0x22, 0x33, 0x44)

    @Test func `applies byte i modulo 4 of the key to byte i of the payload (§5.3), at any length and offset`() {
        let key: [UInt8] = [0x11, 0x22, 0x33, 0x44]
        for count in Array(0...70) + [127, 128, 129, 255, 256, 257, 300, 319, 320, 321, 1_000] {
            let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            for offset in 0..<5 {
                let expected = payload.indices.map { payload[$0] ^ key[($0 + offset) % 4] }
                var bytes = payload
                var span = bytes.mutableSpan
                applyMask(Self.key, offset: offset, to: &span)
                #expect(bytes == expected, "\(count) bytes from \(offset)")
                var copy = [UInt8](repeating: 0xEE, count: count + 3)
                var room = copy.mutableSpan
                applyMask(Self.key, offset: offset, to: payload.span, into: &room)
                #expect(copy == expected + [0xEE, 0xEE, 0xEE], "\(count) bytes from \(offset)")
            }
        }
    }
}

@Suite("The payload of a control frame")
struct ControlPayloadTests {
    @Test func `has at most 125 bytes (§5.5)`() {
        #expect(ControlPayload([UInt8](repeating: 1, count: 125))?.count == 125)
        #expect(ControlPayload([UInt8](repeating: 1, count: 126)) == nil)
    }

    @Test func `is a code and a reason in a Close, truncated between characters (§5.5.1)`() {
        #expect(ControlPayload(close: nil, reason: "x").bytes == [])
        #expect(ControlPayload(close: .goingAway, reason: "bye").bytes == [0x03, 0xE9, 0x62, 0x79, 0x65])
        let long = ControlPayload(close: .normal, reason: String(repeating: "€", count: 50))
        #expect(long.bytes == [0x03, 0xE8] + Array(String(repeating: "€", count: 41).utf8))
        #expect(ControlPayload(close: .normal, reason: String(repeating: "a", count: 200)).count == 125)
    }

    @Test func `is compared by its bytes and can be copied`() {
        #expect(ControlPayload([1, 2]) == ControlPayload([1, 2]))
        #expect(ControlPayload([1, 2]) != ControlPayload([1, 3]))
        #expect(ControlPayload([1, 2]) != ControlPayload([1, 2, 0]))
        var room = [UInt8](repeating: 9, count: 3)
        var span = room.mutableSpan
        ControlPayload([1, 2])?.copy(into: &span)
        #expect(room == [1, 2, 9])
    }

    @Test func `no code can be made that may not be sent (§7.4)`() {
        let legal = Set((UInt16.min...UInt16.max).filter { CloseCode(rawValue: $0) != nil })
        #expect(legal == Set(1000...1003).union(1007...1014).union(3000...4999))
    }
}
