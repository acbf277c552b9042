import Testing

@testable import Reactors

/// A WebSocket's output queue: stream bytes and whole messages, in one order.
struct FrameQueueTests {
    private static let maximum = FrameQueue.maximumPayloadBytes

    @Test(arguments: [0, 1, 125, 126, 127, 16_379, 16_380])
    func `a message up to the limit is one frame`(count: Int) {
        var bench = Bench()
        let payload = [UInt8](repeating: 7, count: count)
        bench.message(payload, isText: true)
        #expect(bench.queue.count == count + (count < 126 ? 2 : 4))
        let frames = bench.drain()
        #expect(frames == [ReceivedFrame(isFinal: true, opcode: 1, payload: payload)])
    }

    @Test func `a message one byte above the limit has a second fragment`() {
        var bench = Bench()
        let payload = [UInt8](repeating: 7, count: Self.maximum) + [8]
        bench.message(payload, isText: true)
        #expect(
            bench.drain() == [
                ReceivedFrame(isFinal: false, opcode: 1, payload: Array(payload.dropLast())),
                ReceivedFrame(isFinal: true, opcode: 0, payload: [8]),
            ])
    }

    @Test func `a long message is split into fragments of the limit`() {
        var bench = Bench()
        let payload = (0..<3 * Self.maximum).map { UInt8(truncatingIfNeeded: $0) }
        bench.message(payload, isText: false)
        let frames = bench.drain()
        #expect(frames.map(\.opcode) == [2, 0, 0])
        #expect(frames.map(\.isFinal) == [false, false, true])
        #expect(frames.flatMap(\.payload) == payload)
    }

    @Test func `a stream without messages isn't framed here`() {
        var bench = Bench()
        bench.stream([1, 2])
        bench.stream([3])
        #expect(bench.queue.count == 3)
        guard case .stream(let bytes) = bench.queue.front() else { return #expect(Bool(false), "no stream") }
        #expect(Array(bytes) == [1, 2, 3])
    }

    @Test func `a stream is offered in pieces of at most a frame's payload`() {
        var bench = Bench()
        bench.stream([UInt8](repeating: 1, count: Self.maximum + 1))
        #expect(bench.fronts() == [Self.maximum, 1])
    }

    @Test func `small messages are offered together, up to a TLS record`() {
        var bench = Bench()
        for _ in 0..<100 { bench.message([UInt8](repeating: 1, count: 200), isText: true) }
        // 80 frames of 204 bytes are 16,320 bytes; 81 would be more than 16,384.
        #expect(bench.fronts() == [80 * 204, 20 * 204])
    }

    @Test func `two frames of maximum size are never offered together`() {
        var bench = Bench()
        bench.message([UInt8](repeating: 1, count: 2 * Self.maximum), isText: true)
        #expect(bench.fronts() == [16_384, 16_384])
    }

    @Test func `empty stream bytes make no message, neither alone nor after one`() {
        var bench = Bench()
        bench.stream([])
        #expect(bench.queue.isEmpty)
        bench.message([1], isText: true)
        bench.stream([])
        #expect(bench.drain().count == 1)
    }

    @Test func `after the queue has run empty a stream isn't framed again`() {
        var bench = Bench()
        bench.message([1], isText: true)
        _ = bench.drain()
        bench.stream([2])
        guard case .stream = bench.queue.front() else { return #expect(Bool(false), "no stream") }
    }

    @Test func `a released queue holds nothing`() {
        var bench = Bench()
        bench.stream([1, 2, 3])
        bench.message([4], isText: false)
        bench.queue.release(to: bench.pool)
        #expect(bench.queue.isEmpty)
        guard case .empty = bench.queue.front() else { return #expect(Bool(false), "not empty") }
        bench.message([5], isText: true)
        #expect(bench.drain() == [ReceivedFrame(isFinal: true, opcode: 1, payload: [5])])
    }

    private static let pattern = (0..<40_000).map { UInt8(truncatingIfNeeded: $0 & 0x7F) }

    /// Calls and writes are mixed at random, and the headroom is overwritten before each write: the bytes, boundaries
    /// and order stay the same.
    @Test(arguments: 0..<40 as Range<UInt64>)
    func `any mixture keeps order and boundaries`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var bench = Bench()
        var expected: [ReceivedMessage] = []
        var frames: [ReceivedFrame] = []
        for _ in 0..<300 {
            let size = [3, 126, 300, 5_000, 40_000].randomElement(using: &generator) ?? 0
            let bytes = Array(Self.pattern.prefix(.random(in: 0...size, using: &generator)))
            switch Int.random(in: 0..<4, using: &generator) {
            case 0:
                bench.stream(bytes)
                expected.append(ReceivedMessage(isText: false, payload: bytes))
            case 1, 2:
                let isText = Bool.random(using: &generator)
                // The leading 0xFF marks messages that must stay whole.
                bench.message([0xFF] + bytes, isText: isText)
                expected.append(ReceivedMessage(isText: isText, payload: [0xFF] + bytes))
            default: frames += bench.writeOnce()
            }
        }
        frames += bench.drain()
        let messages = try #require(ReceivedFrame.messages(in: frames))
        #expect(messages.flatMap(\.payload) == expected.flatMap(\.payload))
        let whole = { (messages: [ReceivedMessage]) in messages.filter { $0.payload.first == 0xFF } }
        let isUncut = whole(messages) == whole(expected)
        #expect(isUncut)
    }
}

/// A queue, and a writer that frames stream bytes as libwebsockets does.
private struct Bench {
    let pool = BufferPool()
    var queue = FrameQueue()

    mutating func stream(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { queue.appendStream($0, from: pool) }
    }

    mutating func message(_ bytes: [UInt8], isText: Bool) {
        bytes.withUnsafeBytes { queue.appendMessage($0, isText: isText, from: pool) }
    }

    /// Writes the front and overwrites the bytes before it, as libwebsockets may do.
    mutating func writeOnce() -> [ReceivedFrame] {
        switch queue.front() {
        case .empty: return []
        case .stream(let bytes):
            let frame = ReceivedFrame(isFinal: true, opcode: 2, payload: Array(bytes))
            remove(bytes)
            return [frame]
        case .frames(let bytes):
            guard let (frames, consumed) = ReceivedFrame.all(in: Array(bytes)), consumed == bytes.count, consumed > 0
            else {
                Issue.record("a front that isn't whole frames")
                queue.release(to: pool)
                return []
            }
            remove(bytes)
            return frames
        }
    }

    mutating func drain() -> [ReceivedFrame] {
        var frames: [ReceivedFrame] = []
        while !queue.isEmpty { frames += writeOnce() }
        return frames
    }

    /// The sizes of the writes until the queue is empty.
    mutating func fronts() -> [Int] {
        var counts: [Int] = []
        while !queue.isEmpty {
            let before = queue.count
            _ = writeOnce()
            counts.append(before - queue.count)
        }
        return counts
    }

    private mutating func remove(_ bytes: UnsafeMutableRawBufferPointer) {
        if let base = bytes.baseAddress { (base - 16).initializeMemory(as: UInt8.self, repeating: 0xEE, count: 16) }
        queue.removeFirst(bytes.count, to: pool)
    }
}
