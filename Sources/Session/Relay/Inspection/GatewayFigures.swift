import Admission
import Observability
import Reactors
import Synchronization

/// The gateway's counts of a moment: totals only grow, and whoever shows rates takes the difference of two.
package struct GatewayFigures: Codable, Sendable, Equatable {
    package struct Refusals: Codable, Sendable, Equatable {
        /// What was refused: `upgrade`, `request`, `registration`, `token` or `connection`.
        package var kind: String
        /// The stable code.
        package var reason: String
        package var count: Int

        package init(kind: String, reason: String, count: Int) {
            self.kind = kind
            self.reason = reason
            self.count = count
        }
    }

    package var version: String
    /// Milliseconds of a clock that only runs forward.
    package var time: UInt64
    package var sessions: Int
    package var connections: Int
    package var connectionsAccepted: Int
    package var sessionsOpened: Int
    package var admitted: Int
    package var bytesFromClients: Int
    package var bytesToClients: Int
    /// Those with the highest counts first.
    package var refusals: [Refusals]
    /// Microseconds that a job waited for each reactor just now.
    package var reactorLag: [UInt64]
    package var isDraining: Bool

    package init(
        version: String, time: UInt64, sessions: Int, connections: Int, connectionsAccepted: Int, sessionsOpened: Int,
        admitted: Int, bytesFromClients: Int, bytesToClients: Int, refusals: [Refusals], reactorLag: [UInt64],
        isDraining: Bool
    ) {
        self.version = version
        self.time = time
        self.sessions = sessions
        self.connections = connections
        self.connectionsAccepted = connectionsAccepted
        self.sessionsOpened = sessionsOpened
        self.admitted = admitted
        self.bytesFromClients = bytesFromClients
        self.bytesToClients = bytesToClients
        self.refusals = refusals
        self.reactorLag = reactorLag
        self.isDraining = isDraining
    }
}

extension RelayServer {
    package func figures() async -> GatewayFigures {
        let lag = await reactorLag()
        let settings = settings
        let tally = TallyTotals(settings.metrics.tally.entries)
        return GatewayFigures(
            version: settings.version, time: Reactor.monotonicNow / 1_000_000,
            sessions: tally.sum(.sessionsOpened) - tally.sum(.sessionsEnded), connections: pool.census.total,
            connectionsAccepted: tally.sum(.connectionsAccepted), sessionsOpened: tally.sum(.sessionsOpened),
            admitted: tally.sum(.gateDecisions, ["outcome": "admitted"]),
            bytesFromClients: tally.sum(.bytes, ["direction": "from_client"]),
            bytesToClients: tally.sum(.bytes, ["direction": "to_client"]), refusals: tally.refusals,
            reactorLag: lag, isDraining: settings.drain.isDraining)
    }

    private func reactorLag() async -> [UInt64] {
        var lag: [UInt64] = []
        for reactor in pool.reactors {
            let start = Reactor.monotonicNow
            lag.append(
                await withCheckedContinuation { continuation in
                    reactor.submit { continuation.resume(returning: (reactor.now - start) / 1_000) }
                })
        }
        return lag
    }
}

/// Sums over the labels of counters.
struct TallyTotals {
    /// Reasons are constants of the program; so many are shown.
    private static let maximumRefusals = 64

    private let entries: [ActivityTally.Entry]

    init(_ entries: [ActivityTally.Entry]) { self.entries = entries }

    func sum(_ name: GatewayMetrics.Name, _ labels: [String: String] = [:]) -> Int {
        entries.filter { entry in entry.name == name && labels.allSatisfy { entry.labels[$0.key] == $0.value } }
            .reduce(0) { $0 + $1.value }
    }

    var refusals: [GatewayFigures.Refusals] {
        var counts: [[String]: Int] = [:]
        for entry in entries where entry.labels["outcome", default: "refused"] == "refused" {
            guard let kind = Self.kind(entry.name), let reason = entry.labels["reason"] else { continue }
            counts[[kind, reason], default: 0] += entry.value
        }
        return counts.map { GatewayFigures.Refusals(kind: $0.key[0], reason: $0.key[1], count: $0.value) }
            .filter { $0.count > 0 }
            .sorted { ($1.count, $0.kind, $0.reason) < ($0.count, $1.kind, $1.reason) }
            .prefix(Self.maximumRefusals).map(\.self)
    }

    private static func kind(_ name: GatewayMetrics.Name) -> String? {
        switch name {
        case .gateDecisions: "upgrade"
        case .requestsRefused: "request"
        case .registrations: "registration"
        case .tokens: "token"
        case .connectionsRefused: "connection"
        default: nil
        }
    }
}
