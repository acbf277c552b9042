import Glibc

/// What the file beside a store holds: the history, and the birth time of the file itself. Numbers are big-endian.
struct RefreshPlaceContent {
    private static let numberBytes = MemoryLayout<Int64>.size
    private static let length = RefreshHistory.length + 3 * numberBytes

    let history: RefreshHistory
    let birth: FileBirth

    init(history: RefreshHistory, birth: FileBirth) { (self.history, self.birth) = (history, birth) }

    /// Of an open file; nil: it holds something else.
    init?(of descriptor: Int32) {
        var bytes = [UInt8](repeating: 0, count: Self.length)
        guard pread(descriptor, &bytes, Self.length, 0) == Self.length else { return nil }
        let numbers = (0..<3).map { index in
            let begin = RefreshHistory.length + index * Self.numberBytes
            return Int64(bitPattern: bytes[begin..<begin + Self.numberBytes].reduce(0) { $0 << 8 | UInt64($1) })
        }
        history = RefreshHistory(id: Array(bytes.prefix(RefreshHistory.length)), changes: numbers[0])
        birth = FileBirth(seconds: numbers[1], nanoseconds: numbers[2])
    }

    var bytes: [UInt8] {
        history.id + [history.changes, birth.seconds, birth.nanoseconds].flatMap(Self.bytes)
    }

    static func overwrite(_ changes: Int64, in descriptor: Int32) {
        _ = pwrite(descriptor, bytes(changes), numberBytes, off_t(RefreshHistory.length))
    }

    private static func bytes(_ number: Int64) -> [UInt8] {
        (0..<numberBytes).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
    }
}
