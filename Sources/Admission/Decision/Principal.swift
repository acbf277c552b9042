/// An admitted client: its identity, and what has proved it. Only this module can make one: the gate, when a method has verified a credential,
/// and the ticket office, from a ticket that was spent.
package struct Principal: Sendable {
    package let identity: Identity
    /// For the method that has verified the identity; `nil` where it needs none.
    package let proof: (any AdmissionProof)?
    /// For a client that came by a ticket: until when another may follow. `nil`: the credentials themselves were shown.
    let ticketChainEnd: MonotonicTime?
    /// The shared secret that was shown besides, now or for the ticket; `nil` where none is demanded.
    private(set) var secret: SharedSecret?
    /// It came back to its session with the session's token alone.
    package private(set) var isByToken = false

    init(
        _ identity: Identity, proof: (any AdmissionProof)?, ticketChainEnd: MonotonicTime? = nil,
        secret: SharedSecret? = nil
    ) {
        self.identity = identity
        self.proof = proof
        self.ticketChainEnd = ticketChainEnd
        self.secret = secret
    }

    static let anonymous = Principal(.anonymous, proof: nil)

    /// The credentials themselves were shown before, for a ticket, and the ticket now.
    package var isByTicket: Bool { ticketChainEnd != nil }

    /// The method whose credential the client has shown this time: that of its identity, unless it came by a ticket or by the token of its
    /// session. This is what the log, the audit log and metrics count by.
    package var shown: MethodName {
        if isByToken { return SessionTokenMethod.name }
        return isByTicket ? TicketMethod.name : identity.method
    }

    /// For the PROXY header.
    package var proxyName: String { isByTicket ? identity.method.proxyByTicket : identity.method.proxy }

    /// Names the shared secret in logs; `nil` where none was shown.
    package var secretName: String? { secret?.name }

    func showing(_ secret: SharedSecret?) -> Principal {
        guard let secret else { return self }
        var principal = self
        principal.secret = secret
        return principal
    }

    /// The same, when it comes back to its session with the session's token alone.
    var comingBack: Principal {
        var principal = self
        principal.isByToken = true
        return principal
    }
}
