/// Reads a JSON text (RFC 8259) that a peer has sent.
///
/// Our own reader, because every message of a client passes through it: it never recurses, counts its depth, keeps numbers as they
/// were written and accepts an exactly defined language. The caller limits the text's length; the result takes at most some tens of
/// bytes for each byte of the text.
package enum JSONReader {
    /// The deepest nesting of containers.
    package static let maximumDepth = 32

    package static func read(_ text: ArraySlice<UInt8>) throws(JSONError) -> JSONValue {
        var builder = JSONBuilder(text)
        return try builder.build()
    }

    /// Whether ``read(_:)`` would accept `text`. Builds nothing.
    package static func isValid(_ text: ArraySlice<UInt8>) -> Bool {
        var tokenizer = JSONTokenizer(text)
        do {
            while try tokenizer.next() != nil {}
            return true
        } catch {
            return false
        }
    }
}

/// Builds values from tokens. Open containers are kept in an array, not on the thread's stack.
private struct JSONBuilder {
    private struct Container {
        let isObject: Bool
        var members: [JSONObject.Member] = []
        var elements: [JSONValue] = []
        /// The name of the member whose value comes next.
        var name = ""
    }

    private let text: ArraySlice<UInt8>
    private var tokenizer: JSONTokenizer
    private var open: [Container] = []
    private var result = JSONValue.null

    init(_ text: ArraySlice<UInt8>) {
        self.text = text
        tokenizer = JSONTokenizer(text)
    }

    mutating func build() throws(JSONError) -> JSONValue {
        while let token = try tokenizer.next() { take(token) }
        return result
    }

    private mutating func take(_ token: JSONTokenizer.Token) {
        switch token {
        case .beginObject: open.append(Container(isObject: true))
        case .beginArray: open.append(Container(isObject: false))
        case .endObject, .endArray: close()
        case .name(let name): open[open.count - 1].name = string(name)
        case .string(let token): place(.string(string(token)))
        case .number(let range): place(number(text[range]))
        case .bool(let value): place(.bool(value))
        case .null: place(.null)
        }
    }

    private mutating func close() {
        guard let container = open.popLast() else { return }
        place(container.isObject ? .object(JSONObject(container.members)) : .array(container.elements))
    }

    private mutating func place(_ value: JSONValue) {
        let innermost = open.count - 1
        if innermost < 0 {
            result = value
        } else if open[innermost].isObject {
            open[innermost].members.append(JSONObject.Member(open[innermost].name, value))
        } else {
            open[innermost].elements.append(value)
        }
    }

    private func number(_ digits: ArraySlice<UInt8>) -> JSONValue {
        let text = String(decoding: digits, as: UTF8.self)
        // "-0" has no integer equivalent.
        guard !digits.elementsEqual("-0".utf8), let integer = Int(text) else { return .number(text) }
        return .integer(integer)
    }

    private func string(_ token: JSONTokenizer.StringToken) -> String {
        let content = text[token.range]
        return String(decoding: token.hasEscapes ? unescaped(content)[...] : content, as: UTF8.self)
    }

    private func unescaped(_ content: ArraySlice<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(content.count)
        var position = content.startIndex
        while position < content.endIndex {
            if content[position] != UInt8(ascii: "\\") {
                bytes.append(content[position])
                position += 1
            } else if let letter = content.byte(at: position + 1), let meaning = JSONEscape.meaning(of: letter) {
                bytes.append(meaning)
                position += 2
            } else if let (scalar, length) = JSONEscape.scalar(in: content, at: position) {
                bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
                position += length
            } else {
                // The tokenizer has rejected all other escapes.
                return bytes
            }
        }
        return bytes
    }
}

/// Why a text isn't JSON or exceeds the reader's limits. Offsets are in bytes from the text's beginning.
package enum JSONError: Error, Hashable, Sendable {
    case unexpectedEnd
    case unexpectedByte(at: Int)
    /// A control character, an unknown escape, half a surrogate pair, or bytes that aren't UTF-8.
    case malformedString(at: Int)
    case malformedNumber(at: Int)
    /// Nested deeper than ``JSONReader/maximumDepth``.
    case tooDeep
}
