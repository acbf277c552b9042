/// Compresses one message of the legacy dialect. RelayCore knows no zlib; its user brings it.
package protocol FrameCompressor: Sendable {
    /// - Returns: one complete raw DEFLATE stream (RFC 1951), its last block marked as final.
    mutating func compress(_ bytes: ArraySlice<UInt8>) -> [UInt8]
}
