import StateCoding
import Testing

@testable import RelayCore

struct ReplayBufferTests {
    private func buffer(
        _ numbering: ReplayBuffer.Numbering = .messages, maximumBytes: Int, _ sizes: [Int],
        _ kind: KeptMessage.Kind = .text
    ) -> ReplayBuffer {
        var buffer = ReplayBuffer(numbering: numbering, maximumBytes: maximumBytes)
        for (index, size) in sizes.enumerated() { _ = buffer.append(kind, payload(index + 1, size)) }
        return buffer
    }

    private func payload(_ number: Int, _ size: Int) -> ArraySlice<UInt8> {
        Array(repeating: UInt8(number % 256), count: size)[...]
    }

    /// A state may have a million values, and a history more messages.
    @Test func `a history of many small messages crosses to another process`() throws {
        let count = StateLimits.maximumValues + 1
        let buffer = buffer(maximumBytes: 64 * count, Array(repeating: 1, count: count))
        #expect(buffer.byteCount == count)
        let restored = try StateDecoder.decode(ReplayBuffer.self, from: try StateEncoder.bytes(of: buffer))
        #expect(restored.byteCount == count && restored.replay(after: UInt64(count - 1)).messages.count == 1)
    }

    @Test func `zero requests everything`() {
        let replay = buffer(maximumBytes: 10, [3, 3, 4]).replay(after: 0)
        #expect(replay.gap == nil && replay.start == 0)
        #expect(replay.messages.map(\.seq) == [1, 2, 3])
        #expect(replay.messages.map(\.payload) == [payload(1, 3), payload(2, 3), payload(3, 4)])
    }

    @Test func `only messages after the last seq are replayed, and none if it is too high`() {
        let buffer = buffer(maximumBytes: 10, [3, 3, 4])
        #expect(buffer.replay(after: 2).messages.map(\.seq) == [3])
        for seen: UInt64 in [3, 4, .max] {
            #expect(buffer.replay(after: seen) == Replay(gap: nil, start: 3, messages: []))
        }
    }

    @Test func `up to the limit everything is kept, and one byte above it the oldest is dropped`() {
        #expect(buffer(maximumBytes: 10, [3, 3, 4]).byteCount == 10)
        let above = buffer(maximumBytes: 10, [3, 3, 5])
        #expect(above.byteCount == 8)
        #expect(above.replay(after: 0).gap == ReplayGap(fromSeq: 1, toSeq: 1, bytes: 3))
    }

    @Test func `a gap begins after what the client has seen`() {
        let buffer = buffer(maximumBytes: 4, [3, 3, 4])
        #expect(buffer.replay(after: 1).gap == ReplayGap(fromSeq: 2, toSeq: 2, bytes: 3))
        #expect(buffer.replay(after: 2).gap == nil)
    }

    @Test func `a message as large as the buffer is kept, and a larger one is a gap`() {
        #expect(buffer(maximumBytes: 4, [1, 4]).replay(after: 1).messages.map(\.payload) == [payload(2, 4)])
        let replay = buffer(maximumBytes: 4, [1, 5]).replay(after: 0)
        #expect(replay == Replay(gap: ReplayGap(fromSeq: 1, toSeq: 2, bytes: 6), start: 2, messages: []))
    }

    @Test func `acknowledged messages aren't kept, and a client that has seen nothing gets a gap for them`() {
        var buffer = buffer(maximumBytes: 6, [3, 3, 3, 3])
        buffer.acknowledge(through: 3)
        #expect(buffer.byteCount == 3)
        #expect(buffer.replay(after: 3).gap == nil)
        #expect(buffer.replay(after: 3).messages.map(\.seq) == [4])
        #expect(buffer.replay(after: 0).gap == ReplayGap(fromSeq: 1, toSeq: 3, bytes: 9))
        buffer.acknowledge(through: .max)
        #expect(buffer.messageCount == 0 && buffer.byteCount == 0)
        #expect(buffer.append(.text, payload(5, 2)) == 5)
        #expect(buffer.replay(after: 4).messages.map(\.payload) == [payload(5, 2)])
    }

    @Test func `messages without payload are bounded by their count`() {
        let limit = buffer(maximumBytes: 51_200, []).maximumMessages
        #expect(limit == 3_200)
        let full = buffer(maximumBytes: 51_200, Array(repeating: 0, count: limit), .prompt)
        #expect(full.messageCount == limit && full.replay(after: 0).gap == nil)
        let above = buffer(maximumBytes: 51_200, Array(repeating: 0, count: limit + 1), .prompt)
        #expect(above.messageCount == limit && above.ringCapacity == 0)
        #expect(above.replay(after: 0).gap == ReplayGap(fromSeq: 1, toSeq: 1, bytes: 0))
        #expect(buffer(maximumBytes: 16, Array(repeating: 0, count: 65), .prompt).messageCount == 64)
    }

    @Test func `the ring grows with its content, up to its limit`() {
        var ring = buffer(maximumBytes: 51_200, [1])
        #expect(ring.ringCapacity == 1_024)
        for number in 0..<10_000 { _ = ring.append(.text, payload(number, 100)) }
        #expect(ring.ringCapacity == 51_200 && ring.messageCount == 512)
        #expect(buffer(maximumBytes: 51_200, []).ringCapacity == 0)
    }

    @Test func `a buffer of size zero keeps nothing and continues to count`() {
        var none = buffer(maximumBytes: 0, [3, 0, 5])
        #expect(none.seq == 3 && none.messageCount == 0 && none.ringCapacity == 0)
        #expect(none.append(.prompt, []) == 4)
    }

