import Accounts
import Admission
import AppAttest
import Logging
import Observability
import Reactors
import Relay
import RelayCore
import Settings
import WireText

/// The parts that a gateway makes from a configuration at its start and at each reload: settings for the engine and the
/// edge, with the state that is kept. Nothing here listens or dials.
struct GatewayParts {
    let relay: RelaySettings
    let edge: EdgeSettings
    /// Made from `edge.tls`, so the edge and the gate trust the same authorities.
    let material: TLSMaterial?
    /// Nil without ADMIN_BIND.
    let listening: InternalListening?
    /// Nil without FLEET_BIND.
    let fleet: FleetParts?

    private static let subprotocols = DialectKind.subprotocols.map(\.name)

    init(
        _ live: LiveConfiguration, _ pinned: StartupPinned, state: GatewayState,
        methods: [ConfiguredMethod] = .all, logger: Logger
    ) throws(GatewayError) {
        let edge = Self.edge(live, pinned, state.compression)
        self.edge = edge
        fleet = try state.fleet.parts(live, edge: edge)
        material = try gatewayErrors { () throws(ReactorError) in try edge.makeMaterial() }
        let listening = try Self.listening(live, pinned, state.start)
        self.listening = listening
        let appAttest = try Self.appAttest(live, pinned, material, state: state)
        let tokens = Self.tokens(live, pinned, appAttest?.settings, material, state: state)
        let accounts = tokens.flatMap { Self.accounts(live, $0, state: state) }
        var gate = GateSettings(drain: state.drain, leases: state.leases)
        gate.allowedOrigins = (live.gate.allowedOrigins + (accounts?.relatedOrigins ?? [])).compactMap { WebOrigin($0) }
        gate.allowsMissingOrigin = live.gate.allowsMissingOrigin
        gate.blockList = live.blockList
        gate.fleetBlockList = state.fleet.blockList
        gate.sharedSecrets = live.sharedSecrets
        gate.limits = state.upgrades
        if let store = state.store { gate.storeRetryAfter = { store.retryAfter } }
        gate.mayComeBack = { [directory = state.directory] in directory.mayComeBack($0, $1) }
        gate.findSession = { [directory = state.directory] in directory.find($0, at: $1) }
        let signed = try Self.signedRequests(live, appAttest, tokens, gate.fleetBlockList, state: state)
        var parts = MethodParts(
            appAttest: appAttest?.settings, tokens: tokens, tickets: state.tickets,
            clientCertificates: pinned.clientCertificates == nil ? nil : material.map(TLSCertificateStatus.init),
            sessionBearer: { [directory = state.directory] in directory.bearer(of: $0, at: $1) })
        parts.signedRequests = signed?.settings
        gate.methods = methods.map { $0.make(live, parts) }

        var relay = RelaySettings(
            targets: live.targetPolicy, dialer: try Self.dialer(live.target),
            dialects: Self.dialects(live), session: SessionLimits(live.session, live.resume),
            traffic: Self.traffic(live.traffic, state.messages),
            compression: live.compression.standard,
            directory: state.directory, gate: Gate(gate),
            drain: state.drain, requests: state.requests, attestation: appAttest?.services, tickets: state.tickets,
            servesWebClient: live.tickets.servesWebClient, trustedProxies: live.trustedProxies,
            warnings: pinned.appAttest?.customRoot == nil ? [] : ["App Attest trusts a root other than Apple's"],
            version: Gateway.version, audit: state.audit, journal: state.journal,
            whenAuditFails: live.logs.auditFull, metrics: state.metrics, logger: logger)
        relay.webClient = WebClientPage.answer(
            title: live.tickets.webClientTitle, noTicket: live.tickets.webClientNoTicket,
            passkeys: accounts.map { WebClientPage.Passkeys(origin: $0.tokens.issuer, signUp: $0.signUp) })
        relay.fleetRelay = fleet?.relay
        relay.appAuth = live.gate.appAuthDemand
        relay.internalAccess = InternalAccess(
            token: live.internalToken,
            acceptsCertificates: live.limitsInternalListener && pinned.internalTLS?.clients != nil)
        relay.servesConsole = live.internalListener.console == .on
        relay.certificate = material?.validity.map { CertificateValidity($0) }
        if pinned.internalTLS?.hasOwnCertificate == true {
            relay.internalCertificate = listening?.material?.validity.map {
                CertificateValidity($0, of: .internalListener)
            }
        }
        relay.signedRequests = signed?.services
        relay.signedAuthorization = signed?.authorization
        relay.requestAuthorization = tokens.map { tokens in
            RequestAuthorization(
                tokens, blockList: live.blockList, fleetBlockList: gate.fleetBlockList,
                admits: live.internalListener.admits.methods)
        }
        relay.tokens = tokens.map { tokens in
            TokenServices(
                settings: tokens,
                issuer: TokenIssuer(
                    tokens, registry: state.store?.keys, limits: state.endpoints,
                    maximumBodyBytes: live.connections.maximumBodyBytes),
                keySetMaximumAge: TokenState.keySetMaximumAge)
        }
        relay.accounts = accounts
        relay.platformFiles = accounts == nil ? nil : Self.platformFiles(pinned, state)
        self.relay = relay
    }

