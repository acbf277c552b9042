/// Text that is compared and hashed as its UTF-8 bytes, for everything that a peer may have sent.
///
/// Swift's `String` compares canonical equivalents: it normalises both texts first (Unicode Standard Annex 15), and
/// sorting n combining marks takes time in the order of n². `Character` does the same, and a single one may be as long
/// as the text. Bytes take linear time, and they are what specifications compare (RFC 7515 section 5.3, RFC 8259
/// section 8.3).
///
/// It has no `==` with `String`. A test of the house rules looks into the compiled code for comparisons of `String`,
/// `Substring` and `Character`.
package struct ByteText: Hashable, Sendable, Codable, ExpressibleByStringLiteral, CustomStringConvertible {
    package let text: String

    package init(_ text: String) { self.text = text }

    package init(stringLiteral text: String) { self.text = text }

    package init(from decoder: any Decoder) throws {
        text = try decoder.singleValueContainer().decode(String.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }

    package var description: String { text }

    package static func == (one: ByteText, other: ByteText) -> Bool { one.text.hasSameBytes(as: other.text) }

    package func hash(into hasher: inout Hasher) { hasher.combine(bytesOf: text) }
}

extension ByteText: Comparable {
    /// In the order of the bytes, which is that of the code points.
    package static func < (one: ByteText, other: ByteText) -> Bool {
        one.text.utf8.lexicographicallyPrecedes(other.text.utf8)
    }
}

/// A word of a protocol as a peer has sent it, for `switch`: short ASCII. All other text equals no word, itself
/// included.
package struct WireWord: Equatable, Sendable, ExpressibleByStringLiteral {
    /// Longer than every word of every protocol that is read here.
    package static let maximumBytes = 64

    /// nil: longer, or not ASCII.
    private let text: String?

    package init(_ text: some StringProtocol) {
        self.text = text.utf8.count <= Self.maximumBytes && text.utf8.allSatisfy { $0 < 0x80 } ? String(text) : nil
    }

    package init(stringLiteral text: String) { self.init(text) }

    package static func == (one: WireWord, other: WireWord) -> Bool {
        guard let one = one.text, let other = other.text else { return false }
        return one.hasSameBytes(as: other)
    }
}

extension RawRepresentable where Self: CaseIterable, RawValue == String {
    /// The case with this word. `init(rawValue:)` compares as `String` does, so it isn't for a peer's text.
    package init?(word: some StringProtocol) {
        guard let found = Self.allCases.first(where: { $0.rawValue.hasSameBytes(as: word) }) else { return nil }
        self = found
    }
}

extension StringProtocol {
    /// Compares the texts' bytes: the cost is bounded by the shorter text.
    @inlinable
    package func hasSameBytes(as other: some StringProtocol) -> Bool { utf8.elementsEqual(other.utf8) }

    @inlinable
    package func hasBytePrefix(_ prefix: some StringProtocol) -> Bool { utf8.starts(with: prefix.utf8) }

    /// Whether the text has this ASCII byte. UTF-8 has it for no other character.
    @inlinable
    package func hasByte(_ byte: UInt8) -> Bool { utf8.contains(byte) }

    /// The text without `count` bytes at its front, which are whole characters.
    @inlinable
    package func droppingBytes(_ count: Int) -> SubSequence { self[utf8.index(startIndex, offsetBy: count)...] }

    /// The parts between ASCII bytes that satisfy the predicate; empty parts are included.
    package func splitAtBytes(maxSplits: Int = .max, where isSeparator: (UInt8) -> Bool) -> [SubSequence] {
        var parts: [SubSequence] = []
        var start = startIndex
        var index = utf8.startIndex
        while index < utf8.endIndex, parts.count < maxSplits {
            let next = utf8.index(after: index)
            if isSeparator(utf8[index]) {
                parts.append(self[start..<index])
                start = next
            }
            index = next
        }
        parts.append(self[start...])
        return parts
    }
}

extension Sequence where Element: StringProtocol {
    /// Whether one of the texts has these bytes.
    package func containsBytes(of text: some StringProtocol) -> Bool { contains { $0.hasSameBytes(as: text) } }
}

extension Hasher {
    /// Feeds a text's bytes, and an end that no text has, so that two texts can't be divided differently.
    @inlinable
    package mutating func combine(bytesOf text: String) {
        for byte in text.utf8 { combine(byte) }
        combine(UInt8(0xFF))
    }
}
