import Admission
import AppAttest
import Logging
import Observability
import Reactors
import Relay
import RelayCore
import Settings
import WireText

/// The parts that a gateway makes from a configuration at its start and at each reload: settings for the engine and the edge, with the
/// state that is kept. Nothing here listens or dials.
struct GatewayParts {
    let relay: RelaySettings
    let edge: EdgeSettings
    /// Made from `edge.tls`, so the edge and the gate trust the same authorities.
    let material: TLSMaterial?
    /// Nil without ADMIN_BIND.
    let listening: InternalListening?

    private static let subprotocols = DialectKind.subprotocols.map(\.name)

    init(
        _ configuration: GatewayConfiguration, _ pinned: StartupPinned, state: GatewayState,
        methods: [ConfiguredMethod] = .all, logger: Logger
    ) throws(GatewayError) {
        let edge = Self.edge(configuration, pinned, state.compression)
        self.edge = edge
        material = try gatewayErrors { () throws(ReactorError) in try edge.makeMaterial() }
        let listening = try Self.listening(configuration, pinned)
        self.listening = listening
        let appAttest = try Self.appAttest(configuration, pinned, material, state: state)
        var gate = GateSettings(drain: state.drain, leases: state.leases)
        gate.allowedOrigins = configuration.gate.allowedOrigins.compactMap { WebOrigin($0) }
        gate.allowsMissingOrigin = configuration.gate.allowsMissingOrigin
        gate.blockList = configuration.blockList
        gate.fleetBlockList = state.store?.fleet?.blocks.list
        gate.sharedSecrets = configuration.sharedSecrets
        gate.limits = state.upgrades
        if let fleet = state.store?.fleet { gate.storeRetryAfter = { fleet.retryAfter } }
        gate.mayComeBack = { [directory = state.directory] in directory.mayComeBack($0, $1) }
        gate.findSession = { [directory = state.directory] in directory.find($0, at: $1) }
        let parts = MethodParts(
            appAttest: appAttest?.settings, tokens: appAttest?.tokens, tickets: state.tickets,
            clientCertificates: pinned.clientCertificates == nil ? nil : material.map(TLSCertificateStanding.init),
            sessionBearer: { [directory = state.directory] in directory.bearer(of: $0, at: $1) })
        gate.methods = methods.map { $0.make(configuration, parts) }

        var relay = RelaySettings(
            targets: configuration.targetPolicy, dialer: try Self.dialer(configuration.target),
            dialects: Self.dialects(configuration), session: SessionLimits(configuration.session, configuration.resume),
            traffic: Self.traffic(configuration.traffic, state.messages),
            compression: configuration.compression.standard,
            directory: state.directory, gate: Gate(gate),
            drain: state.drain, requests: state.requests, attestation: appAttest?.services, tickets: state.tickets,
            servesWebClient: configuration.tickets.servesWebClient, trustedProxies: configuration.trustedProxies,
            warnings: pinned.appAttest?.customRoot == nil ? [] : ["App Attest trusts a root other than Apple's"],
            version: Gateway.version, audit: state.audit, journal: state.journal,
            whenAuditFails: configuration.logs.auditFull, metrics: state.metrics, logger: logger)
        relay.webClient = WebClientPage.answer(
            title: configuration.tickets.webClientTitle, noTicket: configuration.tickets.webClientNoTicket)
        relay.forwarding = state.link?.forwarding
        relay.appAuth = configuration.gate.appAuthDemand
        relay.internalAccess = InternalAccess(
            token: configuration.internalToken, acceptsCertificates: pinned.internalTLS?.clients != nil)
        relay.servesConsole = configuration.internalListener.console == .on
        relay.certificate = material?.validity.map { CertificateValidity($0) }
        if pinned.internalTLS?.hasOwnCertificate == true {
            relay.internalCertificate = listening?.material?.validity.map {
                CertificateValidity($0, of: .internalListener)
            }
        }
        relay.forwardAuthorization = appAttest?.tokens.map { tokens in
            ForwardAuthorization(
                tokens, blockList: configuration.blockList, fleetBlockList: gate.fleetBlockList,
                admits: configuration.internalListener.admits.methods)
        }
        relay.tokens = appAttest?.tokens.map { tokens in
            TokenServices(
                settings: tokens,
                issuer: TokenIssuer(
                    tokens, registry: state.store?.keys, limits: state.endpoints,
                    maximumBodyBytes: configuration.connections.maximumBodyBytes),
                keySetMaximumAge: TokenState.keySetMaximumAge(configuration.tokens))
        }
        self.relay = relay
    }

