import Admission
import AppAttest
import KeyStore
import KeyStoreSQLite
import Logging
import Observability
import Reactors
import Relay
import RelayCore

/// The parts of a gateway, each made from its piece of the configuration. Nothing here listens or dials.
struct GatewayParts {
    let store: SQLiteKeyRegistry?
    let audit: AuditLog
    let census: ConnectionCensus
    let relay: RelaySettings
    let edge: EdgeSettings
    let reactorCount: Int

    private static let subprotocols = DialectKind.subprotocols.map(\.name)

    init(_ configuration: GatewayConfiguration, warnings: [ConfigurationWarning], logger: Logger) throws(GatewayError) {
        FileLimit.raise()
        audit = try Self.openAudit(configuration.logs, logger: logger)
        census = ConnectionCensus(
            maximum: configuration.connections.maximum ?? FileLimit.capacity,
            maximumPerAddress: configuration.connections.maximumPerAddress)
        reactorCount = configuration.process.reactorThreads ?? Cores.count
        edge = Self.edge(configuration)

        let drain = DrainSwitch()
        let appAttest = try Self.appAttest(configuration)
        store = appAttest?.store
        var gate = GateSettings(
            subprotocols: Subprotocols(Self.subprotocols), drain: drain,
            slots: SessionSlots(maximum: configuration.session.maximumSessions ?? FileLimit.capacity))
        gate.allowedOrigins = configuration.gate.allowedOrigins.compactMap { WebOrigin($0) }
        gate.allowsMissingOrigin = configuration.gate.allowsMissingOrigin
        gate.blockList = configuration.gate.blockList
        gate.sharedSecrets = configuration.gate.sharedSecrets
        gate.limits = UpgradeLimits(
            failedUpgradesPerMinute: configuration.limits.failedUpgradesPerMinute,
            verificationsPerSecond: configuration.limits.verificationsPerSecond,
            maximumEntries: configuration.limits.maximumLimiterEntries)
        gate.appAttest = appAttest?.settings
        let tickets = TicketOffice(
            timeToLive: .seconds(configuration.tickets.lifetimeSeconds), maximum: configuration.tickets.maximum)
        gate.tickets = tickets
        gate.checksCertificates = configuration.clientCertificates != nil
        gate.requiresAppAuth = configuration.gate.requiresCredentials

        relay = RelaySettings(
            targets: configuration.target.policy, dialer: try Self.dialer(configuration.target),
            dialects: Self.dialects(configuration), session: SessionLimits(configuration.session), gate: Gate(gate),
            drain: drain, attestation: appAttest?.services, tickets: tickets,
            servesWebClient: configuration.tickets.servesWebClient, trustedProxies: configuration.proxies.trusted,
            warnings: configuration.appAttest?.customRoot == nil
                ? [] : ["App Attest trusts a root other than Apple's"],
            version: Gateway.version, audit: audit, metrics: GatewayMetrics(), logger: logger)
    }

    private static func openAudit(
        _ logs: GatewayConfiguration.Logs, logger: Logger
    ) throws(GatewayError) -> AuditLog {
        do throws(LineOutputError) {
            return try AuditLog(path: logs.auditLogPath, logger: logger)
        } catch {
            throw .auditLog("\(error)")
        }
    }

    private static func edge(_ configuration: GatewayConfiguration) -> EdgeSettings {
        var limits = EdgeLimits()
        limits.tlsHandshakeMilliseconds = configuration.listener.tls?.handshakeTimeoutMilliseconds ?? 0
        limits.headerMilliseconds = configuration.connections.headerTimeoutMilliseconds
        limits.bodyMilliseconds = configuration.connections.bodyTimeoutMilliseconds
        limits.keepAliveSeconds = configuration.connections.keepAliveSeconds
        limits.maximumBodyBytes = configuration.connections.maximumBodyBytes
        limits.maximumMessageBytes = configuration.session.maximumMessageBytes
        let tls = configuration.listener.tls.map { tls in
            TLSSettings(
                certificatePath: tls.certificatePath, privateKeyPath: tls.keyPath,
                clientCAPath: configuration.clientCertificates?.authorityPath,
                clientCRLPath: configuration.clientCertificates?.revocationListPath)
        }
        var settings = EdgeSettings(tls: tls, subprotocols: subprotocols, limits: limits)
        if configuration.proxies.sendHeader {
            let trusted = configuration.proxies.trusted.ranges
            settings.trustsProxy = { peer in trusted.contains { $0.contains(ClientAddress(peer)) } }
        }
        return settings
    }
}

extension SessionLimits {
    fileprivate init(_ session: GatewayConfiguration.Session) {
        self.init()
        clientBufferBytes = session.clientBufferBytes
        targetBufferBytes = session.targetBufferBytes
        pingInterval = UInt64(session.pingIntervalSeconds) * 1_000_000_000
        peerSilence = UInt64(session.peerSilenceSeconds) * 1_000_000_000
        closeFlush = UInt64(session.closeFlushMilliseconds) * 1_000_000
    }
}
