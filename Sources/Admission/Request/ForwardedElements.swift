/// A list whose parts are taken off from the right, where the nearest proxy wrote.
///
/// It is cut at bytes, never at `Character`s: a client may end its own part with a scalar that would swallow the separator behind it
/// (U+0600), and so hide the proxy's part in its own. For the same reason quotes are matched from the right: a quote that the client
/// doesn't close takes in its own part alone.
struct ForwardedElements {
    private var rest: Substring?
    private let separator: UInt8
    private let hasQuotes: Bool
    /// The last part that was taken, the text's first, holds a quote that isn't closed.
    private(set) var hasOpenQuote = false

    /// - Parameter hasQuotes: separators within quoted strings part nothing.
    init(_ text: some StringProtocol, separator: UInt8, hasQuotes: Bool) {
        rest = Substring(text)
        self.separator = separator
        self.hasQuotes = hasQuotes
    }

    /// The part behind the last separator; the whole of what is left where there is none.
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

    /// An odd number of backslashes stands before it.
    private static func isEscaped(_ index: Substring.Index, in bytes: Substring.UTF8View) -> Bool {
        bytes[..<index].reversed().prefix { $0 == UInt8(ascii: "\\") }.count % 2 == 1
    }
}
