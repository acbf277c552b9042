import CLibwebsockets

/// Freed output blocks, kept for reuse: in the steady state nothing is allocated.
///
/// Block sizes are powers of two from 4 KiB to 256 KiB. Up to 512 KiB of each size are kept, which serves many
/// connections that write in the same turn; the rest is freed. Reactor thread only.
final class BufferPool {
    static let smallestBlock = 4_096
    static let keptBytesPerSize = 524_288
    private static let sizes = 7
    private let free: UnsafeMutableBufferPointer<FreeList>

    init() {
        free = .allocate(capacity: Self.sizes)
        free.initialize(repeating: FreeList())
    }

    var keptBlocks: Int { free.reduce(0) { $0 + $1.count } }

    /// - Returns: a block of at least `count` bytes, with its actual size.
    func take(_ count: Int) -> UnsafeMutableRawBufferPointer {
        let (index, size) = sizeClass(count)
        if index < Self.sizes, let block = free[index].pop() {
            return UnsafeMutableRawBufferPointer(start: block, count: size)
        }
        return .allocate(byteCount: size, alignment: 16)
    }

    func give(_ block: UnsafeMutableRawBufferPointer) {
        let (index, size) = sizeClass(block.count)
        guard index < Self.sizes, size == block.count, free[index].count < Self.keptBytesPerSize / size,
            let base = block.baseAddress
        else { return block.deallocate() }
        free[index].push(base)
    }

    private func sizeClass(_ count: Int) -> (index: Int, size: Int) {
        var size = Self.smallestBlock
        var index = 0
        while size < count {
            size *= 2
            index += 1
        }
        return (index, size)
    }

    deinit {
        for index in free.indices {
            while let block = free[index].pop() { block.deallocate() }
        }
        free.deallocate()
    }
}

/// A list of free blocks. The first bytes of each block hold the address of the next, so the list itself needs no
/// memory.
struct FreeList {
    private var first: UnsafeMutableRawPointer?
    private(set) var count = 0

    mutating func push(_ block: UnsafeMutableRawPointer) {
        block.storeBytes(of: first, as: UnsafeMutableRawPointer?.self)
        first = block
        count += 1
    }

    mutating func pop() -> UnsafeMutableRawPointer? {
        guard let block = first else { return nil }
        first = block.load(as: UnsafeMutableRawPointer?.self)
        count -= 1
        return block
    }
}

/// Bytes waiting to be written, with room in front for the header that libwebsockets writes there.
///
/// It holds no memory while it is empty. Reactor thread only; the owner bounds `count`.
struct OutputBuffer {
    private static let headroom = PORTCULLIS_LWS_PRE
    private var block: UnsafeMutableRawBufferPointer?
    private var start = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    mutating func append(_ bytes: UnsafeRawBufferPointer, from pool: BufferPool) {
        guard let source = bytes.baseAddress, bytes.count > 0 else { return }
        reserve(bytes.count, from: pool)
        block!.baseAddress!.advanced(by: Self.headroom + start + count).copyMemory(from: source, byteCount: bytes.count)
        count += bytes.count
    }

    /// At most the first `limit` bytes. The `LWS_PRE` bytes before them may be overwritten.
    func front(limit: Int) -> UnsafeMutableRawBufferPointer {
        guard let block, count > 0 else { return UnsafeMutableRawBufferPointer(start: nil, count: 0) }
        let first = Self.headroom + start
        return UnsafeMutableRawBufferPointer(rebasing: block[first..<first + min(limit, count)])
    }

    mutating func removeFirst(_ written: Int, to pool: BufferPool) {
        start += written
        count -= written
        if count == 0 {
            release(to: pool)
        }
    }

    mutating func release(to pool: BufferPool) {
        if let block { pool.give(block) }
        block = nil
        start = 0
        count = 0
    }

    private mutating func reserve(_ more: Int, from pool: BufferPool) {
        if let block, Self.headroom + start + count + more <= block.count { return }
        let bigger = pool.take(Self.headroom + count + more)
        if count > 0 {
            bigger.baseAddress!.advanced(by: Self.headroom)
                .copyMemory(from: block!.baseAddress!.advanced(by: Self.headroom + start), byteCount: count)
        }
        if let block { pool.give(block) }
        block = bigger
        start = 0
    }
}
