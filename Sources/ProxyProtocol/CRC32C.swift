/// The checksum of a version 2 header (section 2.2.3): CRC-32C (Castagnoli), as in RFC 9260 appendix A.
enum CRC32C {
    /// The polynomial 0x1EDC6F41 with its bits reversed.
    private static let polynomial: UInt32 = 0x82f6_3b78

    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { rest, _ in rest & 1 == 1 ? rest >> 1 ^ polynomial : rest >> 1 }
    }

    static func checksum(of bytes: some Sequence<UInt8>) -> UInt32 {
        ~bytes.reduce(UInt32.max) { rest, byte in
            table[Int(UInt8(truncatingIfNeeded: rest) ^ byte)] ^ rest >> 8
        }
    }
}
