import Admission
import DPoP
import KeyStore
import KeyStoreSQLite
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
    /// Nil for a gateway that is alone, if neither App Attest was configured nor ATTESTED_KEYS_PATH set at the start.
    let store: GatewayStore?
    /// The next tickets of sessions; nil in a fleet, whose store has them.
    let keptTickets: (any KeptTicketStore)?
    /// Nil without App Attest.
    let tokens: TokenState?
    let audit: AuditLog
    let journal: RefusalJournal
    /// The backend of `metrics`.
    let registry: MetricRegistry
    let metrics: GatewayMetrics
    let census: ConnectionCensus
    let compression: CompressionMemory
    let drain = DrainSwitch()
    /// What the limits of the gate read at each event.
    private let figures: Current<LiveFigures>
    let leases: SessionLeases
    let requests: RequestLimits
    let upgrades: UpgradeLimits
    let endpoints: EndpointLimits
    let challenges: Challenges
    let tickets: TicketOffice
    let directory: SessionDirectory
    /// Nil: alone.
    let holdings: FleetHoldings?
    /// Nil without FLEET_BIND.
    let link: FleetLink?
    /// `MESSAGES_PER_SECOND_PER_ADDRESS`
    let messages: AddressPaces

    /// - Parameter member: the fleet's id of the process that this one replaces.
    init(_ configuration: GatewayConfiguration, member: String? = nil, logger: Logger) throws(GatewayError) {
        let live = configuration.live
        try self.init(
            configuration.atStart, signing: TokenState.schedule(live.tokens), member: member, logger: logger)
        apply(live)
    }

    /// With limits that ``apply(_:)`` replaces at once: what a reload changes isn't known here, so none of it can be
    /// read at the start only.
    ///
    /// - Parameter signing: when signing keys are replaced, and for how long they are kept.
    private init(
        _ start: StartConfiguration, signing: SigningKeySchedule, member: String?, logger: Logger
    ) throws(GatewayError) {
        self.start = start
        registry = MetricRegistry(MetricName.families)
        let metrics = GatewayMetrics(factory: registry)
        self.metrics = metrics
        audit = try Self.openAudit(path: start.logs.auditLogPath, logger: logger)
        journal = RefusalJournal(
            audit: audit, metrics: metrics, logger: logger, linesPerMinute: RefusalDigest.defaultLinesPerPeriod)
        census = ConnectionCensus(maximum: 0, maximumPerAddress: 0)
        compression = CompressionMemory(sessionBytes: FixedLimits.compressionSessionBytes, totalBytes: 0)
        let figures = Current(LiveFigures())
        self.figures = figures
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
        let store = try Self.openStore(start, StoreObserver(metrics), member: member, logger)
        self.store = store
        challenges = Challenges(
            epoch: .now, timeToLive: .seconds(start.limits.challengeLifetimeSeconds),
            maximumSpent: start.tokens.maximumProofs, fleet: store?.fleet?.fleet.identity)
        keptTickets = try Self.keptTickets(in: store, StoreObserver(metrics))
        tickets = TicketOffice(
            timeToLive: .seconds(start.tickets.lifetimeSeconds), fleet: store?.fleet?.fleet, kept: keptTickets)
        let holdings = store?.fleet.map { FleetHoldings(of: $0, logger) }
        self.holdings = holdings
        let link = try FleetLink(start.fleetListener, store?.fleet, logger: logger)
        self.link = link
        directory = SessionDirectory(SessionLeaseLimits(), announcer: link?.sessions, counts: holdings)
        holdings?.attach(directory)
        messages = AddressPaces(perSecond: nil)
        tokens = if let store, start.hasAppAttest { try TokenState(start, store, signing) } else { nil }
    }

    /// Applies what the settings say now, at the start and at each reload. Counts are kept, and existing sessions
    /// continue.
    func apply(_ live: LiveConfiguration) {
        figures.replace(with: LiveFigures(live))
        let connections = live.connections
        census.setLimits(
            maximum: connections.maximum ?? FileLimit.capacity, maximumPerAddress: connections.maximumPerAddress)
        census.handshakes.setLimits(
            perSecond: connections.handshakesPerSecond,
            perSecondPerAddress: connections.handshakesPerSecondPerAddress)
        compression.setLimits(
            sessionBytes: FixedLimits.compressionSessionBytes, totalBytes: live.compression.totalBytes)
        directory.setLimits(SessionLeaseLimits(live))
        messages.setRate(perSecond: live.traffic.messagesPerSecondPerAddress)
        journal.setLinesPerMinute(live.logs.auditRefusalsPerMinute)
        tokens?.setSchedule(live.tokens)
        tickets.setNextLifetime(live.nextTicketLifetime)
        link?.forwarding.setLimits(ForwardLimits(live))
    }

    private static func openAudit(
        path: String?, logger: Logger
    ) throws(GatewayError) -> AuditLog {
        do throws(LineOutputError) {
            return try AuditLog(path: path, logger: logger)
        } catch {
            throw .auditLog("\(error)")
        }
    }

    private static func openStore(
        _ start: StartConfiguration, _ observer: StoreObserver, member: String?, _ logger: Logger
    ) throws(GatewayError) -> GatewayStore? {
        if let database = start.fleetStore {
            return .fleet(try FleetStore(database, observer, member: member, logger: logger))
        }
        guard start.usesStoreFile else { return nil }
        let reactors = start.process.reactorThreads ?? Cores.count
        return .file(try openFile(start.keyStore, reactors: reactors, observer))
    }

    private static func keptTickets(
        in store: GatewayStore?, _ observer: StoreObserver
    ) throws(GatewayError) -> (any KeptTicketStore)? {
        let maximum = TicketOffice.defaultMaximum * KeptTicket.perSession
        switch store {
        case nil: return MemoryKeptTickets(maximum: maximum)
        case .fleet: return nil
        case .file(let file):
            do throws(KeyRegistryError) {
                return try SQLiteKeptTickets(of: file, maximum: maximum, observer: observer)
            } catch {
                throw .store(path: file.path, "\(error)")
            }
        }
    }

    private static func openFile(
        _ storage: StartValues<KeyStoreSection>, reactors: Int, _ observer: StoreObserver
    ) throws(GatewayError) -> SQLiteKeyRegistry {
        var limits = SQLiteKeyRegistry.Limits()
        limits.connectionsPerPool = reactors
        do throws(KeyRegistryError) {
            return try SQLiteKeyRegistry(path: storage.path, limits: limits, observer: observer)
        } catch {
            throw .store(path: storage.path, "\(error)")
        }
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

extension LiveConfiguration {
    /// A next ticket is renewed at half of it: so after the loss of its session it is valid for as long as a session
    /// waits for its client. Nil: none does.
    fileprivate var nextTicketLifetime: Duration? {
        self.resume.graceMinutes == 0 ? nil : .seconds(2 * 60 * self.resume.graceMinutes)
    }
}

extension SessionLeaseLimits {
    fileprivate init(_ live: LiveConfiguration) {
        let session = live.session
        self.init(
            perDevice: session.maximumPerDevice, perAddress: session.maximumPerAddress,
            grace: .seconds(live.resume.graceMinutes * 60))
    }
}

extension ForwardLimits {
    fileprivate init(_ live: LiveConfiguration) {
        self.init()
        idleSeconds = live.session.gatewaySilenceSeconds
    }
}
