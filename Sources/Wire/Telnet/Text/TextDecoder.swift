/// Turns a target's text into valid UTF-8. The result doesn't depend on how the text is split: a split character, at
/// most three bytes, waits for its rest. Invalid bytes of a multi-byte encoding become U+FFFD.
///
/// NUL is dropped. It has no effect in a network virtual terminal (RFC 854), so CR NUL becomes CR; CR LF is kept.
struct TextDecoder {
    private(set) var encoding: TextEncoding
    private let tables: (any CharacterTables)?
    /// Not nil for multi-byte encodings.
    private var codec: MultiByteCodec?
    /// The beginning of a split character.
    private var partial: [UInt8] = []

    /// The most bytes that a single decoding step produces.
    private static let largestStep = 8

    /// - Parameter tables: if the encoding's tables are missing, every byte above 127 is unknown.
    init(encoding: TextEncoding, tables: (any CharacterTables)? = nil) {
        self.encoding = encoding
        self.tables = tables
        codec = MultiByteCodec(encoding, tables: tables)
    }

    /// What is kept of the text so far.
    var state: TextState { TextState(encoding: encoding, partial: partial) }

    init(_ state: TextState, tables: (any CharacterTables)?) {
        self.init(encoding: state.encoding, tables: tables)
        partial = state.partial
    }

    /// Takes at least one byte off the front of a non-empty `input` and returns at most `limit` bytes; `limit` must be
    /// at least 16. Text that needs no change isn't copied.
    mutating func decode(_ input: inout ArraySlice<UInt8>, limit: Int) -> ArraySlice<UInt8> {
        if let whole = takeWhole(&input, limit: limit) { return whole }
        if let codec { return decode(&input, limit: limit, codec)[...] }
        return switch encoding {
        case .utf8: decodeUTF8(&input, limit: limit)[...]
        case .latin1: decodeBytes(&input, limit: limit) { Self.appendLatin1($0, to: &$1) }[...]
        case .ascii: decodeBytes(&input, limit: limit) { $1 += Self.unknown }[...]
        default: decodeCodePage(&input, limit: limit)[...]
        }
    }

    /// Takes all of `input` if nothing in it has to be changed.
    private func takeWhole(_ input: inout ArraySlice<UInt8>, limit: Int) -> ArraySlice<UInt8>? {
        guard partial.isEmpty, input.count <= limit else { return nil }
        let whole = input
        let span = whole.span
        let end =
            encoding == .utf8
            ? UTF8Sequence.wholeCharacters(in: span, 0..<span.count)
            : UTF8Sequence.asciiCharacters(in: span, 0..<span.count)
        guard end == span.count else { return nil }
        input = whole[whole.endIndex...]
        return whole
    }

    /// The held beginning of a character, decoded, when no more input will come.
    mutating func flush() -> [UInt8] {
        var output: [UInt8] = []
        if codec == nil {
            for byte in partial { Self.appendLatin1(byte, to: &output) }
        } else if !partial.isEmpty {
            output = Self.unknown
        }
        partial = []
        return output
    }

    private static let unknown: [UInt8] = [0xEF, 0xBF, 0xBD]

    /// - Returns: the result of ``flush()``.
    mutating func change(to encoding: TextEncoding) -> [UInt8] {
        let rest = flush()
        self.encoding = encoding
        codec = MultiByteCodec(encoding, tables: tables)
        return rest
    }

    /// Decodes all of `bytes` as ``TextEncoding/utf8``, for the strings of the protocols beside the text.
    static func utf8(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var decoder = TextDecoder(encoding: .utf8)
        var input = bytes
        let text = decoder.decode(&input, limit: .max)
        return Array(text) + decoder.flush()
    }

