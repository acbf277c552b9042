/// The content of a stream: each byte is a function of its position, so that a reader can predict the next byte and
/// locate any piece.
enum StreamPattern: Hashable, Sendable {
    /// All 256 byte values.
    case bytes(seed: UInt64)
    /// Letters, digits, `-` and `_`: every dialect passes these unchanged.
    case text(seed: UInt64)
    /// Text in lines of 20 to 200 bytes, a multiple of 20, that end in CR LF, like players' input.
    case typed(seed: UInt64)
    /// Lines of 64 bytes: a number of twelve digits from 0, a space, text, CR LF. The same for every reader.
    case numbered

    /// Fills `buffer` with the stream from `position` on.
    func fill(_ buffer: UnsafeMutableRawBufferPointer, from position: UInt64) {
        switch self {
        case .bytes(let seed): fillWords(buffer, position) { SeededGenerator.number($0, seed: seed) }
        case .text(let seed): fillText(buffer, position, seed: seed)
        case .typed(let seed):
            fillText(buffer, position, seed: seed)
            endLines(in: buffer, position, seed: seed)
        case .numbered:
            for index in buffer.indices { buffer[index] = NumberedLine.byte(at: position + UInt64(index)) }
        }
    }

    func bytes(_ range: Range<UInt64>) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
            count = range.count
            fill(
                UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<count]),
                from: range.lowerBound)
        }
    }

    private func fillText(_ buffer: UnsafeMutableRawBufferPointer, _ position: UInt64, seed: UInt64) {
        fillWords(buffer, position) { SeededGenerator.number($0, seed: seed) }
        for index in buffer.indices { buffer[index] = Self.letter(buffer[index]) }
    }

    /// Eight bytes of the stream come from one number.
    private func fillWords(_ buffer: UnsafeMutableRawBufferPointer, _ position: UInt64, _ word: (UInt64) -> UInt64) {
        var index = 0
        while index < buffer.count {
            let place = position + UInt64(index)
            let offset = Int(place % 8)
            let count = min(8 - offset, buffer.count - index)
            withUnsafeBytes(of: word(place / 8).littleEndian) { bytes in
                buffer.baseAddress?.advanced(by: index)
                    .copyMemory(from: bytes.baseAddress!.advanced(by: offset), byteCount: count)
            }
            index += count
        }
    }

    /// A letter of Base64url's alphabet for any byte.
    static func letter(_ byte: UInt8) -> UInt8 {
        switch byte & 63 {
        case let low where low < 26: UInt8(ascii: "A") + low
        case let low where low < 52: UInt8(ascii: "a") + low - 26
        case let low where low < 62: UInt8(ascii: "0") + low - 52
        case 62: UInt8(ascii: "-")
        default: UInt8(ascii: "_")
        }
    }
}

// MARK: Lines that players type

extension StreamPattern {
    private static let cellBytes: UInt64 = 20
    private static let maximumCells: UInt64 = 10

    /// Whether this cell of twenty bytes ends a line; every tenth cell does, so that no line is longer than 200.
    private static func endsLine(cell: UInt64, seed: UInt64) -> Bool {
        cell % maximumCells == maximumCells - 1 || SeededGenerator.number(cell, seed: ~seed) % 4 == 0
    }

    private func endLines(in buffer: UnsafeMutableRawBufferPointer, _ position: UInt64, seed: UInt64) {
        let end = position + UInt64(buffer.count)
        var cell = position / Self.cellBytes
        while cell * Self.cellBytes < end {
            let lineFeed = (cell + 1) * Self.cellBytes - 1
            if Self.endsLine(cell: cell, seed: seed) {
                for (place, byte) in [(lineFeed - 1, 0x0D), (lineFeed, 0x0A)] as [(UInt64, UInt8)]
                where place >= position && place < end {
                    buffer[Int(place - position)] = byte
                }
            }
            cell += 1
        }
    }

    /// The end of the line that contains the byte at `position`; for patterns other than ``typed(seed:)`` `position`
    /// itself.
    func lineEnd(after position: UInt64) -> UInt64 {
        guard case .typed(let seed) = self else { return position }
        var cell = position / Self.cellBytes
        while !Self.endsLine(cell: cell, seed: seed) { cell += 1 }
        return (cell + 1) * Self.cellBytes
    }
}

/// A line of ``StreamPattern/numbered``.
enum NumberedLine {
    static let bytes: UInt64 = 64
    private static let digits: UInt64 = 12
    private static let seed: UInt64 = 0x6e75_6d62_6572

    static func byte(at position: UInt64) -> UInt8 {
        let (line, column) = position.quotientAndRemainder(dividingBy: bytes)
        switch column {
        case ..<digits: return digit(of: line, place: digits - 1 - column)
        case digits: return UInt8(ascii: " ")
        case bytes - 2: return 0x0D
        case bytes - 1: return 0x0A
        default:
            let word = SeededGenerator.number(line &* 8 &+ column / 8, seed: seed)
            return StreamPattern.letter(UInt8(truncatingIfNeeded: word >> (column % 8 * 8)))
        }
    }

    private static func digit(of number: UInt64, place: UInt64) -> UInt8 {
        var rest = number
        for _ in 0..<place { rest /= 10 }
        return UInt8(ascii: "0") + UInt8(rest % 10)
    }
}

/// The answer to a line from a target that acts as a MUD: several numbered lines, 256 to 4,096 bytes.
enum Screen {
    /// - Parameter index: the number of the typed line, from 0.
    static func bytes(afterLine index: UInt64) -> UInt64 {
        NumberedLine.bytes * (4 + SeededGenerator.number(index, seed: 0x7363_7265_656e) % 61)
    }
}
