import Admission
import Glibc
import KeyStore
import Logging
import Reactors
import Relay
import Settings
import Synchronization

/// What this gateway has in common with others: nothing, if it is alone.
///
/// Nothing else in this target asks whether there is a fleet. Others are given what they need of it once, and tell it
/// what happens. In the gate three values have the question for all others: `ChallengeIssuer` for challenges,
/// `TicketPlace` for tickets, and `GateStore`, with `WaitingStore`, for what a decision asks.
final class GatewayFleet: Sendable {
    private let database: FleetStore?
    private let holdings: FleetHoldings?
    /// Nil without FLEET_BIND.
    private let link: FleetLink?
    private let membership = Mutex<FleetMember?>(nil)

    /// - Parameters:
    ///   - limits: of what goes to other gateways; read at each connection.
    ///   - member: the fleet's id of the process that this one replaces.
    ///   - folder: for what outlives the process.
    init(
        _ start: StartConfiguration, _ observer: StoreObserver,
        limits: @autoclosure @escaping @Sendable () -> RelayLimits, member: String?, folder: String?,
        logger: Logger
    ) throws(GatewayError) {
        let database = try start.fleetStore.map { configuration throws(GatewayError) in
            try FleetStore(configuration, observer, member: member, folder: folder, logger: logger)
        }
        self.database = database
        holdings = database.map { FleetHoldings(of: $0, logger) }
        link = FleetLink(start.fleetListener, database, limits, logger: logger)
    }

    private var member: FleetMember? { membership.withLock { $0 } }

    // MARK: What others are given

    /// Nil: the gateway has a store of its own, or none.
    var store: (any GatewayStore)? { database }
    var identity: FleetIdentity? { database?.fleet.identity }
    var shared: Fleet? { database?.fleet }
    var blockList: SharedBlockList? { database?.blocks.list }
    var announcer: (any SessionAnnouncer)? { link?.sessions }
    var counts: (any FleetSessionCounts)? { holdings }
    /// Of a configuration, at the start and at each reload.
    ///
    /// - Parameter edge: for clients.
    func parts(_ live: LiveConfiguration, edge: EdgeSettings) throws(GatewayError) -> FleetParts? {
        try link?.parts(live, edge: edge)
    }

    /// Whether it listens for other gateways.
    var listens: Bool { link != nil }
    /// Of this process among the gateways.
    var memberID: String? { database?.member.current }

    /// Before the first session.
    func attach(_ directory: SessionDirectory) { holdings?.attach(directory) }

    // MARK: Upkeep

    /// Reads the fleet's secrets again. Blocks.
    func keepSecrets(_ logger: Logger) { database?.keepSecrets(logger) }

    /// Until the task is cancelled.
    func runMember() async { await member?.run() }

    /// Until the task is cancelled.
    func runHoldings() async { await holdings?.run() }

    // MARK: End

    /// The next heartbeat says now how this gateway is.
    func hurry() { member?.hurry() }

    func beginLeaving() { member?.beginLeaving() }

    func leave() async { await member?.leave() }
}

// MARK: - Beginning

extension GatewayFleet {
    /// Listens for the other gateways, and becomes one of them.
    ///
    /// - Parameters:
    ///   - port: for clients.
    ///   - part: of the listener for other gateways.
    ///   - sockets: of another process.
    func join(
        _ state: GatewayState, _ server: RelayServer, _ pool: ReactorPool, port: Int, _ part: EdgePart?,
        sockets: InheritedSockets, logger: Logger
    ) throws(GatewayError) {
        guard let database else { return }
        let sessions = link.map { LinkedSessions(database, server, $0.sessions, state.directory) }
        let member = FleetMember(
            database, name: "\(Self.hostName):\(port)", version: Gateway.version, sessions: sessions,
            mayBeForgotten: { [holdings] in holdings?.noteAllAgain() }, logger: logger
        ) { [drain = state.drain, leases = state.leases] in
            GatewayMember.Report(
                state: drain.isDraining ? .draining : .serving, sessions: Int64(leases.count),
                connections: Int64(pool.census.total),
                lag: database.fleet.standings.lag(at: .now).map { Int64(clamping: $0) })
        }
        membership.withLock { $0 = member }
        if let link, let part { try link.listen(by: server, part, sockets: sockets, as: member) }
    }

    private static var hostName: String {
        var bytes = [CChar](repeating: 0, count: 256)
        guard gethostname(&bytes, bytes.count - 1) == 0 else { return "localhost" }
        return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

// MARK: - Copyover

extension GatewayFleet {
    /// In the process that is replaced: what the store has yet to be told of it is told, and then nothing more.
    func hold() { holdings?.hold(true) }

    /// Whether the store has been told everything.
    var isSettled: Bool { link?.sessions.isSettled != false && holdings?.isBusy != true }

    /// The other process has failed.
    func takeBack() { holdings?.hold(false) }

    /// The other process is the member from now on. Before the sessions that it has are released.
    func handedOver() { member?.handedOver() }

    /// What is left here is noted under this process' new id. After they are released.
    func beginAnew() { holdings?.beginAnew() }

    /// Clients of which the store may have a row of this gateway.
    var noted: [HolderMark] { holdings?.noted ?? [] }

    /// In the process that replaces another: the rows that the store has of it.
    func inherit(_ rows: CarriedRows) {
        for id in rows.sessions { link?.sessions.ended(id) }
        holdings?.inherit(rows.holders.compactMap { HolderMark(bytes: $0) })
    }

    /// The process before has died, and its sessions with it: this one is another member.
    func succeed() { database?.member.renew() }
}
