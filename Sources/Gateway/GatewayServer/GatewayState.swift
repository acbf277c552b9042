import Admission
import DPoP
import KeyStore
import Logging
import Observability
import PrometheusText
import Reactors
import Relay
import Settings

/// State that a gateway creates once and keeps through every reload: its store, logs, counters and memory of clients.
struct GatewayState: Sendable {
    /// What this process has read at its start: a reload changes none of it.
    let start: StartConfiguration
    let fleet: GatewayFleet
    /// Nil for a gateway that is alone, if neither App Attest was configured nor ATTESTED_KEYS_PATH set at the start.
    let store: (any GatewayStore)?
    /// The next tickets of sessions; nil in a fleet, whose store has them.
    let keptTickets: (any KeptTicketStore)?
    /// Nil without App Attest and without accounts.
    let tokens: TokenState?
    let audit: AuditLog
    let journal: RefusalJournal
    /// The backend of `metrics`.
    let registry: MetricRegistry
    let metrics: GatewayMetrics
    let census: ConnectionCensus
    let compression: CompressionMemory
    let drain = DrainSwitch()
    /// What limits read at each event.
    private let figures: Current<LiveFigures>
    let leases: SessionLeases
    let requests: RequestLimits
    let upgrades: UpgradeLimits
    let endpoints: EndpointLimits
    let challenges: Challenges
    let passkeyChallenges: PasskeyChallenges
    let signUps: SignUpLimits
    let tickets: TicketOffice
    let directory: SessionDirectory
    let watcher = OwnRevocationWatcher()
    /// `MESSAGES_PER_SECOND_PER_ADDRESS`
    let messages: AddressPaces

    /// - Parameters:
    ///   - member: the fleet's id of the process that this one replaces.
    ///   - folder: for what outlives the process.
    init(
        _ configuration: GatewayConfiguration, member: String? = nil, folder: String? = nil, logger: Logger
    ) throws(GatewayError) {
        let live = configuration.live
        try self.init(
            configuration.atStart, signing: TokenState.schedule(live.tokens), member: member, folder: folder,
            logger: logger)
        apply(live)
    }

    /// With limits that ``apply(_:)`` replaces at once: what a reload changes isn't known here, so none of it can be
    /// read at the start only.
    ///
    /// - Parameter signing: when signing keys are replaced, and for how long they are kept.
    private init(
        _ start: StartConfiguration, signing: SigningKeySchedule, member: String?, folder: String?, logger: Logger
    ) throws(GatewayError) {
        self.start = start
        let figures = Current(LiveFigures(signing: signing))
        self.figures = figures
        registry = MetricRegistry(MetricName.families)
        let metrics = GatewayMetrics(factory: registry)
        self.metrics = metrics
        audit = try Self.openAudit(path: start.logs.auditLogPath, logger: logger)
        journal = RefusalJournal(
            audit: audit, metrics: metrics, logger: logger, linesPerMinute: figures.now.auditRefusalsPerMinute)
        census = ConnectionCensus(
            maximum: figures.now.maximumConnections, maximumPerAddress: figures.now.connectionsPerAddress,
            handshakes: HandshakeRates(
                perSecond: figures.now.handshakesPerSecond,
                perSecondPerAddress: figures.now.handshakesPerSecondPerAddress))
        compression = CompressionMemory(
            sessionBytes: FixedLimits.compressionSessionBytes, totalBytes: figures.now.compressionBytes)
        leases = SessionLeases(maximum: figures.now.maximumSessions)
        let maximumEntries = start.limits.maximumLimiterEntries
        requests = RequestLimits(
            requestsPerSecond: figures.now.requestsPerSecond, maximumEntries: maximumEntries)
        upgrades = UpgradeLimits(
            failedUpgradesPerMinute: figures.now.failedUpgradesPerMinute,
            verificationsPerSecond: figures.now.verificationsPerSecond, maximumEntries: maximumEntries)
        endpoints = EndpointLimits(
            challengesPerMinute: figures.now.challengesPerMinute,
            registrationsPerMinute: figures.now.registrationsPerMinute,
            tokensPerMinute: figures.now.tokensPerMinute, maximumEntries: maximumEntries)
        let observer = StoreObserver(metrics)
        let fleet = try GatewayFleet(
            start, observer, limits: figures.now.relays, member: member, folder: folder, logger: logger)
        self.fleet = fleet
        let store = try Self.store(of: fleet, start, observer)
        self.store = store
        challenges = Challenges(
            epoch: .now, timeToLive: .seconds(start.limits.challengeLifetimeSeconds),
            maximumSpent: start.tokens.maximumProofs, fleet: fleet.identity)
        passkeyChallenges = PasskeyChallenges(
            epoch: .now, maximumSpent: start.tokens.maximumProofs, fleet: fleet.identity)
        signUps = SignUpLimits(perHour: figures.now.signUpsPerHour, maximumEntries: maximumEntries)
        keptTickets = try Self.keptTickets(in: store, observer)
        tickets = TicketOffice(
            timeToLive: .seconds(start.tickets.lifetimeSeconds), fleet: fleet.shared, kept: keptTickets,
            nextLifetime: figures.now.nextTicketLifetime)
        directory = SessionDirectory(figures.now.sessions, announcer: fleet.announcer, counts: fleet.counts)
        fleet.attach(directory)
        messages = AddressPaces(perSecond: figures.now.messagesPerSecondPerAddress)
        tokens =
            if let store, start.hasAppAttest || start.passkeys != nil {
                try TokenState(start, store, figures.now.signing)
            } else { nil }
    }

    /// What the settings say now, at the start and at each reload: everything here reads it where it uses it. Counts
    /// are kept, and existing sessions continue.
    func apply(_ live: LiveConfiguration) { figures.replace(with: LiveFigures(live)) }

    private static func openAudit(
        path: String?, logger: Logger
    ) throws(GatewayError) -> AuditLog {
        do throws(LineOutputError) {
            return try AuditLog(path: path, logger: logger)
        } catch {
            throw .auditLog("\(error)")
        }
    }

    /// - Returns: nil if the gateway needs none.
    private static func store(
        of fleet: GatewayFleet, _ start: StartConfiguration, _ observer: StoreObserver
    ) throws(GatewayError) -> (any GatewayStore)? {
        if let shared = fleet.store { return shared }
        return start.usesStoreFile ? try FileStore(start, observer) : nil
    }

    private static func keptTickets(
        in store: (any GatewayStore)?, _ observer: StoreObserver
    ) throws(GatewayError) -> (any KeptTicketStore)? {
        let maximum = TicketOffice.defaultMaximum * KeptTicket.perSession
        guard let store else { return MemoryKeptTickets(maximum: maximum) }
        return try store.keptTickets(maximum: maximum, observer)
    }
}

extension StoreObserver {
    fileprivate init(_ metrics: GatewayMetrics) {
        self.init(now: { Reactor.monotonicNow }) { operation, nanoseconds, error in
            let call = StoreCall(operation)
            metrics.storeCalled(call, nanoseconds: nanoseconds)
            if let error { metrics.storeFailed(call, StoreFailure(error)) }
        }
    }
}

extension StoreCall {
    fileprivate init(_ operation: StoreObserver.Operation) {
        self =
            switch operation {
            case .gate: .gate
            case .read: .read
            case .administer: .administer
            case .checkpoint: .checkpoint
            }
    }
}

extension StoreFailure {
    fileprivate init(_ error: KeyRegistryError) {
        self =
            switch error {
            case .busy, .locked: .busy
            case .queueFull: .queueFull
            case .unavailable: .unavailable
            }
    }
}
