/// A ticket of ours that was in time and had a use left, which is gone now. Only ``TicketOffice`` makes one.
struct SpentTicket: Sendable {
    enum Holder: Hashable, Sendable {
        /// Whoever asked for it, having shown credentials to the gate.
        case principal(Principal.Way)
        /// Whoever the operator gave it to.
        case bearer
    }

    let id: TicketID
    let holder: Holder
    /// Until when further tickets may follow from this one.
    let chainEnd: MonotonicTime
    /// The certificate that the ticket was given for.
    let certificate: TicketCertificate?
    /// What its holder had shown besides.
    let secret: SharedSecret?

    fileprivate init(_ entry: TicketTable.Entry, _ certificate: TicketCertificate?) {
        id = entry.id
        holder = entry.holder
        chainEnd = entry.chainEnd
        self.certificate = certificate
        secret = entry.secret
    }
}

/// What became of an attempt to spend a ticket.
enum TicketSpending: Sendable {
    case spent(SpentTicket)
    /// Not ours, used up, or forgotten after its time: nobody can tell these apart.
    case unknown
    case expired
    /// Ours and still good, but not for a way that is asked for.
    case wayNotAllowed
}

extension TicketTable {
    /// Takes one use. What isn't allowed takes none.
    mutating func spend(_ hash: TicketHash, at time: MonotonicTime, isAllowed: (SpentTicket.Holder) -> Bool)
        -> TicketSpending
    {
        guard let entry = entry(hash, at: time) else { return .unknown }
        guard !hasExpired(entry) else { return .expired }
        guard isAllowed(entry.holder) else { return .wayNotAllowed }
        let spent = SpentTicket(entry, certificate(of: entry))
        takeUse(of: hash)
        return .spent(spent)
    }
}
