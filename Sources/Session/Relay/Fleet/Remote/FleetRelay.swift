import FleetWire
package import Reactors
import Synchronization

/// Passes upgrades that resume a session of another gateway on to that one. Shared by all reactors, and made anew by a
/// reload, with what ``FleetRelays`` keeps.
package final class FleetRelay: Sendable {
    /// Questions to the directory of sessions at the same time. A client that knows no session can cause one with each
    /// upgrade.
    package static let maximumQuestions = 256
    /// Upgrades that are passed on, and, separately, those that other gateways pass on to this one.
    package static let defaultMaximum = 10_000

    private let shared: FleetRelays
    /// What this gateway shows and demands.
    private let tls: TargetTLS

    /// - Parameter tls: with `MutualTLS`.
    package init(_ shared: FleetRelays, tls: TargetTLS) { (self.shared, self.tls) = (shared, tls) }

    package convenience init(
        _ whereabouts: any SessionWhereabouts, tls: TargetTLS,
        limits: @autoclosure @escaping @Sendable () -> RelayLimits = RelayLimits(),
        maximum: Int = FleetRelay.defaultMaximum
    ) {
        self.init(FleetRelays(whereabouts, limits: limits(), maximum: maximum), tls: tls)
    }

    /// Upgrades that are passed on now.
    package var current: Int { shared.state.withLock { $0.current } }

    /// - Parameter answer: called once, on any thread.
    func find(_ sessionID: String, answer: @escaping @Sendable (Whereabouts) -> Void) {
        let mayAsk = shared.state.withLock { state in
            guard state.questions < Self.maximumQuestions else { return false }
            state.questions += 1
            return true
        }
        guard mayAsk else {
            return answer(.unavailable(detail: "too many sessions are being looked for", retryAfter: 1))
        }
        shared.whereabouts.find(sessionID) { [self] found in
            shared.state.withLock { $0.questions -= 1 }
            answer(found)
        }
    }

    /// - Returns: false above the limit. If it is true, `leave` must be called exactly once.
    func enter() -> Bool {
        shared.state.withLock { state in
            guard state.current < shared.maximum else { return false }
            state.current += 1
            return true
        }
    }

    func leave() { shared.state.withLock { $0.current -= 1 } }

    func destination(_ peer: FleetPeer) -> RelayDestination {
        RelayDestination(host: peer.host, port: peer.port, tls: tls, limits: shared.limits())
    }
}

/// What stays through reloads.
package final class FleetRelays: Sendable {
    fileprivate let whereabouts: any SessionWhereabouts
    fileprivate let maximum: Int
    fileprivate let limits: @Sendable () -> RelayLimits
    fileprivate let state = Mutex(State())

    fileprivate struct State {
        var questions = 0
        /// Upgrades that were passed on, and the WebSockets behind them.
        var current = 0
    }

    /// - Parameters:
    ///   - limits: read at each connection.
    ///   - maximum: upgrades that are passed on and WebSockets behind them, over all reactors.
    package init(
        _ whereabouts: any SessionWhereabouts, limits: @autoclosure @escaping @Sendable () -> RelayLimits,
        maximum: Int = FleetRelay.defaultMaximum
    ) {
        (self.whereabouts, self.limits, self.maximum) = (whereabouts, limits, maximum)
    }
}
