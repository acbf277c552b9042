package import AppAttest
package import KeyStore

/// Who was admitted, and by which way. Only this module can make one: its policies, each from the proof it has checked, and the ticket
/// office, from a ticket that was spent.
package struct Principal: Sendable {
    package enum Way: Hashable, Sendable {
        case appAttest(KeyID, app: AppID)
        case debugCertificate(sha256: [UInt8], subject: String)
        /// Whoever holds a ticket that the operator gave out.
        case operatorTicket(TicketID)
        case anonymous
    }

    package let way: Way
    /// For whoever came in by a ticket: until when another may follow. `nil`: the credentials themselves were shown.
    let ticketChainEnd: MonotonicTime?
    /// Of `debugCertificate`; also where its ticket was shown.
    package let certificateNumber: CertificateNumber?
    /// The same; what ``ProofCheck`` verifies again.
    let certificateChain: ClientCertificateChain?
    /// The shared secret that was shown besides, now or for the ticket; `nil` where none is demanded.
    private(set) var secret: SharedSecret?
    /// It came back to its session with the session's token alone.
    package private(set) var isByToken = false

    /// - Parameter assertion: not looked at; that it exists is the proof.
    init(_ assertion: VerifiedAssertion, by key: KeyID, app: AppID) { self.init(way: .appAttest(key, app: app)) }

    init(debugging certificate: ClientCertificate) {
        self.init(
            way: .debugCertificate(sha256: certificate.sha256, subject: certificate.subject),
            certificateNumber: certificate.number, certificateChain: certificate.chain)
    }

    /// - Parameter ticket: that it was spent is the proof; whose it is stands in it.
    init(_ ticket: SpentTicket) {
        switch ticket.holder {
        case .principal(let way):
            self.init(
                way: way, ticketChainEnd: ticket.chainEnd, certificateNumber: ticket.certificate?.number,
                certificateChain: ticket.certificate?.chain, secret: ticket.secret)
        case .bearer: self.init(way: .operatorTicket(ticket.id), ticketChainEnd: ticket.chainEnd)
        }
    }

    private init(
        way: Way, ticketChainEnd: MonotonicTime? = nil, certificateNumber: CertificateNumber? = nil,
        certificateChain: ClientCertificateChain? = nil, secret: SharedSecret? = nil
    ) {
        self.way = way
        self.certificateNumber = certificateNumber
        self.certificateChain = certificateChain
        self.secret = secret
        self.ticketChainEnd = ticketChainEnd
    }

    /// The credentials themselves were shown before, for a ticket, and the ticket now.
    package var isByTicket: Bool { ticketChainEnd != nil }

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

    /// Names the shared secret in logs; `nil` where none was shown.
    package var secretName: String? { secret?.name }

    static let anonymous = Principal(way: .anonymous)

    /// The way's stable name in logs.
    package var wayName: String {
        switch way {
        case .appAttest: isByTicket ? "app_attest_ticket" : "app_attest"
        case .debugCertificate: isByTicket ? "client_certificate_ticket" : "client_certificate"
        case .operatorTicket: "operator_ticket"
        case .anonymous: "anonymous"
        }
    }

    /// Names the client in logs: the key's identifier, the certificate's SHA-256 in hex, the ticket's name, or nothing.
    package var identity: String? {
        switch way {
        case .appAttest(let key, _): key.base64
        case .debugCertificate(let sha256, _): Hexadecimal.encode(sha256)
        case .operatorTicket(let ticket): ticket.text
        case .anonymous: nil
        }
    }
}
