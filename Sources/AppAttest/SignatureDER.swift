/// Reads an ECDSA signature over P-256 in DER (RFC 3279, section 2.2.3): `SEQUENCE { r INTEGER, s INTEGER }`.
///
/// Only one encoding is accepted for each number from 1 to 2²⁵⁶ − 1: minimal lengths, no unnecessary zeros, no sign, no trailing
/// bytes. The signature verifier checks whether the numbers are below the order of the curve.
enum SignatureDER {
    private static let numberLength = 32
    private static let sequence: UInt8 = 0x30
    private static let integer: UInt8 = 0x02

    /// - Returns: r and s as 32 bytes each, big-endian; nil for anything else.
    static func rawRepresentation(of bytes: [UInt8]) -> [UInt8]? {
        var rest = bytes[...]
        guard var numbers = content(sequence, consuming: &rest), rest.isEmpty,
            let r = content(integer, consuming: &numbers).flatMap(positive),
            let s = content(integer, consuming: &numbers).flatMap(positive), numbers.isEmpty
        else { return nil }
        var raw: [UInt8] = []
        raw.reserveCapacity(2 * numberLength)
        for number in [r, s] { raw += repeatElement(0, count: numberLength - number.count) + number }
        return raw
    }

    /// The content of an item with a one-byte length: a signature has at most 72 bytes.
    private static func content(_ tag: UInt8, consuming bytes: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard bytes.popFirst() == tag, let length = bytes.popFirst(), length < 0x80, length <= bytes.count else {
            return nil
        }
        defer { bytes = bytes.dropFirst(Int(length)) }
        return bytes.prefix(Int(length))
    }

    /// The magnitude, without the leading zero that keeps its first bit from being a sign.
    private static func positive(_ content: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard let first = content.first, first < 0x80 else { return nil }
        let magnitude = first == 0 ? content.dropFirst() : content
        guard let leading = magnitude.first, first != 0 || leading >= 0x80 else { return nil }
        return magnitude.count <= numberLength ? magnitude : nil
    }
}
