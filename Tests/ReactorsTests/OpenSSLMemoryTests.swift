import COpenSSL
import Glibc
import Testing

@testable import Reactors

/// Blocks that OpenSSL frees are kept for the next record, within limits.
struct SpareBlocksTests {
    private let spares = SpareBlocks()

    @Test(arguments: [(25, 40), (40, 25), (16_712, 16_584), (16_385, 16_712)])
    func `a freed block of a record's size is reused for any size of its class`(first: Int, second: Int) throws {
        let block = try #require(spares.take(first))
        #expect(portcullis_usable_size(block) >= max(first, second))
        spares.give(block)
        #expect(spares.count == 1)
        #expect(spares.take(second) == block)
        #expect(spares.count == 0)
        free(block)
    }

    @Test(arguments: [1, 24, 41, 16_384, 16_713, 65_536])
    func `other sizes are allocated by the C library`(size: Int) throws {
        let kept = try [25, 16_385].map { try #require(spares.take($0)) }
        kept.forEach(spares.give)
        let block = try #require(spares.take(size))
        #expect(!kept.contains(block))
        #expect(portcullis_usable_size(block) >= size)
        free(block)
        #expect(spares.count == 2)
    }

    @Test(arguments: [72, 1_000, 16_384, 16_744, 65_536])
    func `a block of another size isn't kept`(size: Int) throws {
        spares.give(try #require(malloc(size)))
        #expect(spares.count == 0)
    }

    /// The C library may allocate more than requested.
    @Test func `a block is kept according to its real size`() throws {
        let block = try #require(malloc(8))
        let isLargeEnough = portcullis_usable_size(block) >= 40
        spares.give(block)
        #expect(spares.count == (isLargeEnough ? 1 : 0))
    }

    @Test(arguments: [(40, SpareBlocks.keptSmall), (16_712, SpareBlocks.keptLarge)])
    func `each class keeps at most its limit of blocks`(size: Int, limit: Int) throws {
        let blocks = try (0...limit).map { _ in try #require(spares.take(size)) }
        for (index, block) in blocks.enumerated() {
            spares.give(block)
            #expect(spares.count == min(index + 1, limit))
        }
    }

    @Test func `a block that was allocated elsewhere is kept`() throws {
        let block = try #require(SpareBlocks().take(16_500))
        let foreign = try #require(malloc(40))
        for block in [block, foreign] { spares.give(block) }
        #expect(spares.take(16_712) == block)
        #expect(spares.take(30) == foreign)
        free(block)
        free(foreign)
    }

    @Test func `an empty allocation has no block`() {
        #expect(spares.take(0) == nil)
    }
}