    /// For the reactors.
    var snapshot: RelaySnapshot {
        RelaySnapshot(
            relay, clients: EdgePart(edge, material: material), gateways: fleet?.listener,
            internalMaterial: listening?.material)
    }

    private static func listening(
        _ live: LiveConfiguration, _ pinned: StartupPinned, _ start: StartConfiguration
    ) throws(GatewayError) -> InternalListening? {
        guard let address = start.internalListener.address else { return nil }
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
            address, socketGroup: start.internalSocketGroup, material: material,
            maximumPerAddress: FixedLimits.internalConnectionsPerAddress,
            demandsAccess: !live.limitsInternalListener || live.internalToken != nil
                || live.internalTLS?.clients != nil)
    }

    private static func traffic(_ traffic: LiveValues<TrafficSection>, _ messages: AddressPaces) -> TrafficSettings {
        var settings = TrafficSettings()
        settings.messagesPerSecond = traffic.messagesPerSecond ?? 0
        settings.clientBytesPerSecond = traffic.clientBytesPerSecond ?? 0
        settings.targetBytesPerSecond = traffic.targetBytesPerSecond ?? 0
        settings.perAddress = traffic.messagesPerSecondPerAddress == nil ? nil : messages
        return settings
    }

    private static func edge(
        _ live: LiveConfiguration, _ pinned: StartupPinned, _ memory: CompressionMemory
    ) -> EdgeSettings {
        var limits = EdgeLimits()
        let timeout = live.connections.requestTimeoutMilliseconds
        limits.tlsHandshakeMilliseconds = pinned.tls == nil ? 0 : timeout
        limits.headerMilliseconds = timeout
        limits.bodyMilliseconds = timeout
        limits.upgradeMilliseconds = timeout
        limits.keepAliveSeconds = live.connections.keepAliveSeconds
        limits.maximumBodyBytes = live.connections.maximumBodyBytes
        limits.maximumMessageBytes = MessageSize.onTheWire(live.session.maximumMessageBytes)
        let tls = pinned.tls.map { tls in
            // Each reactor reads them again, and a link may be switched meanwhile.
            let pair = NamedFile.pair(tls.certificatePath, tls.keyPath)
            return TLSSettings(
                certificatePath: pair.first, privateKeyPath: pair.second,
                clientCAPath: pinned.clientCertificates?.authorityPath,
                clientCRLPath: pinned.clientCertificates?.revocationListPath,
                isTLS13Only: live.inboundTLS.minimumVersion == .tls13)
        }
        var settings = EdgeSettings(tls: tls, subprotocols: subprotocols, limits: limits)
        settings.strictTransport = "max-age=\(live.inboundTLS.strictTransportSeconds)"
        settings.compression = EdgeCompression(live.compression, memory)
        if live.proxies.sendHeader {
            let trusted = live.trustedProxies.ranges
            settings.trustsProxy = { peer in trusted.contains { $0.contains(peer.address) } }
        }
        return settings
    }
}

extension EdgeCompression {
    fileprivate init(_ compression: LiveValues<CompressionSection>, _ memory: CompressionMemory) {
        self.init(
            windowBits: FixedLimits.compressionWindowBits,
            serverKeepsContext: compression.context == .both || compression.context == .server,
            clientKeepsContext: compression.context == .both || compression.context == .client,
            minimumBytes: FixedLimits.compressedBytes, level: FixedLimits.compressionLevel, memory: memory)
    }
}

extension SessionLimits {
    fileprivate init(_ session: LiveValues<SessionSection>, _ resume: LiveValues<ResumeSection>) {
        self.init()
        pingInterval = UInt64(session.pingIntervalSeconds) * 1_000_000_000
        peerSilence = UInt64(session.peerSilenceSeconds) * 1_000_000_000
        closeFlush = UInt64(session.closeFlushMilliseconds) * 1_000_000
        slowClient = UInt64(session.slowClientSeconds) * 1_000_000_000
        resumeGrace = UInt64(resume.graceMinutes) * 60_000_000_000
        sessionTimeout = UInt64(resume.sessionTimeoutHours) * 3_600_000_000_000
    }
}
