import Compression

/// `bytes` as one zlib stream (RFC 1950): a header, raw DEFLATE, and Adler-32.
func zlibStream(of bytes: [UInt8], level: Int = 6) throws -> [UInt8] {
    var (low, high): (UInt32, UInt32) = (1, 0)
    for byte in bytes {
        low = (low + UInt32(byte)) % 65_521
        high = (high + low) % 65_521
    }
    let checksum = [high >> 8, high & 0xFF, low >> 8, low & 0xFF].map { UInt8($0) }
    return try [0x78, 0x9C] + RawDeflater(level: level).deflate(bytes) + checksum
}
