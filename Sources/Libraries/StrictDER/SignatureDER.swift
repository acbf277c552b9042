/// Reads an ECDSA signature in DER (RFC 3279, section 2.2.3): `SEQUENCE { r INTEGER, s INTEGER }`.
///
/// Only one encoding is accepted for each number from 1 to the largest of its length: minimal lengths, no unnecessary
/// zeros, no sign, no trailing bytes. The signature verifier checks whether the numbers are below the order of the
/// curve.
package enum SignatureDER {
    /// Bytes of r and of s on P-256.
    package static let numberLengthP256 = 32
    /// Bytes of r and of s on P-384.
    package static let numberLengthP384 = 48
    private static let sequence: UInt8 = 0x30
    private static let integer: UInt8 = 0x02

    /// - Parameter numberLength: of r and of s, at most 60 bytes.
    /// - Returns: r and s of that length each, big-endian; nil for anything else.
    package static func rawRepresentation(
        of bytes: [UInt8], numberLength: Int = numberLengthP256
    ) -> [UInt8]? {
        var rest = bytes[...]
        guard var numbers = content(sequence, consuming: &rest), rest.isEmpty,
            let r = content(integer, consuming: &numbers).flatMap(positive), r.count <= numberLength,
            let s = content(integer, consuming: &numbers).flatMap(positive), s.count <= numberLength, numbers.isEmpty
        else { return nil }
        var raw: [UInt8] = []
        raw.reserveCapacity(2 * numberLength)
        for number in [r, s] { raw += repeatElement(0, count: numberLength - number.count) + number }
        return raw
    }

    /// The content of an item with a one-byte length: a signature on P-384 has at most 104 bytes.
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
        return magnitude
    }
}
