import WireText

/// Reads a JSON text (RFC 8259) that a peer has sent, strictly and within the caller's ``JSONBounds``.
///
/// The only reader of JSON in the gateway and its libraries, so that no text is read twice and differently. It never
/// recurses, keeps numbers as they were written, compares names as bytes and accepts an exactly defined language: what
/// parsers disagree about is refused. The result takes at most some tens of bytes for each byte of the text.
package enum JSONReader {
    package static func read(_ text: ArraySlice<UInt8>, within bounds: JSONBounds) throws(JSONDefect) -> JSONValue {
        guard text.count <= bounds.maximumBytes else { throw .tooLong }
        var builder = JSONBuilder(text, bounds)
        return try builder.build()
    }

    package static func readObject(_ text: [UInt8], within bounds: JSONBounds) throws(JSONDefect) -> JSONObject {
        guard case .object(let object) = try read(text[...], within: bounds) else { throw .notAnObject }
        return object
    }

    /// Whether ``read(_:within:)`` would accept `text`. Where repeated names are kept, it builds nothing.
    package static func isValid(_ text: ArraySlice<UInt8>, within bounds: JSONBounds) -> Bool {
        guard bounds.repeatedNames == .kept else { return (try? read(text, within: bounds)) != nil }
        guard text.count <= bounds.maximumBytes else { return false }
        var tokenizer = JSONTokenizer(text, within: bounds)
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
        /// The name of the member whose value comes next, and its position in the text.
        var name = ""
        var nameOffset = 0
    }

    private let text: ArraySlice<UInt8>
    private let refusesRepeatedNames: Bool
    private var tokenizer: JSONTokenizer
    private var open: [Container] = []
    private var result = JSONValue.null

    init(_ text: ArraySlice<UInt8>, _ bounds: JSONBounds) {
        self.text = text
        refusesRepeatedNames = bounds.repeatedNames == .refused
        tokenizer = JSONTokenizer(text, within: bounds)
    }

    mutating func build() throws(JSONDefect) -> JSONValue {
        while let token = try tokenizer.next() { try take(token) }
        return result
    }

    private mutating func take(_ token: JSONTokenizer.Token) throws(JSONDefect) {
        switch token {
        case .beginObject: open.append(Container(isObject: true))
        case .beginArray: open.append(Container(isObject: false))
        case .endObject, .endArray: try close()
        case .name(let name):
            open[open.count - 1].name = string(name)
            open[open.count - 1].nameOffset = name.range.lowerBound - 1 - text.startIndex
        case .string(let token): try place(.string(string(token)))
        case .number(let range): try place(number(text[range]))
        case .bool(let value): try place(.bool(value))
        case .null: try place(.null)
        }
    }

    private mutating func close() throws(JSONDefect) {
        guard let container = open.popLast() else { return }
        try place(container.isObject ? .object(JSONObject(container.members)) : .array(container.elements))
    }

    private mutating func place(_ value: JSONValue) throws(JSONDefect) {
        let innermost = open.count - 1
        if innermost < 0 {
            result = value
        } else if open[innermost].isObject {
            try refuseRepetition(in: open[innermost])
            open[innermost].members.append(JSONObject.Member(open[innermost].name, value))
        } else {
            open[innermost].elements.append(value)
        }
    }

    private func refuseRepetition(in object: Container) throws(JSONDefect) {
        guard refusesRepeatedNames else { return }
        guard !object.members.contains(where: { $0.name.hasSameBytes(as: object.name) }) else {
            throw .duplicateMember(at: object.nameOffset)
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
