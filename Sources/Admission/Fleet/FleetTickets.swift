import Crypto
import FoundationEssentials
import KeyStore
import StateCoding

/// The tickets of a fleet, in its store: each is there once, under the hash of its text, and its content is encrypted with a secret that the store doesn't have.
/// The store counts its uses, and removes it with the last one.
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
        /// More than one only if a program has kept it that doesn't leave the counting to the store. Then the store has one use, and whoever takes it keeps the rest.
        var uses = 1
        /// It was issued for several uses. Programs of before don't say.
        var isShared: Bool?
    }

    /// One use, taken out of the store.
    struct Taken: Sendable {
        let content: Content
        fileprivate let ticket: SealedTicket
        fileprivate let remaining: Int

        /// The store has no further use of it, and this gateway has none to put back.
        var isLast: Bool { remaining == 0 && content.uses == 1 }
    }

    private var lifetime: UInt64 { TicketOffice.longestTimeToLive.wholeMilliseconds }

    private func view(at time: MonotonicTime) -> FleetIdentity.View {
        fleet.identity.view(of: Self.purpose, lifetime: lifetime, at: time)
    }

    /// - Returns: through `then`; `.full` also for a content that is too long.
    func keep(
        _ content: Content, uses: Int, as hash: TicketHash, at time: MonotonicTime,
        then: @escaping @Sendable (Result<MarkSpending, KeyRegistryError>) -> Void
    ) {
        let view = view(at: time)
        guard let ticket = Self.seal(content, hash, view) else { return then(.success(.full)) }
        fleet.registry.keep(ticket, uses: uses, in: view.incarnation) { result in
            fleet.learnIfForeign(try? result.get(), at: time) { then(result) }
        }
    }

    /// - Returns: through `then`: one use; `nil` if there is no such ticket, or others have taken all of its uses. After an error one may be lost.
    func take(
        _ hash: TicketHash, at time: MonotonicTime,
        then: @escaping @Sendable (Result<Taken?, KeyRegistryError>) -> Void
    ) {
        let view = view(at: time)
        fleet.registry.takeTicket(hash: hash.carried, at: view.time, in: view.incarnation) { result in
            then(
                result.map { taken in
                    taken.flatMap { taken in
                        Self.open(taken.ticket, view).map {
                            Taken(content: $0, ticket: taken.ticket, remaining: taken.remaining)
                        }
                    }
                })
        }
    }

    /// What a use leaves that the store doesn't count. Answers when it is kept, or can't be.
    func keepRest(of taken: Taken, as hash: TicketHash, at time: MonotonicTime, then: @escaping @Sendable () -> Void) {
        guard taken.content.uses > 1 else { return then() }
        var rest = taken.content
        rest.uses = 1
        keep(rest, uses: taken.content.uses - 1, as: hash, at: time) { _ in then() }
    }

    /// Puts a use back. Answers when it is there, or can't be.
    func giveBack(_ taken: Taken, at time: MonotonicTime, then: @escaping @Sendable () -> Void) {
        fleet.registry.giveBack(taken.ticket, in: view(at: time).incarnation) { _ in then() }
    }

    /// With all its uses, without waiting for an answer.
    func discard(_ hash: TicketHash) { fleet.registry.discardTicket(hash: hash.carried) { _ in } }

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
