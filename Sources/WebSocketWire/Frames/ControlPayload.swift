/// The payload of a control frame: at most 125 bytes (RFC 6455 §5.5), in place.
package struct ControlPayload: Sendable {
    package static let maximumBytes = 125

    private var storage = InlineArray<125, UInt8>(repeating: 0)
    private var length: UInt8 = 0

    package init() {}

    /// Nil where `bytes` are too many.
    package init?(_ bytes: some Sequence<UInt8>) {
        for byte in bytes {
            guard count < Self.maximumBytes else { return nil }
            append(byte)
        }
    }

    /// The payload of a Close frame (RFC 6455 §5.5.1): empty without a code. A reason that is too long is cut between two characters.
    package init(close code: CloseCode?, reason: String = "") {
        guard let code else { return }
        append(UInt8(code.rawValue >> 8))
        append(UInt8(code.rawValue & 0xFF))
        for scalar in reason.unicodeScalars {
            let bytes = UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
            guard count + bytes.count <= Self.maximumBytes else { return }
            bytes.forEach { append($0) }
        }
    }

    package var count: Int { Int(length) }
    package subscript(index: Int) -> UInt8 {
        precondition(index < count)
        return storage[index]
    }
    package var bytes: [UInt8] { (0..<count).map { storage[$0] } }

    package func withSpan<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
        body(storage.span.extracting(0..<count))
    }

    /// Copies the payload to the front of `output`, which must have room for it.
    package func copy(into output: inout MutableSpan<UInt8>) {
        for index in 0..<count { output[index] = storage[index] }
    }

    mutating func append(_ byte: UInt8) {
        storage[count] = byte
        length += 1
    }

    mutating func removeAll() { length = 0 }
}

extension ControlPayload: Equatable {
    package static func == (left: ControlPayload, right: ControlPayload) -> Bool {
        left.count == right.count && (0..<left.count).allSatisfy { left.storage[$0] == right.storage[$0] }
    }
}
