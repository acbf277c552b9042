/// Classes of ASCII bytes, and texts whose case doesn't matter. Bytes from 0x80 are in no class.
package enum ASCIIByte {
    @inlinable @inline(__always)
    package static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    @inlinable @inline(__always)
    package static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- UInt8(ascii: "a") < 26 }

    /// `WSP` of RFC 5234, and `OWS` of RFC 9110 section 5.6.3: space and tab.
    @inlinable @inline(__always)
    package static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    /// White space between the entries of the operator's lists: space, tab, and the bytes that end lines or pages.
    @inlinable @inline(__always)
    package static func isWhiteSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    @inlinable @inline(__always)
    package static func lowercased(_ byte: UInt8) -> UInt8 { byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte }

    /// `nil` for text that isn't ASCII: some other characters have an ASCII lower case (U+212A, the Kelvin sign,
    /// becomes `k`) and would be accepted in its place.
    package static func lowercased(_ text: String) -> String? {
        text.utf8.allSatisfy { $0 < 0x80 } ? withLowercasedLetters(text) : nil
    }

    /// The text with its ASCII letters in lower case, and its other bytes as they are.
    package static func withLowercasedLetters(_ text: some StringProtocol) -> String {
        String(decoding: text.utf8.map(lowercased), as: UTF8.self)
    }

    package static func withUppercasedLetters(_ text: some StringProtocol) -> String {
        String(decoding: text.utf8.map { isLetter($0) ? $0 & ~0x20 : $0 }, as: UTF8.self)
    }

    /// Whether two texts are equal, ignoring the case of ASCII letters. Other characters must have the same bytes.
    package static func isSame(_ left: some StringProtocol, _ right: some StringProtocol) -> Bool {
        left.utf8.elementsEqual(right.utf8) { lowercased($0) == lowercased($1) }
    }
}

extension BidirectionalCollection {
    /// Without the elements at both ends that satisfy the predicate.
    @inlinable
    package func trimmed(where isOuter: (Element) -> Bool) -> SubSequence {
        var end = endIndex
        while end > startIndex, isOuter(self[index(before: end)]) { end = index(before: end) }
        return self[..<end].drop(while: isOuter)
    }
}
