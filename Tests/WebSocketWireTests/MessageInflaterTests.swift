import Compression
import Testing
import WebSocketWire

@Suite("Inflating messages")
struct MessageInflaterTests {
    /// Inflates whole messages or pieces, into an output of `step` bytes at a time.
    private struct Receiver: ~Copyable {
        var inflater: MessageInflater<MessageInflateEngine>
        var step: Int
        /// Pieces that were wrongly marked as first or last.
        var order: [String] = []

        init(
            _ limits: MessageLimits = MessageLimits(), keepsContext: Bool = true, windowBits: Int = 15, step: Int = 64
        ) {
            inflater = MessageInflater(windowBits: windowBits, keepsContext: keepsContext, limits: limits)
            self.step = step
        }

        /// The bytes inflated before a fault, and the fault.
        mutating func take(_ pieces: [[UInt8]], isText: Bool = false) -> (bytes: [UInt8], fault: FrameFault?) {
            var bytes: [UInt8] = []
            var isDone = false
            var firsts = 0
            for (index, input) in pieces.enumerated() {
                let piece = DataPiece(
                    range: 0..<input.count, isText: isText, isCompressed: true, isFirst: index == 0,
                    isLast: index == pieces.count - 1)
                var position = 0
                var hasMore = true
                while hasMore {
                    var room = [UInt8](repeating: 0, count: step)
                    var span = room.mutableSpan
                    do throws(FrameFault) {
                        let inflated = try inflater.inflate(piece, input.span, from: &position, into: &span)
                        firsts += inflated.isFirst ? 1 : 0
                        isDone = inflated.isLast
                        hasMore = inflated.hasMore
                        bytes += room[..<inflated.count]
                    } catch {
                        return (bytes, error)
                    }
                }
            }
            if firsts != 1 || !isDone { order.append("\(firsts) first pieces, end: \(isDone)") }
            return (bytes, nil)
        }

        mutating func text(_ message: [UInt8]) -> String? {
            let (bytes, fault) = take([message], isText: true)
            return fault == nil ? String(decoding: bytes, as: UTF8.self) : nil
        }
    }

    private static let hello: [UInt8] = [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]

    // MARK: RFC 7692 §7.2.3

    @Test func `reads the RFC's message of one block, and of two fragments (§7.2.3.1)`() {
        var receiver = Receiver()
        #expect(receiver.text(Self.hello) == "Hello")
        #expect(receiver.take([[0xF2, 0x48, 0xCD], [0xC9, 0xC9, 0x07, 0x00]]).bytes == Array("Hello".utf8))
        #expect(receiver.order == [])
    }

    @Test func `reads the RFC's message that refers to the one before (§7.2.3.2)`() {
        var receiver = Receiver()
        #expect(receiver.text(Self.hello) == "Hello")
        #expect(receiver.text([0xF2, 0x00, 0x11, 0x00, 0x00]) == "Hello")
    }

    @Test func `refuses such a reference where no context is kept (§7.1.1.2)`() {
        var receiver = Receiver(keepsContext: false)
        #expect(receiver.text(Self.hello) == "Hello")
        #expect(receiver.text(Self.hello) == "Hello")
        #expect(receiver.take([[0xF2, 0x00, 0x11, 0x00, 0x00]]).fault == .corruptDeflate)
    }

    @Test func `reads the RFC's message without compression (§7.2.3.3)`() {
        var receiver = Receiver()
        let message: [UInt8] = [0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00]
        #expect(receiver.text(message) == "Hello")
    }

    @Test func `reads the RFC's message with a final block, and keeps the window after it (§7.2.3.4)`() {
        var receiver = Receiver()
        #expect(receiver.text([0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00]) == "Hello")
        #expect(receiver.text([0xF2, 0x00, 0x11, 0x00, 0x00]) == "Hello")
        #expect(receiver.text([0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00] + Self.hello) == "HelloHello")
    }

    @Test func `reads the RFC's message of two blocks (§7.2.3.5)`() {
        var receiver = Receiver()
        let message: [UInt8] = [0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00]
        #expect(receiver.text(message) == "Hello")
    }

    @Test func `reads the RFC's message without payload (§7.2.3.6)`() {
        var receiver = Receiver()
        #expect(receiver.text([0x00]) == "")
        #expect(receiver.text(Self.hello) == "Hello")
        #expect(receiver.text([0x00]) == "")
        #expect(receiver.order == [])
    }

    // MARK: Splitting

    @Test func `doesn't depend on how a message is split or how small the output is`() throws {
        let payload =
            Array(String(repeating: "You are standing in an open field. ", count: 30).utf8) + (0..<200).map { $0 }
        let message = try deflated(payload)
        for step in [1, 7, 64, payload.count, 4_096] {
            var whole = Receiver(step: step)
            #expect(whole.take([message]).bytes == payload)
            var single = Receiver(step: step)
            #expect(single.take(message.map { [$0] }).bytes == payload)
            #expect(whole.order == [] && single.order == [])
        }
        for cut in 0...message.count {
            var receiver = Receiver()
            #expect(receiver.take([Array(message[..<cut]), Array(message[cut...])]).bytes == payload, "cut at \(cut)")
        }
    }

    // MARK: Limits

