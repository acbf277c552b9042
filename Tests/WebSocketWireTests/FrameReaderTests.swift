import Testing
import WebSocketWire

@Suite("Reading frames")
struct FrameReaderTests {
    // MARK: RFC 6455 §5.7

    @Test func `reads the RFC's unmasked text message`() {
        #expect(read([0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F], role: .client) == [.text("Hello")])
    }

    @Test func `reads the RFC's masked text message`() {
        let frame: [UInt8] = [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]
        #expect(read(frame) == [.text("Hello")])
    }

    @Test func `reads the RFC's fragmented text message`() {
        #expect(read([0x01, 0x03, 0x48, 0x65, 0x6C, 0x80, 0x02, 0x6C, 0x6F], role: .client) == [.text("Hello")])
    }

    @Test func `reads the RFC's ping and pong`() {
        let hello = Array("Hello".utf8)
        #expect(read([0x89, 0x05] + hello, role: .client) == [.ping(hello)])
        #expect(read([0x8A, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]) == [.pong(hello)])
    }

    @Test func `reads the RFC's messages of 256 bytes and of 64 KiB`() {
        let short = [UInt8](repeating: 7, count: 256)
        #expect(read([0x82, 0x7E, 0x01, 0x00] + short, role: .client) == [.message(short, isText: false)])
        let long = [UInt8](repeating: 7, count: 65_536)
        let frame = [0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0] + long
        #expect(read([frame], role: .client) == [.message(long, isText: false)])
        #expect(read(frame.map { [$0] }, role: .client) == [.message(long, isText: false)])
    }

    // MARK: Valid frames

    @Test(arguments: [0, 1, 125, 126, 127, 65_535, 65_536])
    func `reads every length around the borders of its forms`(count: Int) {
        let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        #expect(read([masked(0x82, payload)]) == [.message(payload, isText: false)])
        #expect(read(masked(0x82, payload).map { [$0] }) == [.message(payload, isText: false)])
    }

