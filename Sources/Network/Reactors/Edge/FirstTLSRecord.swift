/// Checks whether a peer's first bytes are the header of a TLS record that can answer a ClientHello (RFC 8446 §5.1).
/// The bytes may be split anywhere.
struct FirstTLSRecord {
    private var seen = 0

    /// At least one byte has arrived, and all bytes so far are valid TLS.
    var hasBegun: Bool { seen > 0 }

    /// - Returns: false from the first byte that can't be TLS.
    mutating func accepts(_ bytes: UnsafeRawBufferPointer) -> Bool {
        for byte in bytes.prefix(Self.headerBytes - seen) {
            guard Self.isPossible(byte, at: seen) else { return false }
            seen += 1
        }
        return true
    }

    private static let headerBytes = 3

    private static func isPossible(_ byte: UInt8, at index: Int) -> Bool {
        switch index {
        case 0: byte == alert || byte == handshake
        case 1: byte == 3
        default: byte <= 4
        }
    }

    private static let alert: UInt8 = 21
    private static let handshake: UInt8 = 22
}
