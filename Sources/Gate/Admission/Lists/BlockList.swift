package import WireText

/// Addresses, ranges and identities that are never admitted. A look-up takes constant time, plus a binary search in the
/// sorted ranges.
///
/// ```
/// address 203.0.113.0/24
/// key 2jmj7l5rSw0yVb/vlWAYkK/YBwk3nK9wqJk5XxQ5w1c=
/// certificate 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
/// ```
package struct BlockList: Sendable, Equatable {
    /// Maximum number of entries.
    package static let maximumCount = 100_000

    private var addresses = AddressSet([])
    private var identities: Set<Identity> = []

    /// Blocks no client.
    package init() {}

    /// - Parameters:
    ///   - text: the content of the file. An entry may be repeated.
    ///   - kinds: the kinds of identities, in addition to addresses.
    package init(_ text: String, kinds: [BlockListKind]) throws(OperatorListError) {
        var ranges: [AddressRange] = []
        for (index, line) in OperatorList.lines(of: text).enumerated() {
            guard index < Self.maximumCount else {
                throw OperatorListError(
                    line: line.number, problem: "is one entry too many",
                    remedy: "Keep at most \(Self.maximumCount): join addresses to ranges.")
            }
            switch try Self.entry(line, kinds) {
            case .address(let range): ranges.append(range)
            case .identities(let found): identities.formUnion(found)
            }
        }
        addresses = AddressSet(ranges)
    }

    /// The same of single entries. Those that can't be read are left out and counted: they may be a newer program's.
    package static func reading(_ entries: [String], kinds: [BlockListKind]) -> (list: BlockList, leftOut: Int) {
        var list = BlockList()
        var ranges: [AddressRange] = []
        var leftOut = 0
        for text in entries.prefix(maximumCount) {
            let lines = Array(OperatorList.lines(of: text))
            guard let line = lines.first, lines.count == 1, let entry = try? entry(line, kinds) else {
                leftOut += 1
                continue
            }
            switch entry {
            case .address(let range): ranges.append(range)
            case .identities(let found): list.identities.formUnion(found)
            }
        }
        list.addresses = AddressSet(ranges)
        return (list, leftOut + max(0, entries.count - maximumCount))
    }

    package var isEmpty: Bool { self == BlockList() }

    package func contains(_ address: IPAddress) -> Bool { addresses.contains(address) }
    package func contains(_ identity: Identity) -> Bool { identities.contains(identity) }

    private enum Entry {
        case address(AddressRange)
        case identities([Identity])
    }

    private static func entry(_ line: OperatorList.Line, _ kinds: [BlockListKind]) throws(OperatorListError) -> Entry {
        func refuse(_ problem: String, _ remedy: String) -> OperatorListError {
            OperatorListError(line: line.number, problem: problem, remedy: remedy)
        }
        let words = ["address"] + kinds.map(\.word)
        guard line.words.count == 2, let word = line.words.first, let value = line.words.last.map({ String($0) }) else {
            throw refuse("isn't a kind and a value", "Write \(choice(words.map { "`\($0) …`" })).")
        }
        if word.hasSameBytes(as: "address") {
            if let range = AddressRange(value) { return .address(range) }
            throw refuse(
                "holds no address", "Write one, or a range like `203.0.113.0/24` with zeros after the prefix.")
        }
        guard let kind = kinds.first(where: { $0.word.hasSameBytes(as: word) }) else {
            throw refuse("begins with an unknown kind", "Write \(choice(words.map { "`\($0)`" })).")
        }
        guard let subject = kind.subject(value) else { throw refuse(kind.problem, kind.remedy) }
        return .identities(kind.methods.map { Identity(method: $0, subject: subject) })
    }

    /// `a, b or c`
    private static func choice(_ words: [String]) -> String {
        guard let last = words.last, words.count > 1 else { return words.joined() }
        return words.dropLast().joined(separator: ", ") + " or " + last
    }
}

/// How the identities of one admission method are written in a block list.
package struct BlockListKind: Sendable {
    package let word: String
    /// The methods whose identities have this subject.
    package let methods: [MethodName]
    /// For the operator: what is wrong with an invalid value, and what to do.
    let problem: String
    let remedy: String
    /// The canonical subject; `nil` for an invalid value.
    let subject: @Sendable (String) -> String?

    package init(
        word: String, methods: MethodName..., problem: String, remedy: String,
        subject: @escaping @Sendable (String) -> String?
    ) {
        self.word = word
        self.methods = methods
        self.problem = problem
        self.remedy = remedy
        self.subject = subject
    }
}

/// A set of address ranges with look-up by binary search.
struct AddressSet: Sendable, Equatable {
    private let ipv4: [ClosedRange<UInt128>]
    private let ipv6: [ClosedRange<UInt128>]

    init(_ ranges: [AddressRange]) {
        ipv4 = Self.disjoint(ranges.filter(\.isIPv4))
        ipv6 = Self.disjoint(ranges.filter { !$0.isIPv4 })
    }

    func contains(_ address: IPAddress) -> Bool {
        let bytes = address.bytes
        let ranges = bytes.count == 4 ? ipv4 : ipv6
        let number = UInt128(bigEndian: bytes)
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < number { low = middle + 1 } else { high = middle }
        }
        return low < ranges.count && ranges[low].contains(number)
    }

    /// Sorted. If two CIDR ranges overlap, one contains the other; the smaller one is dropped.
    private static func disjoint(_ ranges: [AddressRange]) -> [ClosedRange<UInt128>] {
        let sorted = ranges.map(\.bounds).sorted {
            ($0.lowerBound, $1.upperBound) < ($1.lowerBound, $0.upperBound)
        }
        return sorted.reduce(into: []) { kept, range in
            if let last = kept.last, last.upperBound >= range.upperBound { return }
            kept.append(range)
        }
    }
}

extension AddressRange {
    var isIPv4: Bool { network.count == 4 }

    /// The first and the last address, as numbers of the family's width.
    var bounds: ClosedRange<UInt128> {
        let first = UInt128(bigEndian: network)
        let free = UInt128(8 * network.count - bits)
        return first...(first | ((1 << free) &- 1))
    }
}

extension UInt128 {
    fileprivate init(bigEndian bytes: [UInt8]) { self = bytes.reduce(0) { $0 << 8 | UInt128($1) } }
}
