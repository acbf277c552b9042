/// Reads one JSON object (RFC 8259) strictly and within the caller's ``JSONBounds``.
///
/// Foundation's decoder takes the last or the first of two members with one name, depending on its API. Two servers could then read
/// different claims out of one signed text, so duplicate members are refused here, and so is everything else that parsers disagree about.
package struct JSONReader {
    private let text: [UInt8]
    private let bounds: JSONBounds
    private var position = 0
    private var depth = 0
    private var values = 0

    package static func readObject(_ text: [UInt8], within bounds: JSONBounds) throws(JSONDefect) -> JSONObject {
        guard text.count <= bounds.maximumBytes else { throw .tooLong }
        var reader = JSONReader(text, bounds)
        let value = try reader.value()
        reader.skipSpace()
        guard reader.position == text.count else { throw .unexpectedByte(at: reader.position) }
        guard let object = value.object else { throw .notAnObject }
        return object
    }

    private init(_ text: [UInt8], _ bounds: JSONBounds) { (self.text, self.bounds) = (text, bounds) }

    private var peek: UInt8? { position < text.count ? text[position] : nil }

    private var unexpected: JSONDefect { position < text.count ? .unexpectedByte(at: position) : .unexpectedEnd }

    private mutating func skipSpace() {
        while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard peek == byte else { return false }
        position += 1
        return true
    }

    // MARK: Values

    private mutating func value() throws(JSONDefect) -> JSONValue {
        skipSpace()
        values += 1
        guard values <= bounds.maximumValues else { throw .tooManyValues }
        guard let byte = peek else { throw .unexpectedEnd }
        switch byte {
        case UInt8(ascii: "{"): return .object(try object())
        case UInt8(ascii: "["): return .array(try array())
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try number())
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        default: throw unexpected
        }
    }

    private mutating func literal(_ word: String, _ value: JSONValue) throws(JSONDefect) -> JSONValue {
        for byte in word.utf8 { guard take(byte) else { throw unexpected } }
        return value
    }

    private mutating func enter() throws(JSONDefect) {
        position += 1
        depth += 1
        guard depth <= bounds.maximumDepth else { throw .tooDeep }
        skipSpace()
    }

    private mutating func object() throws(JSONDefect) -> JSONObject {
        try enter()
        var object = JSONObject()
        if !take(UInt8(ascii: "}")) {
            repeat {
                skipSpace()
                let start = position
                guard peek == UInt8(ascii: "\"") else { throw unexpected }
                let name = try string()
                skipSpace()
                guard take(UInt8(ascii: ":")) else { throw unexpected }
                guard object.add(name, try value()) else { throw .duplicateMember(at: start) }
                skipSpace()
            } while take(UInt8(ascii: ","))
            guard take(UInt8(ascii: "}")) else { throw unexpected }
        }
        depth -= 1
        return object
    }

    private mutating func array() throws(JSONDefect) -> [JSONValue] {
        try enter()
        var elements: [JSONValue] = []
        if !take(UInt8(ascii: "]")) {
            repeat {
                elements.append(try value())
                skipSpace()
            } while take(UInt8(ascii: ","))
            guard take(UInt8(ascii: "]")) else { throw unexpected }
        }
        depth -= 1
        return elements
    }

    // MARK: Numbers

    private mutating func number() throws(JSONDefect) -> String {
        let start = position
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try digits(of: start) }
        if take(UInt8(ascii: ".")) { try digits(of: start) }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try digits(of: start)
        }
        guard position - start <= bounds.maximumNumberBytes else { throw .malformedNumber(at: start) }
        return String(decoding: text[start..<position], as: UTF8.self)
    }

    /// One digit or more.
    private mutating func digits(of start: Int) throws(JSONDefect) {
        let first = position
        while let byte = peek, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
        guard position > first else { throw .malformedNumber(at: start) }
    }

    // MARK: Strings

    private mutating func string() throws(JSONDefect) -> String {
        let opening = position
        position += 1
        let start = position
        while let byte = peek, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 { position += 1 }
        var content: [UInt8]?
        while let byte = peek, byte != UInt8(ascii: "\"") {
            guard byte >= 0x20 else { throw .malformedString(at: opening) }
            if content == nil { content = Array(text[start..<position]) }
            if byte == UInt8(ascii: "\\") {
                guard let bytes = escape() else { throw .malformedString(at: opening) }
                content?.append(contentsOf: bytes)
            } else {
                content?.append(byte)
                position += 1
            }
        }
        let range = start..<position
        guard take(UInt8(ascii: "\"")) else { throw .unexpectedEnd }
        guard let string = Self.decoded(content.map { $0[...] } ?? text[range]) else {
            throw .malformedString(at: opening)
        }
        return string
    }

    /// Whatever isn't UTF-8 is decoded as other bytes. `String(validating:)` needs macOS 15.
    private static func decoded(_ bytes: ArraySlice<UInt8>) -> String? {
        let string = String(decoding: bytes, as: UTF8.self)
        return string.utf8.elementsEqual(bytes) ? string : nil
    }

    /// The character of the escape at the position; nil if it isn't one, or is half a surrogate pair.
    private mutating func escape() -> [UInt8]? {
        position += 1
        guard let letter = peek else { return nil }
        position += 1
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [letter]
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "f"): return [0x0C]
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "u"): return scalar().flatMap { UTF8.encode($0) }.map(Array.init)
        default: return nil
        }
    }

    private mutating func scalar() -> Unicode.Scalar? {
        guard let first = unit() else { return nil }
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard (0xD800..<0xDC00).contains(first), take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")), let second = unit(),
            (0xDC00..<0xE000).contains(second)
        else { return nil }
        return Unicode.Scalar(0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00))
    }

    /// Four hexadecimal digits.
    private mutating func unit() -> UInt16? {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = peek, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { return nil }
            unit = unit << 4 | UInt16(digit)
            position += 1
        }
        return unit
    }
}