    static func string(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: utf8(bytes), as: UTF8.self)
    }

    // MARK: UTF-8

    private mutating func decodeUTF8(_ input: inout ArraySlice<UInt8>, limit: Int) -> [UInt8] {
        var output: [UInt8] = []
        completePartial(&input, &output)
        let bytes = input
        let span = bytes.span
        output.reserveCapacity(min(limit, output.count + span.count))
        var index = 0
        decoding: while index < span.count, limit - output.count >= Self.largestStep {
            let end = index + min(span.count - index, limit - output.count)
            let whole = UTF8Sequence.wholeCharacters(in: span, index..<end)
            if whole > index { output += bytes[(bytes.startIndex + index)..<(bytes.startIndex + whole)] }
            index = whole
            guard index < end else { continue }
            switch UTF8Sequence(in: span, at: index) {
            case .character:
                // A NUL, or a character cut off by the limit.
                if span[index] != 0 { break decoding }
                index += 1
            case .truncated:
                partial = Array(bytes.dropFirst(index))
                index = span.count
            case .malformed(let length):
                for offset in 0..<length { Self.appendLatin1(span[index + offset], to: &output) }
                index += length
            }
        }
        input.removeFirst(index)
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

    // MARK: Several bytes a character

    private mutating func decode(
        _ input: inout ArraySlice<UInt8>, limit: Int, _ codec: MultiByteCodec
    ) -> [UInt8] {
        var output: [UInt8] = []
        completePartial(&input, &output, codec)
        let bytes = input
        let span = bytes.span
        output.reserveCapacity(min(limit, output.count + span.count * 3 / 2))
        var index = 0
        while index < span.count, limit - output.count >= Self.largestStep {
            let end = index + min(span.count - index, limit - output.count)
            let ascii = UTF8Sequence.asciiCharacters(in: span, index..<end)
            if ascii > index { output += bytes[(bytes.startIndex + index)..<(bytes.startIndex + ascii)] }
            index = ascii
            guard index < end, limit - output.count >= Self.largestStep else { continue }
            guard let length = Self.append(codec.step(in: span, at: index), to: &output) else {
                partial = Array(bytes.dropFirst(index))
                index = span.count
                break
            }
            index += length
        }
        input.removeFirst(index)
        return output
    }

    /// A split character has at most three bytes here; they and the next four bytes determine the result.
    private mutating func completePartial(
        _ input: inout ArraySlice<UInt8>, _ output: inout [UInt8], _ codec: MultiByteCodec
    ) {
        guard !partial.isEmpty else { return }
        let head = partial + input.prefix(MultiByteCodec.maximumLength)
        var index = 0
        while index < partial.count {
            guard let length = Self.append(codec.step(in: head.span, at: index), to: &output) else {
                input = input.dropFirst(head.count - partial.count)
                partial = Array(head[index...])
                return
            }
            index += length
        }
        input = input.dropFirst(index - partial.count)
        partial = []
    }

    /// - Returns: the number of bytes consumed; nil: the rest of the character is missing.
    private static func append(_ step: MultiByteCodec.Step, to output: inout [UInt8]) -> Int? {
        switch step {
        case .scalar(let value, let length):
            append(value, to: &output)
            return length
        case .marked(let letter, let mark, let length):
            append(letter, to: &output)
            append(mark, to: &output)
            return length
        case .malformed(let length):
            output += unknown
            return length
        case .truncated: return nil
        }
    }

    private static func append(_ value: UInt32, to output: inout [UInt8]) {
        guard value != 0 else { return }
        output += (Unicode.Scalar(value) ?? "\u{FFFD}").utf8
    }

    // MARK: One byte a character

    private func decodeBytes(
        _ input: inout ArraySlice<UInt8>, limit: Int, high: (UInt8, inout [UInt8]) -> Void
    ) -> [UInt8] {
        let bytes = input
        let span = bytes.span
        var output: [UInt8] = []
        output.reserveCapacity(min(limit, span.count + span.count / 8))
        var index = 0
        while index < span.count, limit - output.count >= Self.largestStep {
            let end = index + min(span.count - index, limit - output.count)
            let ascii = UTF8Sequence.asciiCharacters(in: span, index..<end)
            if ascii > index { output += bytes[(bytes.startIndex + index)..<(bytes.startIndex + ascii)] }
            index = ascii
            guard index < end, limit - output.count >= Self.largestStep else { continue }
            if span[index] != 0 { high(span[index], &output) }
            index += 1
        }
        input.removeFirst(index)
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
