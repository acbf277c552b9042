/// Texts of the server are compared as bytes: `String` would normalise them first, in time that grows with their
/// square.
extension StringProtocol {
    func isSame(as other: some StringProtocol) -> Bool { utf8.elementsEqual(other.utf8) }

    /// ASCII letters count as equal in upper and lower case.
    func isSameIgnoringCase(as other: some StringProtocol) -> Bool {
        utf8.elementsEqual(other.utf8) { $0.lowercasedASCII == $1.lowercasedASCII }
    }

    /// Whether the ASCII `words`, which are in lower case, occur in the text in any case.
    func mentions(_ words: StaticString) -> Bool {
        words.withUTF8Buffer { words in
            let text = utf8.map(\.lowercasedASCII)
            guard !words.isEmpty, text.count >= words.count else { return words.isEmpty }
            return (0...text.count - words.count).contains { text[$0...].starts(with: words) }
        }
    }

    func beginsSame(as prefix: some StringProtocol) -> Bool { utf8.starts(with: prefix.utf8) }
}

extension UInt8 {
    var lowercasedASCII: UInt8 { (0x41...0x5A).contains(self) ? self | 0x20 : self }

    var isASCIIDigit: Bool { (0x30...0x39).contains(self) }

    var isASCIILetterOrDigit: Bool { isASCIIDigit || (0x61...0x7A).contains(lowercasedASCII) }

    /// `!` to `~`: what header fields may have without quoting or spaces.
    var isVisibleASCII: Bool { (0x21...0x7E).contains(self) }
}

extension Collection<UInt8> {
    /// The digits of a decimal number, without sign; nil for anything else, and above `maximum`.
    func decimal(upTo maximum: Int) -> Int? {
        guard !isEmpty, count <= 19, allSatisfy(\.isASCIIDigit) else { return nil }
        // 19 digits fit into 64 bits without a sign.
        let number = reduce(0 as UInt64) { $0 * 10 + UInt64($1 - 0x30) }
        return number <= UInt64(maximum) ? Int(number) : nil
    }
}
