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

    fileprivate init(_ entry: TicketTable.Entry, _ proof: (any AdmissionProof)?) {
        identity = entry.identity
        self.proof = proof
        chainEnd = entry.chainEnd
        secret = entry.secret
    }
}

extension Principal {
    /// - Parameter ticket: its existence proves that it was spent.
    init(_ ticket: SpentTicket) {
        self.init(ticket.identity, proof: ticket.proof, ticketChainEnd: ticket.chainEnd, secret: ticket.secret)
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
