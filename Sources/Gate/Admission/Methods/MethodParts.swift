/// What the composition root provides to admission methods: state that they share with the rest of the gateway.
package struct MethodParts: Sendable {
    /// `nil`: App Attest isn't configured.
    package var appAttest: AppAttestSettings?
    /// `nil`: `SIGNED_REQUESTS` is off.
    package var signedRequests: SignedRequestSettings?
    /// `nil`: there are no access tokens.
    package var tokens: TokenSettings?
    /// `nil`: there are no tickets.
    package var tickets: TicketOffice?
    /// `MTLS_CLIENT_CA_PATH`, `MTLS_CLIENT_CRL_PATH`. `nil`: a presented certificate is ignored.
    package var clientCertificates: (any CertificateStatus)?
    /// The client that may resume a session with its token alone.
    package var sessionBearer: SessionTokenMethod.Bearer

    package init(
        appAttest: AppAttestSettings?, tokens: TokenSettings? = nil, tickets: TicketOffice?,
        clientCertificates: (any CertificateStatus)?,
        sessionBearer: @escaping SessionTokenMethod.Bearer
    ) {
        self.appAttest = appAttest
        self.tokens = tokens
        self.tickets = tickets
        self.clientCertificates = clientCertificates
        self.sessionBearer = sessionBearer
    }
}
