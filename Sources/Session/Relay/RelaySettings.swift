package import Accounts
package import Admission
package import Logging
package import Observability
package import Reactors
package import RelayCore

/// The engine's settings, made by the composition root. Values and shared state; no clocks, no sockets.
package struct RelaySettings: Sendable {
    /// The targets that clients may reach, and how to connect to them.
    package var targets: TargetPolicy
    package var dialer: TargetDialer
    package var dialects: DialectSettings
    package var session: SessionLimits
    package var traffic: TrafficSettings
    /// `WS_COMPRESSION`, for targets whose route doesn't override it.
    package var compression: ClientCompression
    package var directory: SessionDirectory
    package var gate: Gate
    package var drain: DrainSwitch
    package var requests: RequestLimits
    /// Nil if App Attest isn't configured: `/attest/*` answers 404.
    package var attestation: AttestationServices?
    /// Nil: `SIGNED_REQUESTS` is off, and its paths answer 404.
    package var signedRequests: SignedRequestServices?
    /// The same for `/authz`.
    package var signedAuthorization: SignedAuthorization?
    /// The same object as the gate's. Nil: tickets are disabled, and `/ticket` answers 404.
    package var tickets: TicketOffice?
    /// Nil: there are no access tokens, and `/token` answers 404.
    package var tokens: TokenServices?
    /// Nil: there are no access tokens, and `/authz` of the internal listener answers 404.
    package var requestAuthorization: RequestAuthorization?
    /// Nil: there are no accounts, and `/api/auth/…` answers 404.
    package var accounts: AccountServices?
    /// Nil: there are no accounts.
    package var platformFiles: PlatformFiles?
    /// `REQUIRE_APP_AUTH`, for warnings; the gate's methods have it too.
    package var appAuth = AppAuthDemand.required
    /// `ENABLE_WEB_CLIENT`
    package var servesWebClient: Bool
    /// The page, with `WEB_CLIENT_TITLE` and `WEB_CLIENT_NO_TICKET`.
    package var webClient = WebClientPage.answer()
    /// `TRUSTED_PROXY_CIDRS`, `TRUSTED_PROXY_HEADER`
    package var trustedProxies: TrustedProxies
    /// Shown in `/health`, so that they aren't forgotten.
    package var warnings: [String]
    /// Of the server's certificate; nil without TLS.
    package var certificate: CertificateValidity?
    /// Of the internal listener's certificate; nil if it has none of its own.
    package var internalCertificate: CertificateValidity?
    package var version: String
    package var audit: AuditLog
    package var journal: RefusalJournal
    /// `AUDIT_FULL`
    package var whenAuditFails: AuditFull
    package var metrics: GatewayMetrics
    package var internalAccess = InternalAccess()
    /// Nil: this gateway is alone, and has all sessions.
    package var fleetRelay: FleetRelay?
    /// `ADMIN_CONSOLE`
    package var servesConsole = false
    package var logger: Logger

    package init(
        targets: TargetPolicy, dialer: TargetDialer, dialects: DialectSettings, session: SessionLimits,
        traffic: TrafficSettings, compression: ClientCompression, directory: SessionDirectory, gate: Gate,
        drain: DrainSwitch,
        requests: RequestLimits, attestation: AttestationServices?, tickets: TicketOffice?, servesWebClient: Bool,
        trustedProxies: TrustedProxies, warnings: [String], version: String, audit: AuditLog, journal: RefusalJournal,
        whenAuditFails: AuditFull, metrics: GatewayMetrics, logger: Logger
    ) {
        self.targets = targets
        self.dialer = dialer
        self.dialects = dialects
        self.session = session
        self.traffic = traffic
        self.compression = compression
        self.directory = directory
        self.gate = gate
        self.drain = drain
        self.requests = requests
        self.attestation = attestation
        self.tickets = tickets
        self.servesWebClient = servesWebClient
        self.trustedProxies = trustedProxies
        self.warnings = warnings
        self.version = version
        self.audit = audit
        self.journal = journal
        self.whenAuditFails = whenAuditFails
        self.metrics = metrics
        self.logger = logger
    }
}

/// The services behind `/attest/challenge` and `/attest/register`; shared by all reactors.
package struct AttestationServices: Sendable {
    package var challenges: Challenges
    package var limits: EndpointLimits
    package var registrar: Registrar

    package init(challenges: Challenges, limits: EndpointLimits, registrar: Registrar) {
        self.challenges = challenges
        self.limits = limits
        self.registrar = registrar
    }
}
