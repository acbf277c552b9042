import Testing
import WebSocketWire

@testable import Reactors

/// permessage-deflate on one WebSocket, without its socket.
struct MessageCompressionTests {
    private let pool = BufferPool()
    private let memory = CompressionMemory(sessionBytes: 1_048_576, totalBytes: 1_048_576)

    private func make(_ offer: String = "permessage-deflate", bits: Int = 15) throws -> MessageCompression {
        let settings = DeflateSettings(serverWindowBits: bits, clientWindowBits: bits, minimumBytes: 0)
        let offers = try #require(WebSocketExtension.list([offer]))
        let lease = try #require(memory.agree(to: offers, settings: settings))
        return try #require(
            MessageCompression(lease, sharing: SharedDeflaters(level: 6), minimumBytes: 0, limits: MessageLimits()))
    }

    private static func noise(_ count: Int) -> [UInt8] {
        var random = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    /// For any message, each frame fits into one TLS record.
    @Test(arguments: 9...15) func `no frame is longer than a TLS record`(bits: Int) throws {
        let compression = try make(bits: bits)
        for count in [1, MessageCompression.maximumPieceBytes, MessageCompression.maximumPieceBytes + 1, 100_000] {
            var queue = FrameQueue()
            let isQueued = Self.noise(count).withUnsafeBytes {
                compression.append($0, isText: false, to: &queue, from: pool)
            }
            #expect(isQueued)
            var frames: [Int] = []
            while case .frames(let bytes) = queue.front() {
                let length = try #require(FrameQueue.frameBytes(at: 0, of: UnsafeRawBufferPointer(bytes)))
                #expect((bytes[0] & 0x40 != 0) == frames.isEmpty)
                frames.append(length)
                queue.removeFirst(length, to: pool)
            }
            #expect(queue.isEmpty && frames.allSatisfy { $0 <= 16_384 } && frames.reduce(0, +) > count)
        }
    }

    @Test func `the WebSocket's memory is released with it`() throws {
        var compressions = [try make(), try make("permessage-deflate; server_no_context_takeover")]
        #expect(memory.reservedBytes > 0)
        compressions = []
        #expect(memory.reservedBytes == 0 && compressions.isEmpty)
    }

    @Test func `waiting input is bounded`() throws {
        let compression = try make()
        let piece = DataPiece(range: 0..<10, isText: false, isCompressed: true, isFirst: true, isLast: true)
        var input = [UInt8](repeating: 0, count: MessageCompression.maximumHeldBytes - 1)
        input.withUnsafeMutableBytes { compression.hold(piece, from: 4, of: $0) }
        #expect(compression.isHolding)
        var more: [UInt8] = [1, 2, 3, 4, 5]
        let fits = more.withUnsafeMutableBytes { compression.hold($0) }
        let fitsMore = more.withUnsafeMutableBytes { compression.hold(.init(rebasing: $0[..<1])) }
        #expect(fits && !fitsMore)
        let held = try #require(compression.takeHeld())
        #expect(held.piece.range == 0..<6 && held.bytes.count == MessageCompression.maximumHeldBytes + 1)
        #expect(!compression.isHolding)
    }

    /// Blocks that inflate to nothing count too.
    @Test(arguments: [0, 1, 15_995]) func `a WebSocket inflates at most its share per turn`(size: Int) throws {
        let compression = try make()
        let room = pool.take(MessageCompression.stepBytes)
        defer { pool.give(room) }
        // Stored blocks of zeros: 00, the length, its complement, and the zeros; the last block is incomplete.
        var message = [UInt8](repeating: 0, count: 0)
        for _ in 0..<16_000 / (5 + size) {
            let lengths = [UInt8(size & 0xFF), UInt8(size >> 8)]
            message += [0] + lengths + lengths.map { ~$0 } + [UInt8](repeating: 0, count: size)
        }
        let inflatedSize = 16_000 / (5 + size) * size
        message += [0]
        let piece = DataPiece(
            range: 0..<message.count, isText: false, isCompressed: true, isFirst: true, isLast: true)
        var steps = 0
        while compression.mayInflate(in: 7) {
            var position = 0
            let inflated = try message.withUnsafeMutableBytes {
                try compression.inflate(
                    piece, $0, from: &position, into: .init(rebasing: room[..<MessageCompression.stepBytes]))
            }
            #expect(inflated.count == inflatedSize && inflated.isLast)
            steps += 1
        }
        let cost = MessageCompression.costOfInputByte * message.count
        #expect(steps == (MessageCompression.inflatedBytesPerTurn + cost - 1) / cost)
        #expect(compression.mayInflate(in: 8))
    }
}
