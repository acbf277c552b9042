import Metrics
import Synchronization

/// Events of connections, targets, the store and the process. None of them comes with every message.
extension GatewayMetrics {
    /// Shows the totals whose labels are known from the beginning: Prometheus doesn't count the first value of a series
    /// as an increase, so an alert would miss the first event.
    func beginAtZero() {
        for name in [
            Name.auditLinesLost, .challengesIssued, .connectionsAccepted, .sessionsOpened, .resumeGaps,
            .internalRequestsRefused, .passkeyCounters,
        ] { _ = counter(name) }
        begin(.handshakes, "outcome", HandshakeOutcome.self)
        begin(.targetDials, "outcome", DialOutcome.self)
        begin(.throttled, "side", ThrottledSide.self)
        begin(.reloads, "outcome", ReloadResult.self)
        begin(.connectionsRefused, "reason", ConnectionRefusal.self)
        begin(.relays, "outcome", RelayOutcome.self)
        begin(.gatewayConnectionsRefused, "reason", GatewayConnectionRefusal.self)
        begin(.internalConnectionsRefused, "reason", InternalConnectionRefusal.self)
        for call in StoreCall.allCases {
            for reason in StoreFailure.allCases {
                _ = counter(.storeFailures, [("operation", call.rawValue), ("reason", reason.rawValue)])
            }
        }
    }

    private func begin<Label: MetricLabel & CaseIterable>(_ name: Name, _ label: String, _ type: Label.Type) {
        for value in type.allCases { _ = counter(name, [(label, value.rawValue)]) }
    }

    /// - Parameter nanoseconds: from the upgrade request to its answer.
    package func answeredUpgrade(_ outcome: GateOutcome, nanoseconds: UInt64) {
        admissions[outcome].recordNanoseconds(Int64(clamping: nanoseconds))
    }

    package func handshakeEnded(_ outcome: HandshakeOutcome) {
        counter(.handshakes, [("outcome", outcome.rawValue)]).increment()
    }

    /// - Parameter nanoseconds: since the dial began; only the time of a success is a measure of the target.
    package func dialled(_ outcome: DialOutcome, nanoseconds: UInt64) {
        counter(.targetDials, [("outcome", outcome.rawValue)]).increment()
        if outcome == .connected { dials.recordNanoseconds(Int64(clamping: nanoseconds)) }
    }

    /// A session has got a target, has another dialect or target than before, or has ended.
    ///
    /// - Parameters:
    ///   - old: where it was counted; nil if it wasn't.
    ///   - new: where it is counted from now on.
    package func sessionMoved(from old: SessionPlace?, to new: SessionPlace?) {
        guard old != new else { return }
        if let old { count(of: old).change(by: -1) }
        if let new { count(of: new).change(by: 1) }
    }

    private func count(of place: SessionPlace) -> OpenCount {
        routeSessions.withLock { counts in
            if let known = counts[place] { return known }
            let labels = [("dialect", place.dialect), ("route", place.route)]
            let fresh = OpenCount(Meter(label: Name.routeSessions.rawValue, dimensions: labels, factory: factory))
            counts[place] = fresh
            return fresh
        }
    }

    package func resumed(_ outcome: some MetricLabel) {
        counter(.resumes, [("outcome", outcome.rawValue)]).increment()
    }

    /// An upgrade that was passed on to another gateway.
    package func relayedElsewhere(_ outcome: RelayOutcome) {
        counter(.relays, [("outcome", outcome.rawValue)]).increment()
    }

    package func gatewayConnectionRefused(_ reason: GatewayConnectionRefusal) {
        counter(.gatewayConnectionsRefused, [("reason", reason.rawValue)]).increment()
    }

    /// A client came back too late for some of its messages.
    package func resumeHasGap() { counter(.resumeGaps).increment() }

    /// Reading this side pauses, because it has sent too fast.
    package func throttled(_ side: ThrottledSide) { counter(.throttled, [("side", side.rawValue)]).increment() }

