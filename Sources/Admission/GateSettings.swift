/// How a gate is to decide, and the state it shares with the rest of the gateway. The defaults are the strict ones.
package struct GateSettings: Sendable {
    package var subprotocols: Subprotocols
    package var drain: DrainSwitch
    /// Beside the gateway's own.
    package var allowedOrigins: [WebOrigin]
    /// `ALLOW_MISSING_ORIGIN`.
    package var allowsMissingOrigin: Bool = true
    /// `BLOCK_LIST_PATH`.
    package var blockList = BlockList()
    /// `AUTH_MODE=shared-secret`: one of these is demanded besides everything else. `nil`: none is.
    package var sharedSecrets: SharedSecrets?
    package var slots: SessionSlots
    /// Whether somebody has a session that he may be coming back for.
    package var mayComeBack: @Sendable (SessionOwner, ClientAddress) -> Bool = { _, _ in false }
    /// Who may come back to a session with its token alone.
    package var sessionBearer: @Sendable (SessionCredential, MonotonicTime) -> Principal? = { _, _ in nil }
    package var limits: UpgradeLimits
    /// `nil`: App Attest isn't configured.
    package var appAttest: AppAttestSettings?
    /// `nil`: there are no tickets.
    package var tickets: TicketOffice?
    /// `MTLS_CLIENT_CA_PATH`, `MTLS_CLIENT_CRL_PATH`. `nil`: a presented certificate is ignored.
    package var clientCertificates: (any CertificateStanding)?
    /// `REQUIRE_APP_AUTH`. Danger: `false` lets clients without credentials in.
    package var requiresAppAuth: Bool

    package init(
        subprotocols: Subprotocols = .standard, drain: DrainSwitch, allowedOrigins: [WebOrigin] = [],
        slots: SessionSlots, limits: UpgradeLimits = UpgradeLimits(), appAttest: AppAttestSettings? = nil,
        tickets: TicketOffice? = nil, clientCertificates: (any CertificateStanding)? = nil, requiresAppAuth: Bool = true
    ) {
        self.subprotocols = subprotocols
        self.drain = drain
        self.allowedOrigins = allowedOrigins
        self.slots = slots
        self.limits = limits
        self.appAttest = appAttest
        self.tickets = tickets
        self.clientCertificates = clientCertificates
        self.requiresAppAuth = requiresAppAuth
    }

    var checksCertificates: Bool { clientCertificates != nil }
}
