import Admission
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
        registry = MetricRegistry(MetricName.families)
        let metrics = GatewayMetrics(factory: registry)
        self.metrics = metrics
        audit = try Self.openAudit(path: configuration.logs.auditLogPath, logger: logger)
        journal = RefusalJournal(
            audit: audit, metrics: metrics, logger: logger,
            linesPerMinute: configuration.logs.auditRefusalsPerMinute)
        let (limits, connections) = (configuration.limits, configuration.connections)
        census = ConnectionCensus(
            maximum: connections.maximum ?? FileLimit.capacity, maximumPerAddress: connections.maximumPerAddress,
            handshakes: HandshakeRates(
                perSecond: connections.handshakesPerSecond,
                perSecondPerAddress: connections.handshakesPerSecondPerAddress))
        compression = CompressionMemory(
            sessionBytes: FixedLimits.compressionSessionBytes, totalBytes: configuration.compression.totalBytes)
        leases = SessionLeases(maximum: configuration.session.maximumSessions ?? FileLimit.capacity)
        requests = RequestLimits(
            requestsPerSecond: limits.requestsPerSecond, maximumEntries: limits.maximumLimiterEntries)
        upgrades = UpgradeLimits(
            failedUpgradesPerMinute: limits.failedUpgradesPerMinute,
            verificationsPerSecond: limits.verificationsPerSecond, maximumEntries: limits.maximumLimiterEntries)
        endpoints = EndpointLimits(
            challengesPerMinute: limits.challengesPerMinute, registrationsPerMinute: limits.registrationsPerMinute,
            tokensPerMinute: limits.tokensPerMinute, maximumEntries: limits.maximumLimiterEntries)
        let store = try Self.openStore(configuration, StoreObserver(metrics), member: member, logger)
        self.store = store
        challenges = Challenges(
            epoch: .now, timeToLive: .seconds(limits.challengeLifetimeSeconds),
            maximumSpent: configuration.tokens.maximumProofs, fleet: store?.fleet?.fleet.identity)
        keptTickets = try Self.keptTickets(in: store, configuration, StoreObserver(metrics))
        tickets = TicketOffice(
            timeToLive: .seconds(configuration.tickets.lifetimeSeconds),
            fleet: store?.fleet?.fleet, kept: keptTickets, nextLifetime: configuration.nextTicketLifetime)
        let holdings = store?.fleet.map { FleetHoldings(of: $0, logger) }
        self.holdings = holdings
        let link = try FleetLink(configuration, store?.fleet, logger: logger)
        self.link = link
        directory = SessionDirectory(
            SessionLeaseLimits(configuration), announcer: link?.sessions, counts: holdings)
        holdings?.attach(directory)
        messages = AddressPaces(perSecond: configuration.traffic.messagesPerSecondPerAddress)
        tokens =
            if let store, configuration.appAttest != nil { try TokenState(configuration, store) } else { nil }
    }

    /// Applies the limits of a reload. Counts are kept, and existing sessions continue.
    func setLimits(_ configuration: GatewayConfiguration) {
        let (limits, connections) = (configuration.limits, configuration.connections)
        census.setLimits(
            maximum: connections.maximum ?? FileLimit.capacity, maximumPerAddress: connections.maximumPerAddress)
        census.handshakes.setLimits(
            perSecond: connections.handshakesPerSecond,
            perSecondPerAddress: connections.handshakesPerSecondPerAddress)
        compression.setLimits(
            sessionBytes: FixedLimits.compressionSessionBytes, totalBytes: configuration.compression.totalBytes)
        leases.setMaximum(configuration.session.maximumSessions ?? FileLimit.capacity)
        directory.setLimits(SessionLeaseLimits(configuration))
        messages.setRate(perSecond: configuration.traffic.messagesPerSecondPerAddress)
        requests.setLimit(requestsPerSecond: limits.requestsPerSecond)
        journal.setLinesPerMinute(configuration.logs.auditRefusalsPerMinute)
        upgrades.setLimits(
            failedUpgradesPerMinute: limits.failedUpgradesPerMinute,
            verificationsPerSecond: limits.verificationsPerSecond)
        endpoints.setLimits(
            challengesPerMinute: limits.challengesPerMinute, registrationsPerMinute: limits.registrationsPerMinute,
            tokensPerMinute: limits.tokensPerMinute)
        tokens?.setSchedule(configuration.tokens)
        tickets.setNextLifetime(configuration.nextTicketLifetime)
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
        _ configuration: GatewayConfiguration, _ observer: StoreObserver, member: String?, _ logger: Logger
    ) throws(GatewayError) -> GatewayStore? {
        if let database = configuration.fleetStore {
            return .fleet(try FleetStore(database, observer, member: member, logger: logger))
        }
        guard configuration.usesStoreFile else { return nil }
        let reactors = configuration.process.reactorThreads ?? Cores.count
        return .file(try openFile(configuration.keyStore, reactors: reactors, observer))
    }

    private static func keptTickets(
        in store: GatewayStore?, _ configuration: GatewayConfiguration, _ observer: StoreObserver
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
        _ storage: SectionValues<KeyStoreSection>, reactors: Int, _ observer: StoreObserver
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

extension GatewayConfiguration {
    /// A next ticket is renewed at half of it: so after the loss of its session it is valid for as long as a session waits for its client. Nil: none does.
    fileprivate var nextTicketLifetime: Duration? {
        self.resume.graceMinutes == 0 ? nil : .seconds(2 * 60 * self.resume.graceMinutes)
    }
}

extension SessionLeaseLimits {
    fileprivate init(_ configuration: GatewayConfiguration) {
        let session = configuration.session
        self.init(
            perDevice: session.maximumPerDevice, perAddress: session.maximumPerAddress,
            grace: .seconds(configuration.resume.graceMinutes * 60))
    }
}
