import Crypto
import FoundationEssentials
import KeyStore
import StateCoding

/// The tickets of a fleet, in its store: each is there once, under the hash of its text, and its content is encrypted with a secret that the store doesn't have.
/// A ticket that is spent is taken out.
struct FleetTickets: Sendable {
    private static let purpose = "ticket"
    /// The number of the secret's generation, before the encrypted content.
    private static let numberBytes = 4

    let fleet: Fleet

    /// What a ticket stands for.
    struct Content: Codable, Sendable {
        let id: TicketID
        /// `nil`: the operator issued it.
        let holder: CarriedPrincipal?
        /// The name of the holder's method in routes.
        let route: String?
        /// In the fleet's time, as all times here.
        let expires: Int64
        let chainEnd: Int64
        var uses: Int
    }

    private var lifetime: UInt64 { TicketOffice.longestTimeToLive.wholeMilliseconds }

    private func view(at time: MonotonicTime) -> FleetIdentity.View {
        fleet.identity.view(of: Self.purpose, lifetime: lifetime, at: time)
    }

    /// - Returns: through `then`; `.full` also for a content that is too long.
    func keep(
        _ content: Content, as hash: TicketHash, at time: MonotonicTime,
        then: @escaping @Sendable (Result<MarkSpending, KeyRegistryError>) -> Void
    ) {
        let view = view(at: time)
        guard let ticket = Self.seal(content, hash, view) else { return then(.success(.full)) }
        fleet.registry.keep(ticket, in: view.incarnation) { result in
            fleet.learnIfForeign(try? result.get(), at: time) { then(result) }
        }
    }

    /// - Returns: through `then`: the content, of which one use is taken; `nil` if there is no such ticket, or another gateway was faster.
    func take(
        _ hash: TicketHash, at time: MonotonicTime,
        then: @escaping @Sendable (Result<Content?, KeyRegistryError>) -> Void
    ) {
        let view = view(at: time)
        fleet.registry.takeTicket(hash: hash.carried, at: view.time, in: view.incarnation) { result in
            then(result.map { $0.flatMap { Self.open($0, view) } })
        }
    }

    /// Without waiting for an answer.
    func discard(_ hash: TicketHash) {
        fleet.registry.takeTicket(hash: hash.carried, at: 0, in: fleet.identity.incarnation) { _ in }
    }

    // MARK: Encryption

    private static func seal(_ content: Content, _ hash: TicketHash, _ view: FleetIdentity.View) -> SealedTicket? {
        let (number, key) = view.issuing
        guard let bytes = try? StateEncoder.bytes(of: content),
            let box = try? AES.GCM.seal(bytes, using: key.encryption, authenticating: hash.carried),
            let combined = box.combined
        else { return nil }
        let prefix = stride(from: UInt32(24), through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
        return SealedTicket(hash: hash.carried, sealed: prefix + combined, expires: content.expires)
    }

    /// - Returns: nil for what no gateway of this fleet has written under this hash.
    private static func open(_ ticket: SealedTicket, _ view: FleetIdentity.View) -> Content? {
        let number = ticket.sealed.prefix(numberBytes).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        guard ticket.sealed.count > numberBytes, let key = view.key(of: number),
            let box = try? AES.GCM.SealedBox(combined: ticket.sealed.dropFirst(numberBytes)),
            let bytes = try? AES.GCM.open(box, using: key.encryption, authenticating: ticket.hash),
            let content = try? StateDecoder.decode(Content.self, from: Array(bytes)), content.uses > 0,
            content.expires > view.time
        else { return nil }
        return content
    }
}
