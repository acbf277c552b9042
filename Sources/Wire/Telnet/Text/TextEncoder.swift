/// Turns a client's UTF-8 into a target's encoding. The result doesn't depend on how the text is split. Characters that
/// the target's encoding lacks become `?`.
struct TextEncoder {
    private(set) var encoding: TextEncoding
    private let tables: (any CharacterTables)?
    /// Not nil for multi-byte encodings.
    private var codec: MultiByteCodec?
    /// The beginning of a split character, at most three bytes.
    private var partial: [UInt8] = []

    private static let unknown = UInt8(ascii: "?")

    /// - Parameter tables: if the encoding's tables are missing, every character above ASCII becomes `?`.
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

    /// Changes the encoding from now on. An incomplete character is lost.
    mutating func change(to encoding: TextEncoding) {
        self.encoding = encoding
        codec = MultiByteCodec(encoding, tables: tables)
        partial = []
    }

    /// UTF-8 passes unchanged, even if invalid: the target's own rules apply to it.
    mutating func encode(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        encoding == .utf8 ? text : narrowed(text)[...]
    }

    private mutating func narrowed(_ text: ArraySlice<UInt8>) -> [UInt8] {
        let bytes = partial.isEmpty ? text : (partial + text)[...]
        partial = []
        let span = bytes.span
        var output: [UInt8] = []
        output.reserveCapacity(span.count)
        var index = 0
        while index < span.count {
            switch UTF8Sequence(in: span, at: index) {
            case .character(length: 1):
                output.append(span[index])
                index += 1
            case .character(let length):
                append(scalar(in: span, from: index, length), to: &output)
                index += length
            case .truncated:
                partial = Array(bytes.dropFirst(index))
                index = span.count
            case .malformed(let length):
                output.append(Self.unknown)
                index += length
            }
        }
        return output
    }

    private func append(_ scalar: UInt32, to output: inout [UInt8]) {
        if let codec {
            if !codec.append(scalar, to: &output) { output.append(Self.unknown) }
        } else {
            output.append(byte(for: scalar) ?? Self.unknown)
        }
    }

    /// The scalar of a character of two to four bytes.
    private func scalar(in bytes: Span<UInt8>, from start: Int, _ length: Int) -> UInt32 {
        var value = UInt32(bytes[start]) & (0x7F >> UInt32(length))
        for index in start + 1..<start + length { value = value << 6 | UInt32(bytes[index] & 0x3F) }
        return value
    }

    private func byte(for scalar: UInt32) -> UInt8? {
        switch encoding {
        case .utf8, .ascii: nil
        case .latin1: UInt8(exactly: scalar)
        default: CodePage.of(encoding).byte(for: scalar)
        }
    }
}
