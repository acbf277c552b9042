package import Metrics
import Synchronization

/// Counts all events of the gateway that are metrics. Safe from any thread.
///
/// Totals only grow; "open" values are current numbers. Label values come from `MetricLabel` types alone. Names, types
/// and help texts are in `MetricName` and `MetricName+Family`.
package final class GatewayMetrics: Sendable {
    package typealias Name = MetricName

    private struct Series: Hashable {
        let name: Name
        let labels: [String]
    }

    /// For the console and `portcullis top`.
    package let tally: ActivityTally
    let factory: any MetricsFactory
    /// Created at first use. Bounded by the number of label combinations.
    private let counters = Mutex<[Series: Counter]>([:])
    /// Created at the start, because bytes are counted for every message.
    private let bytes: DirectionCounters
    private let frameBytes: DirectionCounters
    private let connections: OpenCount
    private let sessions: OpenCount
    let admissions: OutcomeTimers<GateOutcome>
    let dials: Timer
    let storeCalls: OutcomeTimers<StoreCall>
    /// Current numbers by dialect and route; bounded by the number of routes.
    let routeSessions = Mutex<[SessionPlace: OpenCount]>([:])

    package init(factory: any MetricsFactory = MetricsSystem.factory) {
        tally = ActivityTally(factory)
        let factory = tally
        self.factory = factory
        bytes = DirectionCounters(.bytes, factory)
        frameBytes = DirectionCounters(.frameBytes, factory)
        connections = OpenCount(Meter(label: Name.connectionsOpen.rawValue, factory: factory))
        sessions = OpenCount(Meter(label: Name.sessionsOpen.rawValue, factory: factory))
        admissions = OutcomeTimers(.admissionSeconds, "outcome", factory)
        dials = Timer(label: Name.targetDialSeconds.rawValue, factory: factory)
        storeCalls = OutcomeTimers(.storeSeconds, "operation", factory)
        beginAtZero()
    }

    /// - Parameter method: the admission method that the client used.
    package func decided(_ outcome: GateOutcome, by method: some MetricLabel, reason: some MetricLabel) {
        counter(.gateDecisions, [("way", method.rawValue), ("outcome", outcome.rawValue), ("reason", reason.rawValue)])
            .increment()
    }

    /// A request for an HTTP service behind a proxy.
    package func authorized(_ outcome: GateOutcome, by method: some MetricLabel, reason: some MetricLabel) {
        counter(
            .authorizations, [("way", method.rawValue), ("outcome", outcome.rawValue), ("reason", reason.rawValue)]
        ).increment()
    }

    package func registered(_ outcome: GateOutcome, reason: some MetricLabel) {
        counter(.registrations, [("outcome", outcome.rawValue), ("reason", reason.rawValue)]).increment()
    }

    package func tokenRequested(_ outcome: GateOutcome, reason: some MetricLabel) {
        counter(.tokens, [("outcome", outcome.rawValue), ("reason", reason.rawValue)]).increment()
    }

    package func signedIn(_ outcome: GateOutcome, reason: some MetricLabel) {
        counter(.signIns, [("outcome", outcome.rawValue), ("reason", reason.rawValue)]).increment()
    }

    package func refreshed(_ outcome: GateOutcome, reason: some MetricLabel) {
        counter(.refreshes, [("outcome", outcome.rawValue), ("reason", reason.rawValue)]).increment()
    }

    package func passkeyCounterRefused() { counter(.passkeyCounters).increment() }

    /// A request refused before the gate, answered or not.
    package func requestRefused(reason: some MetricLabel) {
        counter(.requestsRefused, [("reason", reason.rawValue)]).increment()
    }

    /// A line of the audit log couldn't be written.
    package func auditLineLost() {
        counter(.auditLinesLost).increment()
    }

    package func challengeIssued() {
        counter(.challengesIssued).increment()
    }

    package func connectionOpened() {
        counter(.connectionsAccepted).increment()
        connections.change(by: 1)
    }

    package func connectionClosed() {
        connections.change(by: -1)
    }

    package func connectionRefused(_ reason: ConnectionRefusal) {
        counter(.connectionsRefused, [("reason", reason.rawValue)]).increment()
    }

    package func sessionOpened() {
        counter(.sessionsOpened).increment()
        sessions.change(by: 1)
    }

    package func sessionEnded(_ reason: some MetricLabel) {
        counter(.sessionsEnded, [("reason", reason.rawValue)]).increment()
        sessions.change(by: -1)
    }

    /// Payload only: neither frame headers nor TLS.
    package func relayed(_ count: Int, _ direction: ByteDirection) {
        bytes[direction].increment(by: count)
    }

    /// Bytes of WebSocket frames as sent and received: with headers, after compression, without TLS. Counted at each
    /// ping of a session and at its end.
    package func framed(_ count: Int, _ direction: ByteDirection) {
        frameBytes[direction].increment(by: count)
    }

    private struct DirectionCounters: Sendable {
        let fromClient: Counter
        let toClient: Counter

        init(_ name: Name, _ factory: any MetricsFactory) {
            func counter(_ direction: ByteDirection) -> Counter {
                Counter(label: name.rawValue, dimensions: [("direction", direction.rawValue)], factory: factory)
            }
            (fromClient, toClient) = (counter(.fromClient), counter(.toClient))
        }

        subscript(direction: ByteDirection) -> Counter {
            switch direction {
            case .fromClient: fromClient
            case .toClient: toClient
            }
        }
    }

    func counter(_ name: Name, _ labels: [(String, String)] = []) -> Counter {
        counters.withLock { counters in
            let series = Series(name: name, labels: labels.map(\.1))
            if let known = counters[series] { return known }
            let fresh = Counter(label: name.rawValue, dimensions: labels, factory: factory)
            counters[series] = fresh
            return fresh
        }
    }
}

/// A current number, published by a meter. The meter is set under the lock, so two threads can't publish their values
/// in the wrong order.
final class OpenCount: Sendable {
    private let meter: Meter
    private let count = Mutex(0)

    init(_ meter: Meter) {
        self.meter = meter
        meter.set(0)
    }

    func change(by difference: Int) {
        count.withLock { count in
            count += difference
            meter.set(count)
        }
    }
}

/// A type whose values are compile-time constants. All metric labels have such types: a client that could choose a
/// label could fill the memory of the system that stores the series.
package protocol MetricLabel: Hashable, Sendable {
    var rawValue: String { get }
}

package enum GateOutcome: String, MetricLabel, CaseIterable {
    case admitted, refused
    /// Admitted, although it would have been refused: `REQUIRE_APP_AUTH=report`.
    case reported
}

/// Why a connection was closed before TLS.
package enum ConnectionRefusal: String, MetricLabel, CaseIterable {
    case total, perAddress = "per_address", handshakeRate = "handshake_rate", draining
}

package enum ByteDirection: String, MetricLabel, CaseIterable {
    case fromClient = "from_client"
    case toClient = "to_client"
}

/// The reason label if there is no reason.
package enum NoReason: String, MetricLabel, CaseIterable {
    case none
}
