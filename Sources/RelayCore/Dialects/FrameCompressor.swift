/// Compresses one message of the legacy dialect. `RelayCore` doesn't depend on zlib; its user provides the implementation.
package protocol FrameCompressor {
    /// - Returns: one complete raw DEFLATE stream (RFC 1951), its last block marked as final; nil if there is no memory for it.
    func compress(_ bytes: [UInt8]) -> [UInt8]?
}

/// Raw DEFLATE without compression (RFC 1951 §3.2.4): every inflater reads it. It is the fallback if a compressor fails.
enum StoredDeflate {
    private static let maximumBlockBytes = 65_535

    static func stream(of bytes: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        var rest = bytes[...]
        repeat {
            let block = rest.prefix(maximumBlockBytes)
            rest = rest.dropFirst(block.count)
            let length = UInt16(block.count)
            output.append(rest.isEmpty ? 1 : 0)
            for word in [length, ~length] { output += [UInt8(word & 0xFF), UInt8(word >> 8)] }
            output += block
        } while !rest.isEmpty
        return output
    }
}
