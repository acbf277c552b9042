import WireText

/// One UTF-8 character, or the incomplete or invalid bytes in its place (RFC 3629; malformed input is split as in
/// Unicode, table 3-7).
enum UTF8Sequence: Hashable {
    /// A whole character.
    case character(length: Int)
    /// The bytes end inside a character that may still be completed.
    case truncated(length: Int)
    /// Invalid bytes; the next byte may begin a character.
    case malformed(length: Int)

    /// Reads the character at `start`, which must be an index of `bytes`.
    init(in bytes: Span<UInt8>, at start: Int) {
        guard let lead = UTF8Lead(bytes[start]) else {
            self = .malformed(length: 1)
            return
        }
        var taken = 1
        while taken < lead.length {
            guard start + taken < bytes.count else {
                self = .truncated(length: taken)
                return
            }
            guard (taken == 1 ? lead.second : 0x80...0xBF).contains(bytes[start + taken]) else {
                self = .malformed(length: taken)
                return
            }
            taken += 1
        }
        self = .character(length: lead.length)
    }

    /// The end of the leading run of complete characters other than NUL.
    static func wholeCharacters(in bytes: Span<UInt8>, _ range: Range<Int>) -> Int {
        let window = bytes.extracting(range)
        var index = 0
        while true {
            index = asciiCharacters(in: window, index..<window.count)
            guard index < window.count, case .character(let length) = UTF8Sequence(in: window, at: index),
                window[index] != 0
            else { return range.lowerBound + index }
            index += length
        }
    }

    /// The end of the leading run of ASCII characters other than NUL.
    static func asciiCharacters(in bytes: Span<UInt8>, _ range: Range<Int>) -> Int {
        var index = range.lowerBound
        // 1...127 in one comparison.
        while index < range.upperBound, bytes[index] &- 1 < 0x7F { index += 1 }
        return index
    }
}
