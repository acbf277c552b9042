import Admission
import WireText

/// Whether a session is meant by a `SessionFilter`: the filter, read once.
struct SessionMatcher: Sendable {
    private let route: String?
    private let subject: String?
    private let range: AddressRange?

    /// - Returns: nil if the filter's address is no address.
    init?(_ filter: SessionFilter) {
        (route, subject) = (filter.route, filter.subject)
        guard let address = filter.address else {
            range = nil
            return
        }
        guard let range = AddressRange(address) else { return nil }
        self.range = range
    }

    func matches(route: String, _ identity: Identity, _ address: IPAddress) -> Bool {
        if let range, !range.contains(address) { return false }
        if let subject, identity.subject?.hasSameBytes(as: subject) != true { return false }
        return self.route?.hasSameBytes(as: route) ?? true
    }
}

/// Where a session stands in the order of a list: the smallest first.
struct SessionRank: Comparable, Sendable {
    let value: UInt64
    /// Where the values are equal.
    let id: ByteText

    init(value: UInt64, id: String) {
        self.value = value
        self.id = ByteText(id)
    }

    /// Reads ``text``.
    init?(_ text: String) {
        let parts = text.splitAtBytes(maxSplits: 1) { $0 == UInt8(ascii: "-") }
        guard parts.count == 2, let value = UInt64(parts[0], radix: 16), parts[1].utf8.count <= 64 else { return nil }
        self.init(value: value, id: String(parts[1]))
    }

    var text: String { String(value, radix: 16) + "-" + id.text }

    static func < (first: SessionRank, second: SessionRank) -> Bool {
        first.value == second.value ? first.id < second.id : first.value < second.value
    }
}

/// The first elements of a sequence that comes in any order, in bounded memory.
struct FirstRanked<Element> {
    private let limit: Int
    private var kept: [(rank: SessionRank, element: Element)] = []
    /// Elements from here on aren't among the first.
    private var bound: SessionRank?

    init(limit: Int) { self.limit = limit }

    mutating func offer(_ rank: SessionRank, _ element: @autoclosure () -> Element) {
        if let bound, rank >= bound { return }
        kept.append((rank, element()))
        if kept.count >= 2 * limit { cut() }
    }

    mutating func merge(_ other: FirstRanked) {
        for (rank, element) in other.kept { offer(rank, element) }
    }

    private mutating func cut() {
        kept.sort { $0.rank < $1.rank }
        guard kept.count > limit else { return }
        kept.removeLast(kept.count - limit)
        bound = kept.last?.rank
    }

    /// In order, at most `limit`.
    mutating func take() -> [(rank: SessionRank, element: Element)] {
        cut()
        return kept
    }
}

extension FirstRanked: Sendable where Element: Sendable {}
