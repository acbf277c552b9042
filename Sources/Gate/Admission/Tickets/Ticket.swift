import Crypto
import KeyStore
import WireText

/// A credential for clients that can't send headers, put into the URL: 32 random bytes. It admits its bearer, so no
/// description and no log contains it.
package struct Ticket: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    static let byteCount = 32
    /// The length of the text: base64url (RFC 4648 section 5) without padding.
    static let characterCount = 43

    /// For the client alone.
    package let text: String

    init() {
        text = Base64URL.encode(RandomBytes.make(Self.byteCount))
    }

    package var description: String { "(ticket)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The only stored form of a ticket: the SHA-256 of its text. The timing of a look-up by hash reveals nothing useful:
/// an attacker can't choose a hash, and knowing one doesn't help.
struct TicketHash: Hashable, Sendable {
    private let digest: [UInt64]

    /// `nil` for a text that can't be a ticket. The text is hashed, not the decoded bytes, so each ticket has one
    /// spelling.
    init?(_ text: String) {
        guard text.utf8.count == Ticket.characterCount else { return nil }
        digest = Self.words(of: text)
    }

    init(_ ticket: Ticket) { digest = Self.words(of: ticket.text) }

    /// Of another text than a ticket's.
    init(digestOf text: String) { digest = Self.words(of: text) }

    /// As an earlier process has written it.
    init?(carried bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        digest = Self.words(bytes)
    }

    var carried: [UInt8] {
        digest.flatMap { word in
            stride(from: UInt64(56), through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> $0) }
        }
    }

    private static func words(of text: String) -> [UInt64] { words(Array(SHA256.hash(data: Array(text.utf8)))) }

    private static func words(_ bytes: [UInt8]) -> [UInt64] {
        stride(from: 0, to: 32, by: 8).map { start in bytes[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) } }
    }
}

/// Identifies a ticket in logs and as an identity. It reveals nothing about the ticket itself.
package struct TicketID: Codable, Hashable, Sendable {
    private let number: UInt64

    init() { number = .random(in: .min ... .max) }

    /// 16 hexadecimal digits.
    package var text: String {
        Hexadecimal.encode(stride(from: UInt64(56), through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) })
    }
}

/// A ticket that was valid, and one use of which has now been spent. Only ``TicketOffice`` makes one.
struct SpentTicket: Sendable {
    /// The identity of the upgrade.
    let identity: Identity
    /// The proof that the ticket was issued for.
    let proof: (any AdmissionProof)?
    /// The time until which further tickets may be issued from this one.
    let chainEnd: MonotonicTime
    /// The shared secret that its holder had presented.
    let secret: SharedSecret?
    let isShared: Bool
    /// That the operator's ticket proves.
    let account: AccountID?

    fileprivate init(_ entry: TicketTable.Entry, _ proof: (any AdmissionProof)?) {
        identity = entry.identity
        self.proof = proof
        chainEnd = entry.chainEnd
        secret = entry.secret
        isShared = entry.isShared
        account = entry.account
    }
}

extension Principal {
    /// - Parameter ticket: its existence proves that it was spent.
    init(_ ticket: SpentTicket) {
        self.init(
            ticket.identity, proof: ticket.proof, ticketChainEnd: ticket.chainEnd, secret: ticket.secret,
            isOfSharedTicket: ticket.isShared, reclaims: ticket.account)
    }
}

/// The outcome of an attempt to spend a ticket.
enum TicketSpending: Sendable {
    case spent(SpentTicket)
    /// Not issued here, used up, or expired: these can't be told apart.
    case unknown
    case expired
    /// Valid, but the route doesn't allow its holder's method.
    case methodNotAllowed
}

extension TicketTable {
    /// Takes one use, unless the holder isn't allowed.
    mutating func spend(_ hash: TicketHash, at time: MonotonicTime, isAllowed: (Identity) -> Bool)
        -> TicketSpending
    {
        guard let entry = entry(hash, at: time) else { return .unknown }
        guard !hasExpired(entry) else { return .expired }
        guard isAllowed(entry.identity) else { return .methodNotAllowed }
        let spent = SpentTicket(entry, proof(of: entry))
        takeUse(of: hash)
        return .spent(spent)
    }
}
