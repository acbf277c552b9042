/// The points of Curve25519 whose order divides 8 (RFC 8032, section 5.1), in all encodings: a key that is one of them
/// verifies signatures that nobody with a private key has made.
enum SmallOrderPoints {
    private static let signBit: UInt8 = 0x80

    /// The coordinate y, little endian, without the sign of x. 2^255 - 19 is p.
    private static let coordinates: [[UInt8]] = [
        // 0 and 1, and the same as p and p + 1; p - 1.
        number(0, 0, 0), number(1, 0, 0), number(0xED, 0xFF, 0x7F), number(0xEE, 0xFF, 0x7F), number(0xEC, 0xFF, 0x7F),
        // Those of order 8.
        [
            0x26, 0xE8, 0x95, 0x8F, 0xC2, 0xB2, 0x27, 0xB0, 0x45, 0xC3, 0xF4, 0x89, 0xF2, 0xEF, 0x98, 0xF0, 0xD5, 0xDF,
            0xAC, 0x05, 0xD3, 0xC6, 0x33, 0x39, 0xB1, 0x38, 0x02, 0x88, 0x6D, 0x53, 0xFC, 0x05,
        ],
        [
            0xC7, 0x17, 0x6A, 0x70, 0x3D, 0x4D, 0xD8, 0x4F, 0xBA, 0x3C, 0x0B, 0x76, 0x0D, 0x10, 0x67, 0x0F, 0x2A, 0x20,
            0x53, 0xFA, 0x2C, 0x39, 0xCC, 0xC6, 0x4E, 0xC7, 0xFD, 0x77, 0x92, 0xAC, 0x03, 0x7A,
        ],
    ]

    private static func number(_ lowest: UInt8, _ others: UInt8, _ highest: UInt8) -> [UInt8] {
        [lowest] + [UInt8](repeating: others, count: 30) + [highest]
    }

    /// - Parameter key: 32 bytes. It is public, so the time may depend on it.
    static func contains(_ key: [UInt8]) -> Bool {
        guard let last = key.last else { return false }
        return coordinates.contains(Array(key.dropLast()) + [last & ~signBit])
    }
}
