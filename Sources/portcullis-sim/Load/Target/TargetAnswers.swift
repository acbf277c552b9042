/// A target's answers, without a socket.
struct TargetAnswers: Sendable {
    let kind: ClientStream.Answer
    private var position: UInt64 = 0
    private var lines: UInt64 = 0

    init(_ kind: ClientStream.Answer) {
        self.kind = kind
    }

    /// - Returns: the answer to the input, in addition to its echo.
    mutating func received(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        guard kind == .screens else { return [] }
        var length: UInt64 = 0
        for byte in bytes where byte == 0x0A {
            length += Screen.bytes(afterLine: lines)
            lines += 1
        }
        return take(length)
    }

    /// The next numbered lines.
    mutating func nextLines(_ count: Int) -> [UInt8] {
        take(NumberedLine.bytes * UInt64(count))
    }

    private mutating func take(_ count: UInt64) -> [UInt8] {
        defer { position += count }
        return count > 0 ? StreamPattern.numbered.bytes(position..<position + count) : []
    }
}
