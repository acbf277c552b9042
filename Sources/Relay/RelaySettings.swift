package import Admission
package import Logging
package import Observability
package import RelayCore

/// What the engine is told by whoever composes the gateway. Values and shared state; no clocks, no sockets.
package struct RelaySettings: Sendable {
    /// What clients may be connected to, and how it is reached.
    package var targets: TargetPolicy
    package var dialer: TargetDialer
    package var dialects: DialectSettings
    package var session: SessionLimits
    package var traffic: TrafficSettings
    /// `WS_COMPRESSION`, for targets whose route says nothing else.
    package var compression: ClientCompression
    package var directory: SessionDirectory
    package var gate: Gate
    package var drain: DrainSwitch
    package var requests: RequestLimits
    /// Nil where App Attest isn't configured: `/attest/*` answers 404.
    package var attestation: AttestationServices?
    /// The gate's own. Nil: there are no tickets, and `/ticket` answers 404.
    package var tickets: TicketOffice?
    /// `ENABLE_WEB_CLIENT`
    package var servesWebClient: Bool
    /// `TRUSTED_PROXY_CIDRS`, `TRUSTED_PROXY_HEADER`
    package var trustedProxies: TrustedProxies
    /// Said in `/health`, so that nobody forgets them.
    package var warnings: [String]
    /// Of the server's certificate; nil without TLS.
    package var certificate: CertificateValidity?
    package var version: String
    package var audit: AuditLog
    package var journal: RefusalJournal
    /// `AUDIT_FULL`
    package var whenAuditFails: AuditFull
    package var metrics: GatewayMetrics
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

/// What `/attest/challenge` and `/attest/register` stand on; shared by all reactors.
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
