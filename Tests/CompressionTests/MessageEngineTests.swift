import CZlib
import Compression
import Testing
import WebSocketWire

/// Counts what zlib allocates for a stream.
private func allocated(_ body: (UnsafeMutablePointer<z_stream>) throws -> Void) rethrows -> Int {
    let total = UnsafeMutablePointer<Int>.allocate(capacity: 1)
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    total.initialize(to: 0)
    stream.initialize(to: z_stream())
    defer {
        total.deallocate()
        stream.deallocate()
    }
    stream.pointee.opaque = UnsafeMutableRawPointer(total)
    stream.pointee.zalloc = { opaque, items, size in
        opaque?.assumingMemoryBound(to: Int.self).pointee += Int(items * size)
        return .allocate(byteCount: Int(items * size), alignment: 16)
    }
    stream.pointee.zfree = { _, address in address?.deallocate() }
    try body(stream)
    return total.pointee + MemoryLayout<z_stream>.size
}

@Suite("The engines of permessage-deflate")
struct MessageEngineTests {
    /// The statement is never below what zlib takes, and at most a KiB above.
    @Test(arguments: 9...15)
    func `state an inflater's memory`(windowBits: Int) throws {
        let payload = Sample.mixed(100_000)
        var compressed = [UInt8](repeating: 0, count: MessageDeflateEngine.bound(payload.count))
        var span = compressed.mutableSpan
        let count = try MessageDeflateEngine(windowBits: windowBits, memoryLevel: 8, level: 6)
            .deflate(payload.span, into: &span)
        var output = [UInt8](repeating: 0, count: 1_000)
        let real = allocated { stream in
            #expect(inflateInit2_(stream, -CInt(windowBits), ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size)) == Z_OK)
            compressed.withUnsafeMutableBufferPointer { input in
                stream.pointee.next_in = input.baseAddress
                stream.pointee.avail_in = uInt(count)
                while stream.pointee.avail_in > 0 {
                    output.withUnsafeMutableBufferPointer { room in
                        stream.pointee.next_out = room.baseAddress
                        stream.pointee.avail_out = uInt(room.count)
                        #expect(inflate(stream, Z_SYNC_FLUSH) == Z_OK)
                    }
                }
            }
            inflateEnd(stream)
        }
        let stated = MessageInflateEngine.bytes(windowBits: windowBits)
        #expect(real > 1 << windowBits && real <= stated && stated - real <= 1_024, "\(real) of \(stated)")
    }

    @Test(arguments: 9...15)
    func `state a deflater's memory`(windowBits: Int) {
        for memoryLevel in 1...9 {
            let real = allocated { stream in
                let status = deflateInit2_(
                    stream, 6, Z_DEFLATED, -CInt(windowBits), CInt(memoryLevel), Z_DEFAULT_STRATEGY, ZLIB_VERSION,
                    CInt(MemoryLayout<z_stream>.size))
                #expect(status == Z_OK)
                deflateEnd(stream)
            }
            let stated = MessageDeflateEngine.bytes(windowBits: windowBits, memoryLevel: memoryLevel)
            #expect(real <= stated && stated - real <= 1_024, "\(real) of \(stated), level \(memoryLevel)")
        }
    }

    @Test(arguments: 9...15)
    func `fit incompressible data into the stated bound`(windowBits: Int) throws {
        for memoryLevel in 1...9 {
            let engine = try MessageDeflateEngine(windowBits: windowBits, memoryLevel: memoryLevel, level: 9)
            for count in [1, 2, 63, 500, 5_000, 70_000] {
                let payload = noise(count)
                var output = [UInt8](repeating: 0, count: MessageDeflateEngine.bound(count))
                var span = output.mutableSpan
                let written = try engine.deflate(payload.span, into: &span)
                #expect(output[..<written].suffix(4) == [0x00, 0x00, 0xFF, 0xFF])
            }
        }
    }

    @Test func `refuse to deflate into too little room`() throws {
        let engine = try MessageDeflateEngine(windowBits: 15, memoryLevel: 8, level: 6)
        var output = [UInt8](repeating: 0, count: 50)
        #expect(throws: (any Error).self) {
            var span = output.mutableSpan
            _ = try engine.deflate(noise(1_000).span, into: &span)
        }
    }

    @Test func `say where a block ends, however often they are asked`() throws {
        let engine = try MessageInflateEngine(windowBits: 15)
        var output = [UInt8](repeating: 0, count: 5)
        func step(_ bytes: [UInt8]) throws -> Bool {
            var span = output.mutableSpan
            return try engine.inflate(bytes.span, into: &span).isBetweenBlocks
        }
        #expect(try !step([0xF2, 0x48, 0xCD]))
        #expect(try !step([0xC9, 0xC9, 0x07, 0x00]))
        #expect(try step([0x00, 0x00, 0xFF, 0xFF]))
        #expect(try step([]))
        #expect(try !step([0xF2]))
    }

    /// Empty final blocks of two bytes: each ends a stream of zlib's.
    @Test func `continue after any number of final blocks`() throws {
        let engine = try MessageInflateEngine(windowBits: 15)
        let blocks = [[UInt8]](repeating: [0x03, 0x00], count: 50_000).flatMap { $0 }
        var output = [UInt8](repeating: 0, count: 10)
        var span = output.mutableSpan
        let step = try engine.inflate(blocks.span, into: &span)
        #expect(step.taken == blocks.count && step.written == 0)
    }

    @Test func `take an input and give an output of any size in one call`() throws {
        let payload = [UInt8](repeating: 7, count: 3_000_000) + noise(500_000)
        var compressed = [UInt8](repeating: 0, count: MessageDeflateEngine.bound(payload.count))
        var room = compressed.mutableSpan
        let engine = try MessageDeflateEngine(windowBits: 15, memoryLevel: 8, level: 1)
        let count = try engine.deflate(payload.span, into: &room)
        var output = [UInt8](repeating: 0, count: payload.count)
        var span = output.mutableSpan
        let step = try MessageInflateEngine(windowBits: 15).inflate(
            compressed.span.extracting(0..<count), into: &span)
        #expect(step.taken == count && step.written == payload.count && output == payload)
    }

    @Test func `forget everything when they are reset`() throws {
        let deflater = try MessageDeflateEngine(windowBits: 15, memoryLevel: 8, level: 6)
        func message(_ text: String) throws -> [UInt8] {
            var output = [UInt8](repeating: 0, count: 200)
            var span = output.mutableSpan
            let count = try deflater.deflate(Array(text.utf8).span, into: &span)
            return Array(output.prefix(count))
        }
        let first = try message("Hello")
        let second = try message("Hello")
        #expect(second.count < first.count)
        deflater.reset()
        #expect(try message("Hello") == first)

        let inflater = try MessageInflateEngine(windowBits: 15)
        var output = [UInt8](repeating: 0, count: 10)
        var span = output.mutableSpan
        _ = try inflater.inflate(Array(first.dropLast(6)).span, into: &span)
        inflater.reset()
        #expect(try inflater.inflate(first.span, into: &span).written == 5)
        inflater.reset()
        #expect(throws: (any Error).self) { try inflater.inflate(second.span, into: &span) }
    }
}

/// Bytes that don't compress, the same ones each time.
private func noise(_ count: Int) -> [UInt8] {
    var state: UInt32 = 1
    return (0..<count).map { _ in
        state = state &* 1_664_525 &+ 1_013_904_223
        return UInt8(state >> 24)
    }
}