    package func storeCalled(_ call: StoreCall, nanoseconds: UInt64) {
        storeCalls[call].recordNanoseconds(Int64(clamping: nanoseconds))
    }

    package func storeFailed(_ call: StoreCall, _ reason: StoreFailure) {
        counter(.storeFailures, [("operation", call.rawValue), ("reason", reason.rawValue)]).increment()
    }

    package func internalRequestRefused() { counter(.internalRequestsRefused).increment() }

    package func internalConnectionRefused(_ reason: InternalConnectionRefusal) {
        counter(.internalConnectionsRefused, [("reason", reason.rawValue)]).increment()
    }

    package func reloaded(_ outcome: ReloadResult) { counter(.reloads, [("outcome", outcome.rawValue)]).increment() }
}

/// A histogram of times for each value of a label, made at the start.
struct OutcomeTimers<Outcome: MetricLabel & CaseIterable>: Sendable {
    private let timers: [Outcome: Timer]
    /// For a value that `allCases` doesn't have.
    private let other: Timer

    init(_ name: MetricName, _ label: String, _ factory: any MetricsFactory) {
        func timer(_ value: String) -> Timer {
            Timer(label: name.rawValue, dimensions: [(label, value)], factory: factory)
        }
        let made = Outcome.allCases.map { ($0, timer($0.rawValue)) }
        timers = Dictionary(made) { first, _ in first }
        other = made.first?.1 ?? timer("other")
    }

    subscript(outcome: Outcome) -> Timer { timers[outcome] ?? other }
}

/// Where a session is counted. The operator chooses the routes, so clients can't make up values.
package struct SessionPlace: Hashable, Sendable {
    let dialect: String
    let route: String

    /// - Parameter route: the name of a configured route, or a constant.
    package init(dialect: some MetricLabel, configuredRoute route: String) {
        self.dialect = dialect.rawValue
        self.route = route
    }
}

package enum HandshakeOutcome: String, MetricLabel, CaseIterable {
    case completed
    /// The client sent something else, closed the connection or failed TLS.
    case failed
    case timedOut = "timed_out"
}

package enum DialOutcome: String, MetricLabel, CaseIterable {
    case connected
    case notResolved = "not_resolved"
    case notAllowed = "not_allowed"
    case notConnected = "not_connected"
    case timedOut = "timed_out"
    case notSecured = "not_secured"
    case broken
}

package enum ThrottledSide: String, MetricLabel, CaseIterable {
    case client, target
}

/// A kind of call of the key store.
package enum StoreCall: String, MetricLabel, CaseIterable {
    /// A decision of the gate on a reactor: the standing of a key and the step of its counter.
    case gate
    case read
    /// A registration or a change by the operator.
    case administer
    case checkpoint
}

package enum StoreFailure: String, MetricLabel, CaseIterable {
    case busy
    case queueFull = "queue_full"
    case unavailable
}

package enum ReloadResult: String, MetricLabel, CaseIterable {
    case applied, refused
}

/// Why a connection to the internal listener was closed before a request.
package enum InternalConnectionRefusal: String, MetricLabel, CaseIterable {
    case total
    case perAddress = "per_address"
    case handshakeRate = "handshake_rate"
    case handshakeFailed = "handshake_failed"
    case handshakeTimedOut = "handshake_timed_out"
    case noCertificate = "no_certificate"
}

/// What became of an upgrade that was passed on to another gateway.
package enum RelayOutcome: String, MetricLabel, CaseIterable {
    case switched, refused
    /// The other gateway gave no answer.
    case failed
    /// It was lost behind its 101.
    case lost
}

/// Why a connection to the listener for other gateways ended before a request.
package enum GatewayConnectionRefusal: String, MetricLabel, CaseIterable {
    case total
    case handshakeRate = "handshake_rate"
    case handshakeFailed = "handshake_failed"
    case handshakeTimedOut = "handshake_timed_out"
    case noCertificate = "no_certificate"
    case untrusted
    case notGateway = "not_gateway"
    case preface, late
}
