package import Admission
package import Logging
package import Observability
package import RelayCore

/// What the engine is told by whoever composes the gateway. Values and shared state; no clocks, no sockets.
package struct RelaySettings: Sendable {
    package var target: TargetAddress
    package var session: SessionLimits
    package var gate: Gate
    package var drain: DrainSwitch
    /// Nil where App Attest isn't configured: `/attest/*` answers 404.
    package var attestation: AttestationServices?
    /// The gate's own. Nil: there are no tickets, and `/ticket` answers 404.
    package var tickets: TicketOffice?
    /// Said in `/health`, so that nobody forgets them.
    package var warnings: [String]
    package var version: String
    package var audit: AuditLog
    package var metrics: GatewayMetrics
    package var logger: Logger

    package init(
        target: TargetAddress, session: SessionLimits, gate: Gate, drain: DrainSwitch,
        attestation: AttestationServices?, tickets: TicketOffice? = nil, warnings: [String], version: String,
        audit: AuditLog,
        metrics: GatewayMetrics, logger: Logger
    ) {
        self.target = target
        self.session = session
        self.gate = gate
        self.drain = drain
        self.attestation = attestation
        self.tickets = tickets
        self.warnings = warnings
        self.version = version
        self.audit = audit
        self.metrics = metrics
        self.logger = logger
    }
}

/// The service behind the gateway.
package struct TargetAddress: Sendable {
    package var host: String
    package var port: UInt16
    package var dialTimeoutMilliseconds: Int

    package init(host: String, port: UInt16, dialTimeoutMilliseconds: Int) {
        self.host = host
        self.port = port
        self.dialTimeoutMilliseconds = dialTimeoutMilliseconds
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
