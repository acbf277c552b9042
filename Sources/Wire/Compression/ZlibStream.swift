import CZlib

/// zlib's `z_stream` at a fixed address, because zlib's own state points back to it.
struct ZlibStream: ~Copyable {
    private let pointer: UnsafeMutablePointer<z_stream>
    private let end: (UnsafeMutablePointer<z_stream>) -> Void

    /// - Parameters:
    ///   - initialize: zlib's initialiser, which returns `Z_OK` or an error.
    ///   - end: the matching zlib cleanup. It is called once, and only if the initialiser succeeded.
    init(
        initialize: (UnsafeMutablePointer<z_stream>) -> CInt, end: @escaping (UnsafeMutablePointer<z_stream>) -> Void
    ) throws(CompressionError) {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard initialize(stream) == Z_OK else {
            stream.deallocate()
            throw .outOfMemory
        }
        pointer = stream
        self.end = end
    }

    deinit {
        end(pointer)
        pointer.deallocate()
    }

    func withPointer<Result>(_ body: (UnsafeMutablePointer<z_stream>) -> Result) -> Result { body(pointer) }

    /// The result of one call into zlib.
    struct Run {
        let status: CInt
        let output: [UInt8]
    }

    /// Calls `body` once with `input` and room for `capacity` bytes, and removes the consumed bytes from the front of
    /// `input`.
    func run(
        _ input: inout ArraySlice<UInt8>, capacity: Int, _ body: (UnsafeMutablePointer<z_stream>) -> CInt
    ) -> Run {
        var status = Z_OK
        var taken = 0
        // zlib counts in 32 bits; the caller handles longer input in its next round.
        let window = input.prefix(Int(CInt.max))
        let output = [UInt8](unsafeUninitializedCapacity: min(capacity, Int(CInt.max))) { room, written in
            window.withUnsafeBufferPointer { bytes in
                pointer.pointee.next_in = UnsafeMutablePointer(mutating: bytes.baseAddress)
                pointer.pointee.avail_in = uInt(bytes.count)
                pointer.pointee.next_out = room.baseAddress
                pointer.pointee.avail_out = uInt(room.count)
                status = body(pointer)
                taken = bytes.count - Int(pointer.pointee.avail_in)
                written = room.count - Int(pointer.pointee.avail_out)
                // The buffers are borrowed for this call only.
                pointer.pointee.next_in = nil
                pointer.pointee.next_out = nil
            }
        }
        input.removeFirst(taken)
        return Run(status: status, output: output)
    }

    /// The result of one call into zlib that allocates no output.
    struct Step {
        let status: CInt
        let taken: Int
        let written: Int
    }

    /// Calls `body` once with `input` from `start` on and the room of `output` from `end` on. zlib counts in 32 bits;
    /// the caller handles the rest of longer input in its next step.
    func step(
        _ input: Span<UInt8>, _ start: Int, _ output: inout MutableSpan<UInt8>, _ end: Int,
        _ body: (UnsafeMutablePointer<z_stream>) -> CInt
    ) -> Step {
        input.withUnsafeBufferPointer { bytes in
            output.withUnsafeMutableBufferPointer { room in
                let (available, free) = (min(bytes.count - start, 1 << 30), min(room.count - end, 1 << 30))
                // zlib rejects a null pointer, even for zero bytes.
                var nothing: UInt8 = 0
                return withUnsafeMutablePointer(to: &nothing) { nothing in
                    let first = bytes.baseAddress.map { UnsafeMutablePointer(mutating: $0 + start) }
                    pointer.pointee.next_in = first ?? nothing
                    pointer.pointee.avail_in = uInt(available)
                    pointer.pointee.next_out = room.baseAddress.map { $0 + end } ?? nothing
                    pointer.pointee.avail_out = uInt(free)
                    let status = body(pointer)
                    let taken = available - Int(pointer.pointee.avail_in)
                    let written = free - Int(pointer.pointee.avail_out)
                    // The buffers are borrowed for this call only.
                    pointer.pointee.next_in = nil
                    pointer.pointee.next_out = nil
                    return Step(status: status, taken: taken, written: written)
                }
            }
        }
    }
}

package enum CompressionError: Error, Hashable, Sendable {
    /// The stream is damaged or not of the given format.
    case corrupt
    case outOfMemory
}