    private static func listening(
        _ configuration: GatewayConfiguration, _ pinned: StartupPinned
    ) throws(GatewayError) -> InternalListening? {
        guard let address = configuration.internalListener.address else { return nil }
        let material = try pinned.internalTLS.map { tls throws(GatewayError) in
            let pair = NamedFile.pair(tls.certificatePath, tls.keyPath)
            do throws(TLSMaterialError) {
                return try TLSMaterial(
                    TLSSettings(
                        certificatePath: pair.first, privateKeyPath: pair.second,
                        clientCAPath: tls.clients?.authorityPath, clientCRLPath: tls.clients?.revocationListPath))
            } catch {
                throw .internalListener("TLS could not be set up: \(error)")
            }
        }
        return InternalListening(
            address, socketGroup: configuration.internalSocketGroup, material: material,
            maximumPerAddress: configuration.internalListener.maximumPerAddress,
            demandsAccess: configuration.internalToken != nil || configuration.internalTLS?.clients != nil)
    }

    private static func traffic(_ traffic: SectionValues<TrafficSection>, _ messages: AddressPaces) -> TrafficSettings {
        var settings = TrafficSettings()
        settings.messagesPerSecond = traffic.messagesPerSecond ?? 0
        settings.clientBytesPerSecond = traffic.clientBytesPerSecond ?? 0
        settings.targetBytesPerSecond = traffic.targetBytesPerSecond ?? 0
        settings.perAddress = traffic.messagesPerSecondPerAddress == nil ? nil : messages
        return settings
    }

    private static func edge(
        _ configuration: GatewayConfiguration, _ pinned: StartupPinned, _ memory: CompressionMemory
    ) -> EdgeSettings {
        var limits = EdgeLimits()
        limits.tlsHandshakeMilliseconds = pinned.tls?.handshakeTimeoutMilliseconds ?? 0
        limits.headerMilliseconds = configuration.connections.headerTimeoutMilliseconds
        limits.maximumHeaderBytes = configuration.connections.maximumHeaderBytes
        limits.bodyMilliseconds = configuration.connections.bodyTimeoutMilliseconds
        limits.upgradeMilliseconds = configuration.connections.upgradeTimeoutMilliseconds
        limits.keepAliveSeconds = configuration.connections.keepAliveSeconds
        limits.maximumBodyBytes = configuration.connections.maximumBodyBytes
        limits.maximumMessageBytes = MessageSize.onTheWire(configuration.session.maximumMessageBytes)
        let tls = pinned.tls.map { tls in
            // Each reactor reads them again, and a link may be switched meanwhile.
            let pair = NamedFile.pair(tls.certificatePath, tls.keyPath)
            return TLSSettings(
                certificatePath: pair.first, privateKeyPath: pair.second,
                clientCAPath: pinned.clientCertificates?.authorityPath,
                clientCRLPath: pinned.clientCertificates?.revocationListPath)
        }
        var settings = EdgeSettings(tls: tls, subprotocols: subprotocols, limits: limits)
        settings.strictTransport = "max-age=\(configuration.inboundTLS.strictTransportSeconds)"
        settings.compression = EdgeCompression(configuration.compression, memory)
        if configuration.proxies.sendHeader {
            let trusted = configuration.trustedProxies.ranges
            settings.trustsProxy = { peer in trusted.contains { $0.contains(peer.address) } }
        }
        return settings
    }
}

extension EdgeCompression {
    fileprivate init(_ compression: SectionValues<CompressionSection>, _ memory: CompressionMemory) {
        self.init(
            windowBits: compression.windowBits,
            serverKeepsContext: compression.context == .both || compression.context == .server,
            clientKeepsContext: compression.context == .both || compression.context == .client,
            minimumBytes: compression.minimumBytes, level: compression.level, memory: memory)
    }
}

extension SessionLimits {
    fileprivate init(_ session: SectionValues<SessionSection>, _ resume: SectionValues<ResumeSection>) {
        self.init()
        clientBufferBytes = session.clientBufferBytes
        targetBufferBytes = session.targetBufferBytes
        pingInterval = UInt64(session.pingIntervalSeconds) * 1_000_000_000
        peerSilence = UInt64(session.peerSilenceSeconds) * 1_000_000_000
        closeFlush = UInt64(session.closeFlushMilliseconds) * 1_000_000
        slowClient = UInt64(resume.slowClientSeconds) * 1_000_000_000
        resumeGrace = UInt64(resume.graceMinutes) * 60_000_000_000
        sessionTimeout = UInt64(resume.sessionTimeoutHours) * 3_600_000_000_000
    }
}
