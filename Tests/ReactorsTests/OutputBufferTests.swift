import Testing

@testable import Reactors

/// Bytes waiting to be written, and their memory.
struct OutputBufferTests {
    /// libwebsockets' `LWS_PRE`: this many bytes before the front may be overwritten.
    private static let headroom = 16

    @Test func `appended bytes come out at the front, in order`() {
        let pool = BufferPool()
        var buffer = OutputBuffer()
        buffer.append([1, 2, 3], pool)
        buffer.append([4, 5], pool)
        #expect(buffer.count == 5)
        #expect(buffer.bytes == [1, 2, 3, 4, 5])
        #expect(Array(buffer.front(limit: 2)) == [1, 2])
        buffer.removeFirst(2, to: pool)
        #expect(buffer.bytes == [3, 4, 5])
        buffer.release(to: pool)
    }

    @Test func `an empty buffer has no front and uses no memory`() {
        let pool = BufferPool()
        let block = pool.take(1)
        pool.give(block)
        var buffer = OutputBuffer()
        buffer.append([], pool)
        #expect(buffer.isEmpty)
        #expect(buffer.front(limit: 10).isEmpty)
        #expect(pool.take(1).baseAddress == block.baseAddress, "an empty append took a block")
        block.deallocate()
    }

    @Test func `the memory is released with the last byte`() {
        let pool = BufferPool()
        let block = pool.take(1)
        pool.give(block)
        var buffer = OutputBuffer()
        buffer.append([9], pool)
        #expect(buffer.front(limit: 1).baseAddress == block.baseAddress?.advanced(by: Self.headroom))
        buffer.removeFirst(1, to: pool)
        #expect(buffer.isEmpty)
        #expect(pool.take(1).baseAddress == block.baseAddress)
        block.deallocate()
    }

    @Test func `random operations keep the bytes, whatever is written into the headroom`() {
        let pool = BufferPool()
        var generator = SeededGenerator(seed: 11)
        var buffer = OutputBuffer()
        var model: [UInt8] = []
        for step in 0..<4_000 {
            switch Int.random(in: 0..<5, using: &generator) {
            case 0, 1:
                let size = [0, 1, 100, 4_080, 4_096, 20_000].randomElement(using: &generator) ?? 0
                let bytes = (0..<size).map { _ in UInt8.random(in: 0...255, using: &generator) }
                buffer.append(bytes, pool)
                model += bytes
            case 2, 3:
                let count = Int.random(in: 0...model.count, using: &generator)
                buffer.removeFirst(count, to: pool)
                model.removeFirst(count)
            default:
                guard step % 50 == 0 else { continue }
                buffer.release(to: pool)
                model = []
            }
            overwriteHeadroom(of: buffer)
            guard buffer.count == model.count, buffer.bytes == model else {
                Issue.record("differs after step \(step)")
                return
            }
        }
        buffer.release(to: pool)
    }

    private func overwriteHeadroom(of buffer: OutputBuffer) {
        guard let front = buffer.front(limit: 1).baseAddress else { return }
        front.advanced(by: -Self.headroom).initializeMemory(as: UInt8.self, repeating: 0xee, count: Self.headroom)
    }
}

/// Freed memory is kept for reuse.
struct BufferPoolTests {
    @Test(arguments: [(0, 4_096), (1, 4_096), (4_096, 4_096), (4_097, 8_192), (262_144, 262_144), (262_145, 524_288)])
    func `a block's size is the next power of two, at least 4 KiB`(asked: Int, given: Int) {
        let block = BufferPool().take(asked)
        #expect(block.count == given)
        block.deallocate()
    }

    @Test func `a returned block is reused for its size only`() {
        let pool = BufferPool()
        let small = pool.take(1)
        let big = pool.take(5_000)
        pool.give(small)
        pool.give(big)
        let other = pool.take(20_000)
        #expect(other.baseAddress != small.baseAddress && other.baseAddress != big.baseAddress)
        #expect(pool.take(8_192).baseAddress == big.baseAddress)
        #expect(pool.take(4_096).baseAddress == small.baseAddress)
        for block in [small, big, other] { block.deallocate() }
    }

    @Test(arguments: [(1, 128), (1 << 18, 2)])
    func `at most 512 KiB of each size are kept, and nothing above the largest size`(size: Int, kept: Int) {
        let pool = BufferPool()
        let blocks = (0...kept).map { _ in pool.take(size) }
        let huge = pool.take(1 << 19)
        blocks.forEach(pool.give)
        pool.give(huge)
        #expect(pool.keptBlocks == kept)
    }
}

extension OutputBuffer {
    fileprivate var bytes: [UInt8] { Array(front(limit: .max)) }

    fileprivate mutating func append(_ bytes: [UInt8], _ pool: BufferPool) {
        bytes.withUnsafeBytes { append($0, from: pool) }
    }
}
