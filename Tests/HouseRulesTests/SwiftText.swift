/// Swift source taken apart, as far as the house rules need it: its tokens without comments and strings, and its
/// comments.
///
/// It is no parser. Names, operators and brackets are enough to recognise what the rules forbid; code inside a string's
/// interpolation counts as code. Regular expression literals aren't understood: a quotation mark in one ends with its
/// line.
struct SwiftText {
    struct Token: Equatable {
        /// A whole name or number, a name between backticks, or a single character of punctuation.
        let text: String
        /// Counted from 1.
        let line: Int
    }

    private(set) var tokens: [Token] = []
    /// Words of the comments, with their lines.
    private(set) var commentWords: [Token] = []

    private let bytes: [UInt8]
    private var position = 0
    private var line = 1

    init(_ source: String) {
        bytes = Array(source.utf8)
        scanCode(untilParenthesis: false)
    }

    /// The lines at which the tokens `pattern` follow one another, whatever space lies between.
    func lines(of pattern: [String]) -> [Int] {
        guard let first = pattern.first, tokens.count >= pattern.count else { return [] }
        return (0...(tokens.count - pattern.count)).compactMap { start in
            guard tokens[start].text == first else { return nil }
            return pattern.indices.allSatisfy { tokens[start + $0].text == pattern[$0] } ? tokens[start].line : nil
        }
    }
}

extension SwiftText {
    private func byte(_ offset: Int = 0) -> UInt8? {
        bytes.indices.contains(position + offset) ? bytes[position + offset] : nil
    }

    private func starts(with text: StaticString) -> Bool {
        text.withUTF8Buffer { bytes[min(position, bytes.count)...].starts(with: $0) }
    }

    private mutating func advance(_ count: Int = 1) {
        for _ in 0..<count where position < bytes.count {
            if bytes[position] == UInt8(ascii: "\n") { line += 1 }
            position += 1
        }
    }

    private mutating func scanCode(untilParenthesis: Bool) {
        var depth = 0
        while let current = byte() {
            if starts(with: "//") {
                scanLineComment()
            } else if starts(with: "/*") {
                scanBlockComment()
            } else if current == UInt8(ascii: "\"") || (current == UInt8(ascii: "#") && isRawString) {
                scanString()
            } else if let word = scanRawIdentifier() ?? scanWord() {
                tokens.append(word)
            } else {
                if current == UInt8(ascii: "(") { depth += 1 }
                if current == UInt8(ascii: ")") {
                    depth -= 1
                    if untilParenthesis, depth < 0 { return advance() }
                }
                if current > 0x20 { tokens.append(Token(text: String(UnicodeScalar(current)), line: line)) }
                advance()
            }
        }
    }

    /// A run of letters, digits, underscores and anything beyond ASCII.
    private mutating func scanWord() -> Token? {
        let start = position
        while let current = byte(),
            (0x30...0x39).contains(current) || (0x41...0x5A).contains(current) || (0x61...0x7A).contains(current)
                || current == UInt8(ascii: "_") || current > 0x7F
        { position += 1 }
        guard position > start else { return nil }
        return Token(text: String(decoding: bytes[start..<position], as: UTF8.self), line: line)
    }

    /// A name between backticks, with them. It may contain spaces.
    private mutating func scanRawIdentifier() -> Token? {
        guard byte() == UInt8(ascii: "`") else { return nil }
        let rest = bytes[(position + 1)...].prefix { $0 != UInt8(ascii: "\n") }
        guard let end = rest.firstIndex(of: UInt8(ascii: "`")) else { return nil }
        defer { position = end + 1 }
        return Token(text: String(decoding: bytes[position...end], as: UTF8.self), line: line)
    }

    private mutating func scanLineComment() {
        while let current = byte(), current != UInt8(ascii: "\n") { scanComment() }
    }

    private mutating func scanBlockComment() {
        advance(2)
        while byte() != nil {
            if starts(with: "*/") { return advance(2) }
            if starts(with: "/*") { scanBlockComment() } else { scanComment() }
        }
    }

    private mutating func scanComment() {
        if let word = scanWord() { commentWords.append(word) } else { advance() }
    }

    /// `#` begins a raw string if only further `#` follow before a quotation mark.
    private var isRawString: Bool {
        var offset = 0
        while byte(offset) == UInt8(ascii: "#") { offset += 1 }
        return byte(offset) == UInt8(ascii: "\"")
    }

    private mutating func scanString() {
        var hashes = 0
        while byte() == UInt8(ascii: "#") {
            hashes += 1
            advance()
        }
        // The text of a longer string begins on the next line. `#"""#` is a quotation mark.
        let marks = starts(with: "\"\"\"\n") ? 3 : 1
        advance(marks)
        while let current = byte() {
            if current == UInt8(ascii: "\\"), follows(UInt8(ascii: "#"), times: hashes, from: 1) {
                advance(1 + hashes)
                let isInterpolation = byte() == UInt8(ascii: "(")
                advance()
                if isInterpolation { scanCode(untilParenthesis: true) }
            } else if follows(UInt8(ascii: "\""), times: marks, from: 0),
                follows(UInt8(ascii: "#"), times: hashes, from: marks)
            {
                return advance(marks + hashes)
            } else if marks == 1, current == UInt8(ascii: "\n") {
                return
            } else {
                advance()
            }
        }
    }

    private func follows(_ value: UInt8, times: Int, from offset: Int) -> Bool {
        (0..<times).allSatisfy { byte(offset + $0) == value }
    }
}
