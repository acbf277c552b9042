/// What one gateway remembers of the database's families of refresh tokens. The rule is that of
/// `PostgreSQLSchema.Migration.witnesses`.
package struct RefreshWitness: Hashable, Sendable {
    /// Of a name: the gateway's, or that of a history.
    static let nameBytes = 16
    /// Older ones are forgotten. An operator ends all families now and then at most.
    package static let maximumHistories = 32
    /// Gateways that the database remembers. One that was away, while so many others came, would end all families.
    static let maximumRows = 1_000

    /// Of the gateway, made once.
    package let id: [UInt8]
    /// As many has the database confirmed in the present history.
    package private(set) var beats: Int64
    /// The newest one first.
    package private(set) var histories: [[UInt8]]

    /// One that remembers nothing.
    package init() {
        var random = SystemRandomNumberGenerator()
        id = (0..<Self.nameBytes).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        (beats, histories) = (0, [])
    }

    /// Takes up what the database has confirmed. An answer that comes late, of an earlier history, changes nothing.
    package mutating func note(beats confirmed: Int64, in history: [UInt8]) {
        if histories.first == history {
            beats = max(beats, confirmed)
        } else if !histories.contains(history) {
            histories = [history] + histories.prefix(Self.maximumHistories - 1)
            beats = confirmed
        }
    }
}

/// The file's form: a title, the gateway's name, the beats in network byte order, the histories.
extension RefreshWitness {
    static let fileName = "refresh-witness"
    private static let title = Array("refresh witness\n".utf8)
    private static let headBytes = title.count + nameBytes + MemoryLayout<Int64>.size
    static let maximumBytes = headBytes + maximumHistories * nameBytes

    package var encoded: [UInt8] {
        let number = withUnsafeBytes(of: beats.bigEndian) { Array($0) }
        return Self.title + id + number + histories.joined()
    }

    /// - Returns: nil for anything but what ``encoded`` makes.
    package init?(encoded bytes: [UInt8]) {
        let histories = bytes.dropFirst(Self.headBytes)
        guard bytes.starts(with: Self.title), bytes.count >= Self.headBytes, bytes.count <= Self.maximumBytes,
            histories.count.isMultiple(of: Self.nameBytes)
        else { return nil }
        let rest = bytes.dropFirst(Self.title.count)
        id = Array(rest.prefix(Self.nameBytes))
        let number = rest.dropFirst(Self.nameBytes).prefix(MemoryLayout<Int64>.size)
        beats = Int64(bitPattern: number.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
        self.histories = stride(from: histories.startIndex, to: histories.endIndex, by: Self.nameBytes).map {
            Array(histories[$0..<($0 + Self.nameBytes)])
        }
        guard beats >= 0 else { return nil }
    }
}
