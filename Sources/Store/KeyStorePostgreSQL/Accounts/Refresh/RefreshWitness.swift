/// What one gateway remembers of the database's families of refresh tokens. The rule is that of
/// `PostgreSQLSchema.Migration.witnesses`.
package struct RefreshWitness: Hashable, Sendable {
    /// Of a name: the gateway's, or that of a history.
    static let nameBytes = 16
    /// Of a database's place, a hash.
    static let placeBytes = 32
    /// Older ones are forgotten. An operator ends all families now and then at most.
    package static let maximumHistories = 32
    /// Gateways that the database remembers. One that was away, while so many others came, would end all families.
    static let maximumRows = 1_000

    /// Of the gateway, made once.
    package let id: [UInt8]
    /// As many has the database confirmed in the present history.
    package private(set) var beats: Int64
    /// Where the server's log was, at least, when it had the last of what was confirmed in the present history.
    package private(set) var reached: Int64
    /// The run of the server that said so.
    package private(set) var run: Int64
    /// Of the database that has the histories; zeros without one.
    package private(set) var place: [UInt8]
    /// The newest one first.
    package private(set) var histories: [[UInt8]]

    /// One that remembers nothing.
    package init() {
        var random = SystemRandomNumberGenerator()
        id = (0..<Self.nameBytes).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        (beats, reached, run, histories) = (0, 0, 0, [])
        place = [UInt8](repeating: 0, count: Self.placeBytes)
    }

    /// Takes up what the database has confirmed. An answer that comes late, of an earlier history, changes nothing. So
    /// does one of an unknown history if another one was taken up while it was on its way: it may be the earlier one.
    ///
    /// - Parameter known: the newest history when the database was asked.
    package mutating func note(_ confirmed: RefreshConfirmation, after known: [UInt8]?) {
        if histories.first == confirmed.history {
            beats = max(beats, confirmed.beats)
            if confirmed.reached > reached { (reached, run) = (confirmed.reached, confirmed.run) }
        } else if histories.first == known, !histories.contains(confirmed.history) {
            let earlier = confirmed.place == place ? histories.prefix(Self.maximumHistories - 1) : []
            (place, histories) = (confirmed.place, [confirmed.history] + earlier)
            (beats, reached, run) = (confirmed.beats, confirmed.reached, confirmed.run)
        }
    }
}

/// What one answer of the database's confirms.
package struct RefreshConfirmation: Hashable, Sendable {
    let history, place: [UInt8]
    let reached, run: Int64
    /// 0 where it wasn't a beat.
    let beats: Int64

    package init(history: [UInt8], place: [UInt8], reached: Int64, run: Int64, beats: Int64 = 0) {
        (self.history, self.place) = (history, place)
        (self.reached, self.run, self.beats) = (reached, run, beats)
    }
}

/// The file's form: a title, the gateway's name, the place, the numbers in network byte order, the histories.
extension RefreshWitness {
    static let fileName = "refresh-witness"
    private static let title = Array("refresh witness\n".utf8)
    private static let headBytes = title.count + nameBytes + placeBytes + 3 * MemoryLayout<Int64>.size
    static let maximumBytes = headBytes + maximumHistories * nameBytes

    package var encoded: [UInt8] {
        let numbers = [beats, reached, run].flatMap { number in withUnsafeBytes(of: number.bigEndian) { Array($0) } }
        return Self.title + id + place + numbers + histories.joined()
    }

    /// - Returns: nil for anything but what ``encoded`` makes.
    package init?(encoded bytes: [UInt8]) {
        guard bytes.starts(with: Self.title), bytes.count >= Self.headBytes, bytes.count <= Self.maximumBytes,
            (bytes.count - Self.headBytes).isMultiple(of: Self.nameBytes)
        else { return nil }
        var rest = bytes.dropFirst(Self.title.count)
        func take(_ count: Int) -> [UInt8] {
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        func number() -> Int64 {
            Int64(bitPattern: take(MemoryLayout<Int64>.size).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
        }
        id = take(Self.nameBytes)
        place = take(Self.placeBytes)
        (beats, reached, run) = (number(), number(), number())
        var histories: [[UInt8]] = []
        while !rest.isEmpty { histories.append(take(Self.nameBytes)) }
        self.histories = histories
        guard beats >= 0, reached >= 0, run >= 0 else { return nil }
    }
}
