/// Assembles input lines from the received pieces.
///
/// A line ends with LF, CR LF, CR NUL or CR alone. Backspace and DEL delete a character, because a client may send
/// single keys while the MUD echoes. At most ``maximumBytes`` are kept; a longer line is dropped up to its end.
struct LineBuffer: Sendable {
    enum Line: Hashable, Sendable {
        case complete(String)
        case tooLong
    }

    let maximumBytes: Int
    private var bytes: [UInt8] = []
    private var isTooLong = false
    private var isAfterCR = false

    init(maximumBytes: Int) {
        self.maximumBytes = maximumBytes
    }

    /// Returns the line if `byte` completes one. Invalid UTF-8 becomes U+FFFD.
    mutating func append(_ byte: UInt8) -> Line? {
        let completesCR = isAfterCR && (byte == 10 || byte == 0)
        isAfterCR = byte == 13
        switch byte {
        case _ where completesCR: return nil
        case 10, 13: return takeLine()
        case 8, 127: removeLastCharacter()
        case _ where bytes.count < maximumBytes: bytes.append(byte)
        default: isTooLong = true
        }
        return nil
    }

    private mutating func takeLine() -> Line {
        defer {
            bytes.removeAll(keepingCapacity: true)
            isTooLong = false
        }
        return isTooLong ? .tooLong : .complete(String(decoding: bytes, as: UTF8.self).withoutControls)
    }

    private mutating func removeLastCharacter() {
        while let last = bytes.popLast(), last & 0b1100_0000 == 0b1000_0000 {}
    }
}
