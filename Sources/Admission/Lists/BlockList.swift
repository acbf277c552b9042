package import KeyStore

/// Who is never admitted: addresses and ranges, keys, certificates. Looking costs the same however long it is, but for a search in the
/// sorted ranges.
///
/// ```
/// address 203.0.113.0/24
/// key 2jmj7l5rSw0yVb/vlWAYkK/YBwk3nK9wqJk5XxQ5w1c=
/// certificate 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
/// ```
package struct BlockList: Sendable, Equatable {
    /// Lines that say something.
    package static let maximumCount = 100_000

    private var addresses = AddressSet([])
    private var keys: Set<KeyID> = []
    /// SHA-256 of the DER encoding.
    private var certificates: Set<[UInt8]> = []

    /// Blocks nobody.
    package init() {}

    /// - Parameter text: the file's. An entry may stand there twice.
    package init(_ text: String) throws(OperatorListError) {
        var ranges: [AddressRange] = []
        for (index, line) in OperatorList.lines(of: text).enumerated() {
            guard index < Self.maximumCount else {
                throw OperatorListError(
                    line: line.number, problem: "is one entry too many",
                    remedy: "Keep at most \(Self.maximumCount): join addresses to ranges.")
            }
            switch try Self.entry(line) {
            case .address(let range): ranges.append(range)
            case .key(let id): keys.insert(id)
            case .certificate(let sha256): certificates.insert(sha256)
            }
        }
        addresses = AddressSet(ranges)
    }

    package var isEmpty: Bool { self == BlockList() }

    package func contains(_ address: ClientAddress) -> Bool { addresses.contains(address) }
    package func contains(_ key: KeyID) -> Bool { keys.contains(key) }
    package func contains(certificate sha256: [UInt8]) -> Bool { certificates.contains(sha256) }

    package func contains(_ owner: SessionOwner) -> Bool {
        switch owner {
        case .key(let id): contains(id)
        case .certificate(let sha256): contains(certificate: sha256)
        case .operatorTicket, .anonymous: false
        }
    }

    private enum Entry {
        case address(AddressRange)
        case key(KeyID)
        case certificate([UInt8])
    }

    private static func entry(_ line: OperatorList.Line) throws(OperatorListError) -> Entry {
        func refuse(_ problem: String, _ remedy: String) -> OperatorListError {
            OperatorListError(line: line.number, problem: problem, remedy: remedy)
        }
        guard line.words.count == 2, let kind = line.words.first, let value = line.words.last.map({ String($0) }) else {
            throw refuse("isn't a kind and a value", "Write `address …`, `key …` or `certificate …`.")
        }
        switch kind {
        case "address":
            if let range = AddressRange(value) { return .address(range) }
            throw refuse(
                "holds no address", "Write one, or a range like `203.0.113.0/24` with nothing behind its prefix.")
        case "key":
            if let id = KeyID(text: value) { return .key(id) }
            throw refuse("holds no key identifier", "Write it as `portcullis keys list` shows it.")
        case "certificate":
            if let sha256 = Hexadecimal.decode(value, count: 32) { return .certificate(sha256) }
            throw refuse("holds no fingerprint", "Write the SHA-256 of the certificate as 64 hexadecimal digits.")
        default:
            throw refuse("begins with an unknown kind", "Write `address`, `key` or `certificate`.")
        }
    }
}
