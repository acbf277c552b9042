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
        let memoryShare = try #require(memory.agree(to: offers, settings: settings))
        return try #require(
            MessageCompression(
                memoryShare, sharing: SharedDeflaters(level: 6), minimumBytes: 0, limits: MessageLimits()))
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
}