    @Test func `a gap's size is exact for the recent sizes, and never too small before them`() {
        let limit = LostSizes.maximumEntries
        let exact = buffer(maximumBytes: 1, Array(repeating: 2, count: limit))
        #expect(exact.replay(after: 1).gap?.bytes == UInt64(2 * (limit - 1)))
        let beyond = buffer(maximumBytes: 1, Array(repeating: 2, count: limit + 1))
        #expect(beyond.replay(after: 0).gap?.bytes == UInt64(2 * (limit + 1)))
        #expect(beyond.replay(after: 1).gap?.bytes == UInt64(2 * (limit + 1)))
        #expect(beyond.replay(after: 2).gap?.bytes == UInt64(2 * (limit - 1)))
    }

    @Test func `a gap's size is exact however much was dropped after the client left`() {
        var buffer = buffer(maximumBytes: 1, [2, 3, 4])
        buffer.clientLeft()
        for _ in 0..<10_000 { _ = buffer.append(.text, payload(0, 5)) }
        #expect(buffer.replay(after: 2).gap == ReplayGap(fromSeq: 3, toSeq: 10_003, bytes: 50_004))
        buffer.clientCame()
        for _ in 0..<3 { _ = buffer.append(.text, payload(0, 7)) }
        #expect(buffer.replay(after: 10_004).gap == ReplayGap(fromSeq: 10_005, toSeq: 10_006, bytes: 14))
        #expect(buffer.replay(after: 2).gap?.bytes == 50_025)
    }

    // MARK: Bytes

    @Test func `numbered by bytes, the rest of a text that was seen in part is sent`() {
        let buffer = buffer(.bytes, maximumBytes: 10, [3, 3, 4])
        #expect(buffer.seq == 10)
        let replay = buffer.replay(after: 4)
        #expect(replay.start == 4 && replay.gap == nil)
        #expect(replay.messages.map(\.payload) == [payload(2, 2), payload(3, 4)])
        #expect(replay.messages.map(\.seq) == [6, 10])
    }

    @Test func `numbered by bytes, the replay begins with the whole of a package seen in part`() {
        let replay = buffer(.bytes, maximumBytes: 10, [3, 3, 4], .package).replay(after: 4)
        #expect(replay.start == 3)
        #expect(replay.messages.map(\.payload) == [payload(2, 3), payload(3, 4)])
    }

    @Test func `numbered by bytes, a gap is the difference of the numbers`() {
        let buffer = buffer(.bytes, maximumBytes: 4, [3, 3, 4])
        let replay = buffer.replay(after: 2)
        #expect(replay.gap == ReplayGap(fromSeq: 3, toSeq: 6, bytes: 4) && replay.start == 6)
        #expect(replay.messages.map(\.payload) == [payload(3, 4)])
        #expect(buffer.replay(after: 6).gap == nil)
    }

    @Test func `numbered by bytes, a message without payload where the client stopped is sent again`() {
        var buffer = ReplayBuffer(numbering: .bytes, maximumBytes: 100)
        #expect(buffer.append(.prompt, []) == 0)
        #expect(buffer.append(.text, payload(1, 5)) == 5)
        #expect(buffer.append(.prompt, []) == 5)
        #expect(buffer.replay(after: 0).messages.map(\.kind) == [.prompt, .text, .prompt])
        #expect(buffer.replay(after: 4).messages.map(\.kind) == [.text, .prompt])
        #expect(buffer.replay(after: 5).messages.map(\.kind) == [.prompt])
    }

    /// Against a list that forgets nothing.
    @Test(arguments: 0..<20) func `a random history is replayed in order or reported as missing`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var buffer = ReplayBuffer(numbering: .messages, maximumBytes: 100)
        var sizes: [Int] = []
        for number in 1...300 {
            let size = Int.random(in: 0...20, using: &generator)
            sizes.append(size)
            #expect(buffer.append(.text, payload(number, size)) == UInt64(number))
        }
        for seen in UInt64(0)...300 {
            let replay = buffer.replay(after: seen)
            let missing = replay.gap.map { Array($0.fromSeq...$0.toSeq) } ?? []
            #expect(missing + replay.messages.map(\.seq) == (seen < 300 ? Array(seen + 1...300) : []))
            #expect(replay.gap?.bytes ?? 0 == missing.reduce(0) { $0 + UInt64(sizes[Int($1) - 1]) })
            for message in replay.messages {
                #expect(message.payload == payload(Int(message.seq), sizes[Int(message.seq) - 1]))
            }
        }
    }

    @Test(arguments: 0..<20) func `a random stream is replayed from any byte or reported as missing`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let limit = Int.random(in: 1...3_000, using: &generator)
        var buffer = ReplayBuffer(numbering: .bytes, maximumBytes: limit)
        var stream: [UInt8] = []
        for _ in 0..<200 {
            let piece = (0..<Int.random(in: 0...60, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            stream += piece
            #expect(buffer.append(.text, piece[...]) == UInt64(stream.count))
            let seen = Int.random(in: 0...stream.count, using: &generator)
            let replay = buffer.replay(after: UInt64(seen))
            #expect(Int(replay.start) == replay.gap.map { seen + Int($0.bytes) } ?? seen)
            #expect(replay.messages.flatMap(\.payload) == Array(stream[Int(replay.start)...]))
        }
    }
}
