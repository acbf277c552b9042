package import KeyStore

/// An admitted client: its identity and the proof of it. Only this module can make one: the gate after a method has
/// verified a credential, and the ticket office from a spent ticket.
package struct Principal: Sendable {
    package let identity: Identity
    /// Used by the method that verified the identity; `nil` if that method needs none.
    package let proof: (any AdmissionProof)?
    /// For a client admitted by a ticket: the time until which further tickets may be issued. `nil`: the client
    /// presented the credentials themselves.
    let ticketChainEnd: MonotonicTime?
    /// The shared secret that the client also presented, now or for the ticket; `nil` if none is required.
    private(set) var secret: SharedSecret?
    /// The client resumed its session with the session's token alone.
    package private(set) var isByToken = false
    /// The operator's ticket has several uses, and so maybe several bearers.
    let isOfSharedTicket: Bool
    /// The account that the operator's ticket proves. Nothing that is made of this principal has it: the ticket proves
    /// it once.
    let reclaims: AccountID?

    init(
        _ identity: Identity, proof: (any AdmissionProof)?, ticketChainEnd: MonotonicTime? = nil,
        secret: SharedSecret? = nil, isOfSharedTicket: Bool = false, reclaims: AccountID? = nil
    ) {
        self.identity = identity
        self.proof = proof
        self.ticketChainEnd = ticketChainEnd
        self.secret = secret
        self.isOfSharedTicket = isOfSharedTicket
        self.reclaims = reclaims
    }

    static let anonymous = Principal(.anonymous, proof: nil)

    /// Whose sessions its sessions are.
    package var owner: SessionOwner {
        SessionOwner(identity, isShared: isOfSharedTicket || identity.method.holders == .several)
    }

    /// The only routes that the client may use; nil: all that its method may use.
    package var routes: Set<String>? { proof?.routes }

    /// The client presented its credentials earlier, for a ticket, and now presented that ticket.
    package var isByTicket: Bool { ticketChainEnd != nil }

    /// The method whose credential the client presented this time: its identity's method, unless it used a ticket or
    /// its session's token. The log, the audit log and metrics use this.
    package var shown: MethodName {
        if isByToken { return SessionTokenMethod.name }
        return isByTicket ? TicketMethod.name : identity.method
    }

    /// The player's account, whatever the method was.
    package var account: AccountID? { proof?.account }

    /// By which a block list may have it.
    package var names: [Identity] { [identity] + (proof?.furtherNames ?? []) }

    /// For the PROXY header.
    package var proxyName: String { isByTicket ? identity.method.proxyByTicket : identity.method.proxy }

    /// The name of the shared secret for logs; `nil` if none was presented.
    package var secretName: String? { secret?.name }

    /// For the process that replaces this one.
    var carriedSecret: SharedSecret? { secret }

    func showing(_ secret: SharedSecret?) -> Principal {
        guard let secret else { return self }
        var principal = self
        principal.secret = secret
        return principal
    }

    /// The same client without further tickets.
    func endingTickets(at time: MonotonicTime) -> Principal {
        guard isByTicket else { return self }
        var principal = Principal(
            identity, proof: proof, ticketChainEnd: time, secret: secret, isOfSharedTicket: isOfSharedTicket)
        principal.isByToken = isByToken
        return principal
    }

    /// The same client when it resumes its session with the session's token alone.
    var comingBack: Principal {
        var principal = self
        principal.isByToken = true
        return principal
    }
}