    @Test func `reads control frames between the fragments of a message (§5.4)`() {
        let input =
            masked(0x01, "Hé") + masked(0x89, "p") + masked(0x00, "") + masked(0x8A, "q") + masked(0x80, "llo")
            + masked(0x82, [1, 2])
        #expect(
            read(input) == [.ping([0x70]), .pong([0x71]), .text("Héllo"), .message([1, 2], isText: false)])
    }

    @Test func `reads messages without payload, in one frame and in three`() {
        #expect(read(masked(0x81)) == [.text("")])
        #expect(read(masked(0x02) + masked(0x00) + masked(0x80)) == [.message([], isText: false)])
    }

    @Test func `reads a control frame of 125 bytes (§5.5)`() {
        let payload = [UInt8](repeating: 0x61, count: 125)
        #expect(read(masked(0x89, payload)) == [.ping(payload)])
    }

    @Test func `marks a compressed message, on whose first frame RSV1 is set (RFC 7692 §6)`() {
        let input = masked(0x41, [0xF2, 0x48]) + masked(0x80, [0xFF, 0x00]) + masked(0x81, "a")
        #expect(
            read(input, allowsCompression: true) == [
                .message([0xF2, 0x48, 0xFF, 0x00], isText: true, isCompressed: true), .text("a"),
            ])
    }

    @Test func `unmasks in the caller's memory, and only the payload`() throws {
        var bytes = masked(0x82, [1, 2, 3, 4, 5]) + masked(0x82, [6])
        let before = bytes
        var reader = FrameReader()
        var position = 0
        var span = bytes.mutableSpan
        let event = reader.next(in: &span, from: &position)
        #expect(
            event
                == .data(
                    DataPiece(range: 6..<11, isText: false, isCompressed: false, isFirst: true, isLast: true)))
        #expect(position == 11)
        #expect(Array(bytes[6..<11]) == [1, 2, 3, 4, 5])
        #expect(bytes[..<6] == before[..<6] && bytes[11...] == before[11...])
    }

    // MARK: Faults of the header

    @Test(arguments: [0x90, 0xA0, 0xB0, 0xC0, 0xC1, 0xD1, 0x91, 0xA2, 0xC9] as [UInt8])
    func `refuses reserved bits (§5.2)`(first: UInt8) {
        #expect(read([first]) == [.fault(.reservedBits)])
    }

    @Test func `refuses RSV1 on control frames and continuations where it means compression (RFC 7692 §6.1)`() {
        for first in [0xC8, 0xC9, 0xCA] as [UInt8] {
            #expect(read(masked(first), allowsCompression: true) == [.fault(.reservedBits)])
        }
        let input = masked(0x41, [0xF2]) + masked(0xC0, [0])
        #expect(
            read(input, allowsCompression: true) == [
                .unfinished([0xF2], isText: true, isCompressed: true), .fault(.reservedBits),
            ])
        for first in [0x91, 0xA1] as [UInt8] {
            #expect(read(masked(first), allowsCompression: true) == [.fault(.reservedBits)])
        }
    }

    @Test(arguments: [3, 4, 5, 6, 7, 11, 12, 13, 14, 15] as [UInt8])
    func `refuses unknown opcodes (§5.2)`(opcode: UInt8) {
        #expect(read([0x80 | opcode]) == [.fault(.unknownOpcode)])
        #expect(read([opcode]) == [.fault(.unknownOpcode)])
    }

    @Test(arguments: [0x08, 0x09, 0x0A] as [UInt8])
    func `refuses fragmented control frames (§5.5)`(first: UInt8) {
        #expect(read([first]) == [.fault(.fragmentedControl)])
    }

    @Test(arguments: [0x88, 0x89, 0x8A] as [UInt8])
    func `refuses control frames over 125 bytes (§5.5)`(first: UInt8) {
        #expect(read([first, 0xFE]) == [.fault(.longControl)])
        #expect(read([first, 0xFF]) == [.fault(.longControl)])
    }

    @Test func `refuses a continuation without a message (§5.4)`() {
        #expect(read([0x80]) == [.fault(.unexpectedContinuation)])
        #expect(read(masked(0x81, "a") + [0x00]) == [.text("a"), .fault(.unexpectedContinuation)])
    }

    @Test func `refuses a new message inside another (§5.4)`() {
        for first in [0x01, 0x81, 0x02, 0x82] as [UInt8] {
            #expect(
                read(masked(0x01, "a") + [first])
                    == [.unfinished([0x61], isText: true), .fault(.interleavedMessage)])
        }
    }

    @Test func `refuses an unmasked frame from a client and a masked one from a server (§5.1)`() {
        #expect(read([0x81, 0x05]) == [.fault(.unmasked)])
        #expect(read([0x89, 0x00]) == [.fault(.unmasked)])
        #expect(read([0x81, 0x85], role: .client) == [.fault(.masked)])
    }

    @Test func `refuses lengths that have a shorter form (§5.2)`() {
        #expect(read([0x82, 0xFE, 0, 125]) == [.fault(.nonMinimalLength)])
        #expect(read([0x82, 0xFE, 0, 0]) == [.fault(.nonMinimalLength)])
        #expect(read([0x82, 0xFF, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]) == [.fault(.nonMinimalLength)])
        #expect(read([0x82, 0xFF, 0, 0, 0, 0, 0, 0, 0, 5]) == [.fault(.nonMinimalLength)])
        #expect(read([0x82, 0xFE, 0, 126]) == [])
        #expect(read([0x82, 0xFF, 0, 0, 0, 0, 0, 1, 0, 0]) == [])
    }

    @Test func `refuses a length whose top bit is set (§5.2)`() {
        #expect(read([0x82, 0xFF, 0x80]) == [.fault(.lengthTopBit)])
        let longest: [UInt8] = [0x82, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]
        #expect(read(longest) == [.fault(.messageTooBig)])
        #expect(read(longest, limits: MessageLimits(messageBytes: .max)) == [])
    }

    // MARK: Limits

    @Test func `refuses a message over the limit as soon as its length is known (§10.4)`() {
        let limits = MessageLimits(messageBytes: 100)
        #expect(
            read(masked(0x82, [UInt8](repeating: 1, count: 100)), limits: limits)
                == [.message([UInt8](repeating: 1, count: 100), isText: false)])
        #expect(read([0x82, 0xE5], limits: limits) == [.fault(.messageTooBig)])
    }

    @Test func `counts the fragments of a message together, and each message by itself`() {
        let limits = MessageLimits(messageBytes: 5)
        let message = masked(0x02, [1, 2, 3]) + masked(0x80, [4, 5])
        #expect(
            read(message + message, limits: limits) == [
                .message([1, 2, 3, 4, 5], isText: false), .message([1, 2, 3, 4, 5], isText: false),
            ])
        #expect(
            read(masked(0x02, [1, 2, 3]) + [0x80, 0x83], limits: limits)
                == [.unfinished([1, 2, 3], isText: false), .fault(.messageTooBig)])
    }

    @Test func `lets a compressed message be as long as one that doesn't compress`() {
        let limits = MessageLimits(messageBytes: 0)
        #expect(limits.compressedBytes == 64)
        let most = [UInt8](repeating: 0, count: 64)
        #expect(
            read(masked(0xC2, most), limits: limits, allowsCompression: true)
                == [.message(most, isText: false, isCompressed: true)])
        #expect(read([0xC2, 0xC1], limits: limits, allowsCompression: true) == [.fault(.messageTooBig)])
        #expect(MessageLimits(messageBytes: .max).compressedBytes > 0)
    }

    @Test func `refuses more fragments than a message may have`() {
        let limits = MessageLimits(fragments: 3)
        let two = masked(0x02, [1]) + masked(0x00, [2])
        #expect(read(two + masked(0x80, [3]), limits: limits) == [.message([1, 2, 3], isText: false)])
        #expect(
            read(two + masked(0x00, [3]) + [0x80, 0x81], limits: limits)
                == [.unfinished([1, 2, 3], isText: false), .fault(.tooManyFragments)])
    }

    @Test func `refuses more empty fragments than a message may have`() {
        let limits = MessageLimits(emptyFragments: 2)
        let two = masked(0x02) + masked(0x00)
        #expect(read(two + masked(0x80), limits: limits) == [.message([], isText: false)])
        #expect(read(two + masked(0x80) + two + masked(0x80), limits: limits).count == 2)
        #expect(read(two + [0x00, 0x80], limits: limits) == [.fault(.tooManyFragments)])
    }

    // MARK: Text

    @Test func `refuses text at its first byte that isn't UTF-8, and delivers the text before it (§8.1)`() {
        let payload = Array("aé".utf8) + [0xED, 0xA0, 0x80]
        #expect(
            read(masked(0x81, payload))
                == [.unfinished(Array("aé".utf8) + [0xED], isText: true), .fault(.textNotUTF8)])
        #expect(read(masked(0x82, payload)) == [.message(payload, isText: false)])
        #expect(read(masked(0x81, [0xFF])) == [.fault(.textNotUTF8)])
    }

    @Test func `refuses text at the wrong byte, not at the end of its frame`() {
        let start = Array(masked(0x81, [0x61, 0x62, 0xC0, 0x63, 0x64, 0x65]).prefix(6 + 3))
        #expect(read(start) == [.unfinished([0x61, 0x62], isText: true), .fault(.textNotUTF8)])
    }

    @Test func `follows characters across fragments, and refuses a message that ends inside one`() {
        let euro = Array("€".utf8)
        #expect(read(masked(0x01, [euro[0]]) + masked(0x00, [euro[1]]) + masked(0x80, [euro[2]])) == [.text("€")])
        #expect(
            read(masked(0x01, [euro[0]]) + masked(0x80, [euro[1]]))
                == [.unfinished([euro[0]], isText: true), .fault(.textNotUTF8)])
        #expect(
            read(masked(0x81, [euro[0], euro[1]]))
                == [.unfinished([euro[0]], isText: true), .fault(.textNotUTF8)])
        #expect(
            read(masked(0x01, [euro[0]]) + masked(0x80))
                == [.unfinished([euro[0]], isText: true), .fault(.textNotUTF8)])
    }

    @Test func `doesn't validate compressed text, which is validated when it is inflated`() {
        #expect(
            read(masked(0xC1, [0xFF]), allowsCompression: true)
                == [.message([0xFF], isText: true, isCompressed: true)])
    }

    // MARK: Close

    @Test func `reads a Close with a code and a reason, with a code alone, and with nothing (§5.5.1)`() {
        #expect(read(masked(0x88, [0x03, 0xE8] + Array("bÿe".utf8))) == [.close(1000, "bÿe")])
        #expect(read(masked(0x88, [0x0F, 0xA1])) == [.close(4001, "")])
        #expect(read(masked(0x88)) == [.close(nil, "")])
    }

    @Test func `ignores everything after a Close (§5.5.1) and after a fault (§7.1.7)`() {
        #expect(read(masked(0x88) + masked(0x81, "a") + [0xFF]) == [.close(nil, "")])
        #expect(read([0x83] + masked(0x81, "a")) == [.fault(.unknownOpcode)])
        #expect(
            read(masked(0x81, [0xFF]) + masked(0x81, "a") + masked(0x88)) == [.fault(.textNotUTF8)])
    }

    @Test func `refuses a Close of one byte (§5.5.1)`() {
        #expect(read(masked(0x88, [0x03])) == [.fault(.closeOfOneByte)])
    }

    @Test(arguments: [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535] as [UInt16])
    func `refuses codes that may not be sent (§7.4)`(code: UInt16) {
        #expect(read(masked(0x88, [UInt8(code >> 8), UInt8(code & 0xFF)])) == [.fault(.closeCode)])
    }

    @Test(
        arguments: [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999]
            as [UInt16])
    func `accepts codes that may be sent (§7.4)`(code: UInt16) {
        #expect(read(masked(0x88, [UInt8(code >> 8), UInt8(code & 0xFF)])) == [.close(code, "")])
    }

    @Test func `refuses a reason that isn't UTF-8, or ends inside a character (§5.5.1)`() {
        #expect(read(masked(0x88, [0x03, 0xE8, 0xC0, 0x80])) == [.fault(.closeReasonNotUTF8)])
        #expect(read(masked(0x88, [0x03, 0xE8, 0x61, 0xE2, 0x82])) == [.fault(.closeReasonNotUTF8)])
    }

    @Test func `maps each fault to its close code (§7.4.1)`() {
        for fault in FrameFault.allCases {
            let expected: UInt16 =
                switch fault {
                case .textNotUTF8, .closeReasonNotUTF8, .corruptDeflate: 1007
                case .messageTooBig, .tooManyFragments, .expandsTooMuch: 1009
                case .outOfMemory: 1011
                default: 1002
                }
            #expect(fault.closeCode.rawValue == expected && !fault.closeReason.isEmpty, "\(fault)")
        }
    }
}
