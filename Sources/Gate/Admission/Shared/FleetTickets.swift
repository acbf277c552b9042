import Crypto
import FoundationEssentials
import KeyStore
import StateCoding

/// The tickets of a fleet, in its store: each is there once, under the hash of its text, and its content is encrypted
/// with a secret that the store doesn't have. The store counts its uses, and removes it with the last one.
struct FleetTickets: Sendable {
    private static let purpose = "ticket"
    /// The number of the secret's generation, before the encrypted content.
    private static let numberBytes = 4

    let fleet: Fleet

    /// One use, taken out of the store.
    struct Taken: Sendable {
        let content: TicketContent
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
        _ content: TicketContent, uses: Int, as hash: TicketHash, at time: MonotonicTime,
        then: @escaping @Sendable (Result<MarkSpending, KeyRegistryError>) -> Void
    ) {
        let view = view(at: time)
        guard let sealed = Self.seal(content, hash, view),
            let ticket = SealedTicket(hash: hash.carried, sealed: sealed, expires: content.expires)
        else { return then(.success(.full)) }
        fleet.registry.keep(ticket, uses: uses, in: view.incarnation) { result in
            fleet.learnIfForeign(try? result.get(), at: time) { then(result) }
        }
    }

    /// - Returns: through `then`: one use; `nil` if there is no such ticket, or others have taken all of its uses.
    ///   After an error one may be lost.
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

    /// Puts a use back. Answers when it is there, or can't be. Of a session's next tickets the others stay away.
    func giveBack(_ taken: Taken, at time: MonotonicTime, then: @escaping @Sendable () -> Void) {
        if let hash = TicketHash(carried: taken.ticket.hash),
            let kept = taken.content.kept(as: hash, taken.ticket.sealed)
        {
            let kept = kept.shortened(to: taken.ticket.expires)
            return fleet.registry.keep(kept, in: view(at: time).incarnation) { _ in then() }
        }
        fleet.registry.giveBack(taken.ticket, in: view(at: time).incarnation) { _ in then() }
    }

    /// With all its uses, without waiting for an answer.
    func discard(_ hash: TicketHash) { fleet.registry.discardTicket(hash: hash.carried) { _ in } }

    // MARK: Encryption

    private static func seal(
        _ content: TicketContent, _ hash: TicketHash, _ view: FleetIdentity.View
    ) -> [UInt8]? {
        let (number, key) = view.issuing
        guard let bytes = try? StateEncoder.bytes(of: content),
            let box = try? AES.GCM.seal(bytes, using: key.encryption, authenticating: hash.carried),
            let combined = box.combined
        else { return nil }
        let prefix = stride(from: UInt32(24), through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
        return prefix + combined
    }

    /// - Returns: nil for what no gateway of this fleet has written under this hash.
    private static func open(_ ticket: SealedTicket, _ view: FleetIdentity.View) -> TicketContent? {
        let number = ticket.sealed.prefix(numberBytes).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        guard ticket.sealed.count > numberBytes, let key = view.key(of: number),
            let box = try? AES.GCM.SealedBox(combined: ticket.sealed.dropFirst(numberBytes)),
            let bytes = try? AES.GCM.open(box, using: key.encryption, authenticating: ticket.hash),
            let content = try? StateDecoder.decode(TicketContent.self, from: Array(bytes)), content.uses > 0,
            content.expires > view.time
        else { return nil }
        return content
    }
}

// MARK: Next tickets

extension FleetTickets: NextTicketKeeper {
    func time(at moment: Moment) -> Int64 { fleet.identity.time(at: moment.monotonic) }

    func seal(_ content: TicketContent, as hash: TicketHash, at moment: Moment) -> KeptTicket? {
        Self.seal(content, hash, view(at: moment.monotonic)).flatMap { content.kept(as: hash, $0) }
    }

    func keep(
        _ ticket: KeptTicket, at moment: Moment,
        then: @escaping @Sendable (Result<MarkSpending, KeyRegistryError>) -> Void
    ) {
        let time = moment.monotonic
        fleet.registry.keep(ticket, in: view(at: time).incarnation) { result in
            fleet.learnIfForeign(try? result.get(), at: time) { then(result) }
        }
    }

    func shorten(ofSession session: SessionMark, to time: Int64) {
        fleet.registry.shortenTickets(ofSession: session, to: time) { _ in }
    }
}
