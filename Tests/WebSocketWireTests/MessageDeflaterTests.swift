import Compression
import Testing
import WebSocketWire

@Suite("Deflating messages")
struct MessageDeflaterTests {
    private static let line = Array("You are standing in an open field west of a white house.\r\n".utf8)

    private struct Sender: ~Copyable {
        var deflater: MessageDeflater<MessageDeflateEngine>
        var inflater: MessageInflater<MessageInflateEngine>

        init(keepsContext: Bool = true, minimumBytes: Int = 0, windowBits: Int = 15, level: Int = 6) throws {
            let engine = try MessageDeflateEngine(
                windowBits: windowBits, memoryLevel: max(1, windowBits - 7), level: level)
            deflater = MessageDeflater(engine: engine, keepsContext: keepsContext, minimumBytes: minimumBytes)
            inflater = MessageInflater(
                windowBits: windowBits, keepsContext: keepsContext, limits: MessageLimits(messageBytes: 1_000_000))
        }

        /// Nil if the message should be sent uncompressed.
        mutating func deflate(_ message: [UInt8], room: Int? = nil) throws -> [UInt8]? {
            var output = [UInt8](repeating: 0, count: room ?? MessageDeflateEngine.bound(message.count))
            var span = output.mutableSpan
            switch try deflater.deflate(message.span, into: &span) {
            case .unchanged: return nil
            case .deflated(let count): return Array(output.prefix(count))
            }
        }

        mutating func inflate(_ message: [UInt8]) throws -> [UInt8] {
            let piece = DataPiece(
                range: 0..<message.count, isText: false, isCompressed: true, isFirst: true, isLast: true)
            var output = [UInt8](repeating: 0, count: 1_000_001)
            var span = output.mutableSpan
            var position = 0
            let inflated = try inflater.inflate(piece, message.span, from: &position, into: &span)
            #expect(inflated.isLast)
            return Array(output.prefix(inflated.count))
        }
    }

    @Test func `writes the RFC's messages, with and without context (RFC 7692 §7.2.3.1, §7.2.3.2)`() throws {
        let hello = Array("Hello".utf8)
        let first: [UInt8] = [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]
        var keeping = try Sender()
        #expect(try keeping.deflate(hello) == first)
        #expect(try keeping.deflate(hello) == [0xF2, 0x00, 0x11, 0x00, 0x00])
        var forgetting = try Sender(keepsContext: false)
        // Seven bytes instead of five would be no gain.
        #expect(try forgetting.deflate(hello) == nil)
        let once = try #require(try forgetting.deflate(Self.line + Self.line))
        #expect(try forgetting.deflate(Self.line + Self.line) == once)
    }

    @Test(arguments: 9...15)
    func `is read back, for every window and level`(windowBits: Int) throws {
        for level in [1, 6, 9] {
            var sender = try Sender(windowBits: windowBits, level: level)
            for message in [Self.line, [0], Self.line, noise(100), noise(70_000), Self.line + noise(3_000) + Self.line]
            {
                let sent = try #require(try sender.deflate(message))
                #expect(!sent.suffix(4).elementsEqual([0x00, 0x00, 0xFF, 0xFF]))
                #expect(try sender.inflate(sent) == message)
            }
        }
    }

    @Test func `sends messages below the threshold uncompressed`() throws {
        var sender = try Sender(minimumBytes: 58)
        #expect(Self.line.count == 58)
        #expect(try sender.deflate(Array(Self.line.dropLast())) == nil)
        #expect(try sender.deflate(Self.line) != nil)
        var any = try Sender()
        #expect(try any.deflate([]) == nil)
    }

    @Test func `sends a message that would grow uncompressed where no context is kept`() throws {
        var sender = try Sender(keepsContext: false)
        #expect(try sender.deflate(noise(1_000)) == nil)
        #expect(try #require(try sender.deflate(Self.line + Self.line)).count < 116)
    }

    @Test func `doesn't compress a message that may exceed the output`() throws {
        var sender = try Sender()
        let bound = MessageDeflateEngine.bound(Self.line.count)
        #expect(try sender.deflate(Self.line, room: bound - 1) == nil)
        let sent = try #require(try sender.deflate(Self.line, room: bound))
        #expect(try sender.inflate(sent) == Self.line)
    }

    @Test func `can serve several connections in turn without context`() throws {
        let engine = try MessageDeflateEngine(windowBits: 12, memoryLevel: 5, level: 6)
        var results: [[UInt8]] = []
        for _ in 0..<2 {
            var deflater = MessageDeflater(engine: engine, keepsContext: false, minimumBytes: 0)
            var output = [UInt8](repeating: 0, count: 500)
            var span = output.mutableSpan
            let message = Self.line + Self.line
            guard case .deflated(let count) = try deflater.deflate(message.span, into: &span) else { continue }
            results.append(Array(output.prefix(count)))
        }
        #expect(results.count == 2 && results[0] == results[1])
    }

    @Test(arguments: [1, 10, 58])
    func `deflates a message in pieces that together are one`(size: Int) throws {
        var sender = try Sender()
        for message in [Self.line, [], Self.line + Self.line] as [[UInt8]] {
            var sent: [UInt8] = []
            var start = 0
            // The last piece may be empty, as if the end wasn't known before.
            for isLast in Array(repeating: false, count: message.count / size) + [true] {
                let end = isLast ? message.count : start + size
                var output = [UInt8](repeating: 0, count: MessageDeflateEngine.bound(end - start))
                var span = output.mutableSpan
                let count = try sender.deflater.deflate(
                    piece: Array(message[start..<end]).span, isFirst: start == 0, isLast: isLast, into: &span)
                sent += output.prefix(count)
                start = end
            }
            #expect(try sender.inflate(sent) == message)
        }
    }
}

/// Incompressible bytes, the same each time.
private func noise(_ count: Int) -> [UInt8] {
    var state: UInt32 = 1
    return (0..<count).map { _ in
        state = state &* 1_664_525 &+ 1_013_904_223
        return UInt8(state >> 24)
    }
}
