/// Turns a target's text into valid UTF-8, whatever pieces it arrives in. A character that is split waits for its rest: at most
/// three bytes.
///
/// NUL is dropped. In a network virtual terminal it does nothing (RFC 854), and so CR NUL becomes CR; CR LF stays.
struct TextDecoder {
    private(set) var encoding: TextEncoding
    /// The beginning of a UTF-8 character.
    private var partial: [UInt8] = []

    /// No single step of decoding gives more.
    private static let largestStep = 8

    init(encoding: TextEncoding) {
        self.encoding = encoding
    }

    /// Takes at least one byte off the front of a non-empty `input`, and gives at most `limit` bytes, which must be 16 or more.
    mutating func decode(_ input: inout ArraySlice<UInt8>, limit: Int) -> [UInt8] {
        switch encoding {
        case .utf8: decodeUTF8(&input, limit: limit)
        case .latin1: decodeBytes(&input, limit: limit) { Self.appendLatin1($0, to: &$1) }
        case .ascii: decodeBytes(&input, limit: limit) { $1 += [0xEF, 0xBF, 0xBD] }
        default: decodeCodePage(&input, limit: limit)
        }
    }

    /// What waits for a rest that won't come.
    mutating func flush() -> [UInt8] {
        var output: [UInt8] = []
        for byte in partial { Self.appendLatin1(byte, to: &output) }
        partial = []
        return output
    }

    /// - Returns: what ``flush()`` does.
    mutating func change(to encoding: TextEncoding) -> [UInt8] {
        self.encoding = encoding
        return flush()
    }

    /// All of `bytes` read as ``TextEncoding/utf8``: the strings of the protocols beside the text.
    static func utf8(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var decoder = TextDecoder(encoding: .utf8)
        var input = bytes
        let text = decoder.decode(&input, limit: .max)
        return text + decoder.flush()
    }

    static func string(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: utf8(bytes), as: UTF8.self)
    }

    // MARK: UTF-8

    private mutating func decodeUTF8(_ input: inout ArraySlice<UInt8>, limit: Int) -> [UInt8] {
        var output: [UInt8] = []
        completePartial(&input, &output)
        while !input.isEmpty, limit - output.count >= Self.largestStep {
            let window = input.prefix(limit - output.count)
            let count = UTF8Sequence.wholeCharacters(in: window.span)
            output += window.prefix(count)
            input.removeFirst(count)
            guard count < window.count else { continue }
            switch UTF8Sequence(in: input.span, at: 0) {
            case .character:
                // A NUL, or a character that the window has cut off.
                if input.first != 0 { return output }
                input.removeFirst()
            case .truncated(let length):
                partial = Array(input)
                input.removeFirst(length)
            case .malformed(let length):
                for byte in input.prefix(length) { Self.appendLatin1(byte, to: &output) }
                input.removeFirst(length)
            }
        }
        return output
    }

    private mutating func completePartial(_ input: inout ArraySlice<UInt8>, _ output: inout [UInt8]) {
        while !partial.isEmpty, let byte = input.first {
            let longer = partial + [byte]
            switch UTF8Sequence(in: longer.span, at: 0) {
            case .character:
                output += longer
                partial = []
                input.removeFirst()
            case .truncated:
                partial = longer
                input.removeFirst()
            case .malformed:
                output += flush()
            }
        }
    }

    // MARK: One byte a character

    private func decodeBytes(
        _ input: inout ArraySlice<UInt8>, limit: Int, high: (UInt8, inout [UInt8]) -> Void
    ) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(min(limit, input.count + input.count / 8))
        var taken = 0
        for byte in input {
            guard limit - output.count >= Self.largestStep else { break }
            if byte >= 0x80 { high(byte, &output) } else if byte != 0 { output.append(byte) }
            taken += 1
        }
        input.removeFirst(taken)
        return output
    }

    private func decodeCodePage(_ input: inout ArraySlice<UInt8>, limit: Int) -> [UInt8] {
        let page = CodePage.of(encoding)
        return decodeBytes(&input, limit: limit) { byte, output in
            output += page.scalar(of: byte).utf8
        }
    }

    private static func appendLatin1(_ byte: UInt8, to output: inout [UInt8]) {
        if byte < 0x80 {
            output.append(byte)
        } else {
            output.append(0xC0 | byte >> 6)
            output.append(0x80 | byte & 0x3F)
        }
    }
}
