/// A position in JSON text. Nested arrays and objects are passed over without recursion.
struct JSONCursor {
    typealias Fault = JSONMembers.Fault

    private let bytes: [UInt8]
    private(set) var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { position == bytes.count }

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    mutating func skipSpace() {
        while let byte = current, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    mutating func take(_ byte: UInt8) -> Bool {
        guard current == byte else { return false }
        position += 1
        return true
    }

    mutating func expect(_ byte: UInt8) throws(Fault) {
        guard take(byte) else { throw .malformed }
    }

    mutating func value(maximumDepth: Int) throws(Fault) -> JSONMembers.Value {
        switch current {
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            try skipNested(maximumDepth: maximumDepth)
            return .nested
        default: return try scalar()
        }
    }

    private mutating func scalar() throws(Fault) -> JSONMembers.Value {
        if takeWord("null") { return .null }
        if takeWord("true") { return .boolean(true) }
        if takeWord("false") { return .boolean(false) }
        return try number()
    }

    private mutating func takeWord(_ word: StaticString) -> Bool {
        let isHere = word.withUTF8Buffer { bytes[position...].starts(with: $0) }
        if isHere { position += word.utf8CodeUnitCount }
        return isHere
    }

    private mutating func number() throws(Fault) -> JSONMembers.Value {
        let isNegative = take(UInt8(ascii: "-"))
        let digits = try digits()
        guard digits.count == 1 || digits.first != UInt8(ascii: "0") else { throw .malformed }
        var isInteger = true
        if take(UInt8(ascii: ".")) {
            _ = try self.digits()
            isInteger = false
        }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            _ = try self.digits()
            isInteger = false
        }
        guard isInteger, let value = digits.decimal(upTo: .max) else { return .number }
        return .integer(Int64(isNegative ? -value : value))
    }

    private mutating func digits() throws(Fault) -> ArraySlice<UInt8> {
        let start = position
        while let byte = current, byte.isASCIIDigit { position += 1 }
        guard position > start else { throw .malformed }
        return bytes[start..<position]
    }

    // MARK: Strings

    mutating func string() throws(Fault) -> String {
        let (start, hasEscapes) = try skipString()
        let content = bytes[start..<position - 1]
        let text = hasEscapes ? try Self.unescaped(content) : Array(content)
        return String(decoding: text, as: UTF8.self)
    }

    /// - Returns: where its content begins.
    private mutating func skipString() throws(Fault) -> (start: Int, hasEscapes: Bool) {
        try expect(UInt8(ascii: "\""))
        let start = position
        var hasEscapes = false
        while let byte = current {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return (start, hasEscapes)
            case UInt8(ascii: "\\"):
                hasEscapes = true
                guard current != nil else { throw .malformed }
                position += 1
            case 0..<0x20: throw .malformed
            default: continue
            }
        }
        throw .malformed
    }

    private mutating func skipCheckedString() throws(Fault) {
        let (start, hasEscapes) = try skipString()
        if hasEscapes { _ = try Self.unescaped(bytes[start..<position - 1]) }
    }

    private static func unescaped(_ content: ArraySlice<UInt8>) throws(Fault) -> [UInt8] {
        var text: [UInt8] = []
        var rest = content
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let kind = rest.popFirst() else {
                text.append(byte)
                continue
            }
            switch kind {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(kind)
            case UInt8(ascii: "b"): text.append(0x08)
            case UInt8(ascii: "f"): text.append(0x0C)
            case UInt8(ascii: "n"): text.append(0x0A)
            case UInt8(ascii: "r"): text.append(0x0D)
            case UInt8(ascii: "t"): text.append(0x09)
            case UInt8(ascii: "u"): text += try scalar(&rest).utf8
            default: throw .malformed
            }
        }
        return text
    }

    /// The character of a `\u` escape, or of two that form a surrogate pair.
    private static func scalar(_ rest: inout ArraySlice<UInt8>) throws(Fault) -> Character {
        let first = try unit(&rest)
        if let scalar = Unicode.Scalar(first) { return Character(scalar) }
        guard (0xD800...0xDBFF).contains(first), rest.starts(with: [UInt8(ascii: "\\"), UInt8(ascii: "u")]) else {
            throw .malformed
        }
        rest = rest.dropFirst(2)
        let second = try unit(&rest)
        guard (0xDC00...0xDFFF).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
        else { throw .malformed }
        return Character(scalar)
    }

    private static func unit(_ rest: inout ArraySlice<UInt8>) throws(Fault) -> UInt32 {
        let digits = String(decoding: rest.prefix(4), as: UTF8.self)
        guard let bytes = BinaryText.bytes(hexadecimal: digits), bytes.count == 2 else { throw .malformed }
        rest = rest.dropFirst(4)
        return UInt32(bytes[0]) << 8 | UInt32(bytes[1])
    }

    // MARK: Nested values

    /// Passes over an array or an object, and checks its form.
    private mutating func skipNested(maximumDepth: Int) throws(Fault) {
        var closers: [UInt8] = []
        repeat {
            skipSpace()
            if let closer = closers.last, take(closer) {
                closers.removeLast()
            } else {
                if closers.last == UInt8(ascii: "}") {
                    try skipCheckedString()
                    skipSpace()
                    try expect(UInt8(ascii: ":"))
                    skipSpace()
                }
                if let closer = opened() {
                    guard closers.count < maximumDepth else { throw .tooDeep }
                    closers.append(closer)
                    continue
                }
                if current == UInt8(ascii: "\"") { try skipCheckedString() } else { _ = try scalar() }
            }
            try skipSeparator(before: closers.last)
        } while !closers.isEmpty
    }

    private mutating func opened() -> UInt8? {
        if take(UInt8(ascii: "{")) { return UInt8(ascii: "}") }
        return take(UInt8(ascii: "[")) ? UInt8(ascii: "]") : nil
    }

    /// The comma behind a value, unless its array or object ends there.
    private mutating func skipSeparator(before closer: UInt8?) throws(Fault) {
        guard let closer else { return }
        skipSpace()
        guard current != closer else { return }
        try expect(UInt8(ascii: ","))
        skipSpace()
        guard current != closer else { throw .malformed }
    }

    /// Where the elements of an array are; of more than `limit` none.
    mutating func elements(atMost limit: Int) throws(Fault) -> [Range<Int>] {
        var elements: [Range<Int>] = []
        try expect(UInt8(ascii: "["))
        skipSpace()
        if take(UInt8(ascii: "]")) { return [] }
        repeat {
            guard elements.count < limit else { throw .tooManyMembers }
            skipSpace()
            let start = position
            _ = try value(maximumDepth: JSONMembers.maximumDepth)
            elements.append(start..<position)
            skipSpace()
        } while take(UInt8(ascii: ","))
        try expect(UInt8(ascii: "]"))
        return elements
    }

    mutating func strings(atMost limit: Int) throws(Fault) -> [String] {
        var strings: [String] = []
        try expect(UInt8(ascii: "["))
        skipSpace()
        if take(UInt8(ascii: "]")) { return [] }
        repeat {
            skipSpace()
            let text = try string()
            if strings.count < limit { strings.append(text) }
            skipSpace()
        } while take(UInt8(ascii: ","))
        try expect(UInt8(ascii: "]"))
        return strings
    }
}
