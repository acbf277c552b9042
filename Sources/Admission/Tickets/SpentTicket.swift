/// A ticket of ours that was valid and had a use left, which is taken now. Only ``TicketOffice`` makes one.
struct SpentTicket: Sendable {
    /// Whose upgrade it is.
    let identity: Identity
    /// The proof that the ticket was given for.
    let proof: (any AdmissionProof)?
    /// Until when further tickets may follow from this one.
    let chainEnd: MonotonicTime
    /// What its holder had shown besides.
    let secret: SharedSecret?

    fileprivate init(_ entry: TicketTable.Entry, _ proof: (any AdmissionProof)?) {
        identity = entry.identity
        self.proof = proof
        chainEnd = entry.chainEnd
        secret = entry.secret
    }
}

extension Principal {
    /// - Parameter ticket: that it was spent is the proof.
    init(_ ticket: SpentTicket) {
        self.init(ticket.identity, proof: ticket.proof, ticketChainEnd: ticket.chainEnd, secret: ticket.secret)
    }
}

/// What became of an attempt to spend a ticket.
enum TicketSpending: Sendable {
    case spent(SpentTicket)
    /// Not ours, used up, or forgotten after its time: nobody can tell these apart.
    case unknown
    case expired
    /// Ours and still good, but the route isn't open to its holder.
    case methodNotAllowed
}

extension TicketTable {
    /// Takes one use. What isn't allowed takes none.
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
