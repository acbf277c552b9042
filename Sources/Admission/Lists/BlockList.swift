/// Addresses, ranges and identities that are never admitted. A look-up takes constant time, plus a binary search in the sorted ranges.
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

    package var isEmpty: Bool { self == BlockList() }

    package func contains(_ address: ClientAddress) -> Bool { addresses.contains(address) }
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
        if word == "address" {
            if let range = AddressRange(value) { return .address(range) }
            throw refuse(
                "holds no address", "Write one, or a range like `203.0.113.0/24` with nothing behind its prefix.")
        }
        guard let kind = kinds.first(where: { $0.word == word }) else {
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
