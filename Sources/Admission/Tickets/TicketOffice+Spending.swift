import KeyStore

/// Spends tickets that a store has. Each answer comes on any thread, once.
extension TicketOffice {
    // MARK: In a fleet

    /// Takes one use of a ticket out of the store, so that the gateways together spend it as often as it was issued for. A use that the route refuses is put back
    /// before the answer.
    func spend(
        _ text: String, in tickets: FleetTickets, for request: AdmissionRequest,
        then: @escaping @Sendable (Result<StoredTicketSpending, KeyRegistryError>) -> Void
    ) {
        guard let hash = TicketHash(text) else { return then(.success(.unknown)) }
        let time = request.moment.monotonic
        tickets.take(hash, at: time) { result in
            switch result {
            case .failure(let error): then(.failure(error))
            case .success(nil): then(.success(.unknown))
            case .success(let taken?): self.use(taken, hash, in: tickets, for: request) { then(.success($0)) }
            }
        }
    }

    private func use(
        _ taken: FleetTickets.Taken, _ hash: TicketHash, in tickets: FleetTickets, for request: AdmissionRequest,
        then: @escaping @Sendable (StoredTicketSpending) -> Void
    ) {
        let time = request.moment.monotonic
        guard request.allows(route: taken.content.route) else {
            return tickets.giveBack(taken, at: time) { then(.methodNotAllowed) }
        }
        if taken.isLast { forget(hash) }
        forget(session: taken.content.session)
        tickets.keepRest(of: taken, as: hash, at: time) { then(.spent(HeldTicket(taken.content))) }
    }

    // MARK: Alone

    /// Uses the next ticket of a session of this process or of one before. It is used when that is on the disk; one that the route refuses stays.
    func spend(
        _ text: String, in tickets: LocalTickets, for request: AdmissionRequest,
        then: @escaping @Sendable (Result<StoredTicketSpending, KeyRegistryError>) -> Void
    ) {
        guard let hash = TicketHash(text) else { return then(.success(.unknown)) }
        tickets.find(hash, at: request.moment) { [self] found in
            switch found {
            case .failure(let error): then(.failure(error))
            case .success(nil): then(.success(.unknown))
            case .success(let content?): use(content, hash, in: tickets, for: request, then: then)
            }
        }
    }

    private func use(
        _ content: TicketContent, _ hash: TicketHash, in tickets: LocalTickets, for request: AdmissionRequest,
        then: @escaping @Sendable (Result<StoredTicketSpending, KeyRegistryError>) -> Void
    ) {
        guard request.allows(route: content.route) else { return then(.success(.methodNotAllowed)) }
        tickets.use(hash) { [self] result in
            if case .success(true) = result { forget(session: content.session) }
            then(result.map { $0 ? .spent(HeldTicket(content)) : .unknown })
        }
    }
}

/// The outcome of an attempt to spend a ticket that a store has.
enum StoredTicketSpending: Sendable {
    case spent(HeldTicket)
    /// The store hasn't got it, it is used up, or it has expired: these can't be told apart.
    case unknown
    /// Valid, but the route doesn't allow its holder's method.
    case methodNotAllowed
}

/// A ticket that a store had, one use of which has now been taken. Only ``TicketOffice`` makes one.
package struct HeldTicket: Sendable {
    private let content: TicketContent

    fileprivate init(_ content: TicketContent) { self.content = content }

    /// - Parameter time: now, by the clock of the store's tickets and of this machine.
    func principal(by carrier: PrincipalCarrier, at time: (store: Int64, here: MonotonicTime)) throws -> Principal {
        let chainEnd = time.here.advanced(by: .milliseconds(max(0, content.chainEnd - time.store)))
        guard let holder = content.holder else {
            return Principal(
                .operatorTicket(content.id), proof: nil, ticketChainEnd: chainEnd,
                isOfSharedTicket: content.isShared ?? true)
        }
        return try carrier.restore(
            CarriedPrincipal(
                identity: holder.identity, proof: holder.proof, ticketChainEnd: chainEnd, secret: holder.secret,
                isByToken: false, isOfSharedTicket: holder.isOfSharedTicket))
    }
}
