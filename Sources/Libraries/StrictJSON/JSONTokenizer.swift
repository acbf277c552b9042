import WireText

/// Splits a JSON text (RFC 8259) into tokens and verifies its grammar, without recursion and without building anything.
/// It keeps to its ``JSONBounds``, but for the text's length and repeated names, which ``JSONReader`` judges.
///
/// It is stricter than the grammar in one point: half a surrogate pair (`"\ud800"`) is refused, because valid UTF-8
/// can't encode it.
package struct JSONTokenizer {
    package enum Token: Hashable {
        case beginObject, endObject, beginArray, endArray
        /// A member's name; its colon has been consumed.
        case name(StringToken)
        case string(StringToken)
        /// The number's position in the text.
        case number(Range<Int>)
        case bool(Bool)
        case null
    }

    package struct StringToken: Hashable {
        /// The bytes between the quotation marks.
        package let range: Range<Int>
        package let hasEscapes: Bool
    }

    private enum Expectation {
        case value
        case valueOrEndArray
        case name
        case nameOrEndObject
        case commaOrEnd
        case end
    }

    private let text: ArraySlice<UInt8>
    private let bounds: JSONBounds
    private var position: Int
    private var expectation = Expectation.value
    /// The open containers, the innermost in the lowest bit: 1 for an object, 0 for an array.
    private var open: UInt64 = 0
    package private(set) var depth = 0
    /// Values that have begun.
    private var values = 0

    package init(_ text: ArraySlice<UInt8>, within bounds: JSONBounds) {
        self.text = text
        self.bounds = bounds
        position = text.startIndex
    }

    /// The next token; nil after the text's only value.
    package mutating func next() throws(JSONDefect) -> Token? {
        skipSpace()
        if expectation == .commaOrEnd, text.indices.contains(position), text[position] == UInt8(ascii: ",") {
            position += 1
            skipSpace()
            expectation = isInObject ? .name : .value
        }
        guard position < text.endIndex else {
            if awaitsValue { try countValue() }
            guard expectation == .end else { throw .unexpectedEnd }
            return nil
        }
        return try token(at: text[position])
    }

    private var awaitsValue: Bool { expectation == .value || expectation == .valueOrEndArray }

    private mutating func countValue() throws(JSONDefect) {
        guard values < bounds.maximumValues else { throw .tooManyValues }
        values += 1
    }

    private mutating func token(at byte: UInt8) throws(JSONDefect) -> Token {
        if byte == UInt8(ascii: "}"), mayEndObject { return close(.endObject) }
        if byte == UInt8(ascii: "]"), mayEndArray { return close(.endArray) }
        switch expectation {
        case .value, .valueOrEndArray: return try value(at: byte)
        case .name, .nameOrEndObject: return try name(at: byte)
        case .commaOrEnd, .end: throw unexpected
        }
    }

    private var mayEndObject: Bool { expectation == .nameOrEndObject || (expectation == .commaOrEnd && isInObject) }

    private var mayEndArray: Bool { expectation == .valueOrEndArray || (expectation == .commaOrEnd && !isInObject) }

    private mutating func value(at byte: UInt8) throws(JSONDefect) -> Token {
        try countValue()
        switch byte {
        case UInt8(ascii: "{"): return try begin(.beginObject)
        case UInt8(ascii: "["): return try begin(.beginArray)
        case UInt8(ascii: "\""): return complete(.string(try string()))
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return complete(.number(try number()))
        case UInt8(ascii: "t"): return complete(try literal("true", .bool(true)))
        case UInt8(ascii: "f"): return complete(try literal("false", .bool(false)))
        case UInt8(ascii: "n"): return complete(try literal("null", .null))
        default: throw unexpected
        }
    }

    private var unexpected: JSONDefect { .unexpectedByte(at: position - text.startIndex) }

    // MARK: Structure

    private var isInObject: Bool { open & 1 == 1 }

    private mutating func begin(_ token: Token) throws(JSONDefect) -> Token {
        guard depth < bounds.maximumDepth else { throw .tooDeep }
        position += 1
        depth += 1
        open = open << 1 | (token == .beginObject ? 1 : 0)
        expectation = token == .beginObject ? .nameOrEndObject : .valueOrEndArray
        return token
    }

    private mutating func close(_ token: Token) -> Token {
        position += 1
        depth -= 1
        open >>= 1
        return complete(token)
    }

    private mutating func complete(_ token: Token) -> Token {
        expectation = depth == 0 ? .end : .commaOrEnd
        return token
    }

    private mutating func name(at byte: UInt8) throws(JSONDefect) -> Token {
        guard byte == UInt8(ascii: "\"") else { throw unexpected }
        let name = try string()
        skipSpace()
        guard position < text.endIndex else { throw .unexpectedEnd }
        guard text[position] == UInt8(ascii: ":") else { throw unexpected }
        position += 1
        expectation = .value
        return .name(name)
    }

    private mutating func skipSpace() {
        while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    // MARK: Scalars

    private mutating func literal(_ word: String, _ token: Token) throws(JSONDefect) -> Token {
        for byte in word.utf8 {
            guard position < text.endIndex else { throw .unexpectedEnd }
            guard text[position] == byte else { throw unexpected }
            position += 1
        }
        return token
    }

    private mutating func number() throws(JSONDefect) -> Range<Int> {
        let start = position
        if peek == UInt8(ascii: "-") { position += 1 }
        if peek == UInt8(ascii: "0") { position += 1 } else { try digits(from: start) }
        if peek == UInt8(ascii: ".") {
            position += 1
            try digits(from: start)
        }
        if peek == UInt8(ascii: "e") || peek == UInt8(ascii: "E") {
            position += 1
            if peek == UInt8(ascii: "+") || peek == UInt8(ascii: "-") { position += 1 }
            try digits(from: start)
        }
        guard position - start <= bounds.maximumNumberBytes else { throw .malformedNumber(at: start - text.startIndex) }
        return start..<position
    }

    private var peek: UInt8? { position < text.endIndex ? text[position] : nil }

    /// One or more digits.
    private mutating func digits(from start: Int) throws(JSONDefect) {
        let first = position
        while let digit = peek, ASCIIByte.isDigit(digit) { position += 1 }
        guard position > first else { throw .malformedNumber(at: start - text.startIndex) }
    }
}

// MARK: Strings

extension JSONTokenizer {
    private mutating func string() throws(JSONDefect) -> StringToken {
        let opening = position - text.startIndex
        position += 1
        let start = position
        var hasEscapes = false
        var isASCII = true
        while position < text.endIndex {
            let byte = text[position]
            switch byte {
            case UInt8(ascii: "\""):
                let range = start..<position
                guard isASCII || text[range].isValidUTF8 else { throw .malformedString(at: opening) }
                position += 1
                return StringToken(range: range, hasEscapes: hasEscapes)
            case UInt8(ascii: "\\"):
                hasEscapes = true
                guard skipEscape() else { throw .malformedString(at: opening) }
            case 0..<0x20: throw .malformedString(at: opening)
            default:
                if byte >= 0x80 { isASCII = false }
                position += 1
            }
        }
        throw .unexpectedEnd
    }

    /// False for an unknown escape or half a surrogate pair.
    private mutating func skipEscape() -> Bool {
        guard let kind = text.byte(at: position + 1) else { return false }
        guard kind == UInt8(ascii: "u") else {
            position += 2
            return JSONEscape.meaning(of: kind) != nil
        }
        guard let scalar = JSONEscape.scalar(in: text, at: position) else { return false }
        position += scalar.length
        return true
    }
}

/// The escapes of a JSON string (RFC 8259 §7).
enum JSONEscape {
    /// The byte that `\` and `letter` encode.
    static func meaning(of letter: UInt8) -> UInt8? {
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): letter
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: nil
        }
    }

    /// The character written as `\uXXXX`, or as two of them if it is outside the basic plane.
    static func scalar(in text: ArraySlice<UInt8>, at position: Int) -> (scalar: Unicode.Scalar, length: Int)? {
        guard let first = unit(in: text, at: position) else { return nil }
        if let scalar = Unicode.Scalar(first) { return (scalar, 6) }
        guard (0xD800..<0xDC00).contains(first), let second = unit(in: text, at: position + 6),
            (0xDC00..<0xE000).contains(second)
        else { return nil }
        let value = 0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00)
        return Unicode.Scalar(value).map { ($0, 12) }
    }

    private static func unit(in text: ArraySlice<UInt8>, at position: Int) -> UInt16? {
        guard text.byte(at: position) == UInt8(ascii: "\\"), text.byte(at: position + 1) == UInt8(ascii: "u") else {
            return nil
        }
        var unit: UInt16 = 0
        for offset in 2..<6 {
            guard let digit = text.byte(at: position + offset).flatMap(Hexadecimal.value) else { return nil }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }
}