    @Test func `lets a message inflate to the limit and not a byte further`() throws {
        let limits = MessageLimits(messageBytes: 1_000)
        let (most, more) = try (
            deflated([UInt8](repeating: 0x61, count: 1_000)), deflated([UInt8](repeating: 0x61, count: 1_001))
        )
        for step in [1, 100, 1_000, 1_001, 5_000] {
            var receiver = Receiver(limits, step: step)
            #expect(receiver.take([most]).bytes.count == 1_000)
            #expect(receiver.take([most]).bytes.count == 1_000, "each message by itself")
            let (bytes, fault) = receiver.take([more])
            #expect(fault == .messageTooBig && bytes.count <= 1_000)
        }
        var nothing = Receiver(MessageLimits(messageBytes: 0))
        #expect(nothing.take([[0x00]]).fault == nil)
        #expect(nothing.take([Self.hello]).fault == .messageTooBig)
    }

    @Test func `limits the ratio of a message above a free size`() throws {
        let message = try deflated([UInt8](repeating: 0, count: 100_000))
        var strict = Receiver(
            MessageLimits(messageBytes: 1_000_000, freeExpansionBytes: 99_999, expansionRatio: 10))
        #expect(strict.take([message]).fault == .expandsTooMuch)
        var free = Receiver(
            MessageLimits(messageBytes: 1_000_000, freeExpansionBytes: 100_000, expansionRatio: 10))
        #expect(free.take([message]).bytes.count == 100_000)
        var loose = Receiver(
            MessageLimits(messageBytes: 1_000_000, freeExpansionBytes: 0, expansionRatio: 1_032))
        #expect(loose.take([message]).bytes.count == 100_000)
        var unlimited = Receiver(
            MessageLimits(messageBytes: 1_000_000, freeExpansionBytes: 0, expansionRatio: .max))
        #expect(unlimited.take([message]).bytes.count == 100_000)
    }

    // MARK: Faults

    @Test func `refuses data that isn't DEFLATE, and everything after it`() {
        for message in [[0x07, 0x00], [0xFF, 0xFF, 0xFF], [0x00, 0x05, 0x00, 0x00, 0x00]] as [[UInt8]] {
            var receiver = Receiver()
            #expect(receiver.take([message]).fault == .corruptDeflate)
            #expect(receiver.take([Self.hello]).fault == .corruptDeflate)
            #expect(receiver.inflater.holdsMemory == false)
        }
    }

    @Test func `refuses a message that ends inside a block (§7.2.1)`() {
        for count in 0..<Self.hello.count {
            var receiver = Receiver()
            #expect(receiver.take([Array(Self.hello.prefix(count))]).fault == .corruptDeflate, "\(count) bytes")
        }
        // Complete blocks, but without the header of the final empty one.
        var final = Receiver()
        #expect(final.take([[0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]]).fault == .corruptDeflate)
    }

    @Test func `refuses a reference beyond the window that was agreed (§7.1.2.2)`() throws {
        let block = (0..<600).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 3 ^ $0) }
        let message = try deflated(block + [UInt8](repeating: 0, count: 5_000) + block, windowBits: 15)
        var large = Receiver()
        var small = Receiver(windowBits: 9)
        #expect(large.take([message]).fault == nil)
        #expect(small.take([message]).fault == .corruptDeflate)
    }

    @Test func `refuses text at its first byte that isn't UTF-8, after valid text (RFC 6455 §8.1)`() throws {
        let wrong = try deflated(Array("aé".utf8) + [0xED, 0xA0, 0x80])
        let unfinished = try deflated(Array("a".utf8) + [0xE2, 0x82])
        for step in [1, 2, 64] {
            var receiver = Receiver(step: step)
            var (bytes, fault) = receiver.take([wrong], isText: true)
            #expect(bytes == Array("aé".utf8) + [0xED] && fault == .textNotUTF8)
            receiver = Receiver(step: step)
            (bytes, fault) = receiver.take([unfinished], isText: true)
            #expect(bytes.starts(with: [0x61]) && fault == .textNotUTF8)
            receiver = Receiver(step: step)
            #expect(receiver.take([wrong]).fault == nil, "binary may be anything")
        }
    }

    // MARK: Memory

    @Test func `holds memory from the first message on, and releases it between messages without context`() {
        var receiver = Receiver(keepsContext: false)
        #expect(receiver.inflater.holdsMemory == false)
        #expect(receiver.text(Self.hello) == "Hello")
        #expect(receiver.inflater.holdsMemory == true)
        #expect(receiver.inflater.releaseIdle() == true)
        #expect(receiver.inflater.holdsMemory == false)
        #expect(receiver.inflater.releaseIdle() == false)
        #expect(receiver.text(Self.hello) == "Hello")
    }

    @Test func `keeps its memory inside a message, and as long as a context is kept`() throws {
        var keeping = Receiver()
        #expect(keeping.text(Self.hello) == "Hello")
        #expect(keeping.inflater.releaseIdle() == false)
        #expect(keeping.inflater.holdsMemory == true)
        var inside = MessageInflater<MessageInflateEngine>(windowBits: 15, keepsContext: false)
        let piece = DataPiece(range: 0..<3, isText: false, isCompressed: true, isFirst: true, isLast: false)
        var (position, room) = (0, [UInt8](repeating: 0, count: 10))
        var span = room.mutableSpan
        _ = try inside.inflate(piece, Array(Self.hello.prefix(3)).span, from: &position, into: &span)
        #expect(inside.releaseIdle() == false)
        #expect(inside.holdsMemory == true)
    }
}

/// A message as a peer with a new context would send it.
func deflated(_ payload: [UInt8], windowBits: Int = 15) throws -> [UInt8] {
    var room = [UInt8](repeating: 0, count: MessageDeflateEngine.bound(payload.count))
    var span = room.mutableSpan
    let engine = try MessageDeflateEngine(windowBits: windowBits, memoryLevel: 8, level: 6)
    let count = try engine.deflate(payload.span, into: &span)
    return Array(room.prefix(count - 4))
}
