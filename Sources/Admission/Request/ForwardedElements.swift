/// A list that is consumed from the right, where the nearest proxy appended its element.
///
/// It is split at bytes, never at `Character`s: a client could end its own element with a scalar that combines with the following separator
/// (U+0600), and so hide the proxy's element in its own. For the same reason quotes are matched from the right: an unclosed quote of the
/// client affects only its own element.
struct ForwardedElements {
    private var rest: Substring?
    private let separator: UInt8
    private let hasQuotes: Bool
    /// The last element that was taken, the first of the text, contains an unclosed quote.
    private(set) var hasOpenQuote = false

    /// - Parameter hasQuotes: whether separators within quoted strings are ignored.
    init(_ text: some StringProtocol, separator: UInt8, hasQuotes: Bool) {
        rest = Substring(text)
        self.separator = separator
        self.hasQuotes = hasQuotes
    }

    /// The element after the last separator; all remaining text if there is no separator.
    mutating func popLast() -> Substring? {
        guard let text = rest else { return nil }
        let bytes = text.utf8
        var isQuoted = false
        var index = bytes.endIndex
        while index > bytes.startIndex {
            bytes.formIndex(before: &index)
            if hasQuotes && bytes[index] == UInt8(ascii: "\"") && !Self.isEscaped(index, in: bytes) {
                isQuoted.toggle()
            } else if !isQuoted && bytes[index] == separator {
                rest = text[..<index]
                return text[bytes.index(after: index)...]
            }
        }
        rest = nil
        hasOpenQuote = isQuoted
        return text
    }

    /// An odd number of backslashes precedes it.
    private static func isEscaped(_ index: Substring.Index, in bytes: Substring.UTF8View) -> Bool {
        bytes[..<index].reversed().prefix { $0 == UInt8(ascii: "\\") }.count % 2 == 1
    }
}
