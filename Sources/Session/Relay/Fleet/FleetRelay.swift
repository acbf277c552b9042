import FleetWire
package import Reactors
import Synchronization

/// Passes upgrades that resume a session of another gateway on to that one. Shared by all reactors.
package final class FleetRelay: Sendable {
    /// Questions to the directory of sessions at the same time. A client that knows no session can cause one with each
    /// upgrade.
    package static let maximumQuestions = 256
    /// Upgrades that are passed on, and, separately, those that other gateways pass on to this one.
    package static let defaultMaximum = 10_000

    private let whereabouts: any SessionWhereabouts
    private let maximum: Int
    private let limits: @Sendable () -> RelayLimits
    private let state: Mutex<State>

    private struct State {
        /// What this gateway shows and demands; a reload replaces it.
        var tls: TargetTLS
        var questions = 0
        /// Upgrades that were passed on, and the WebSockets behind them.
        var current = 0
    }

    /// - Parameters:
    ///   - tls: with `MutualTLS`.
    ///   - limits: read at each connection.
    ///   - maximum: upgrades that are passed on and WebSockets behind them, over all reactors.
    package init(
        _ whereabouts: any SessionWhereabouts, tls: TargetTLS,
        limits: @autoclosure @escaping @Sendable () -> RelayLimits = RelayLimits(),
        maximum: Int = FleetRelay.defaultMaximum
    ) {
        self.whereabouts = whereabouts
        self.maximum = maximum
        self.limits = limits
        state = Mutex(State(tls: tls))
    }

    /// For later connections.
    package func replace(_ tls: TargetTLS) { state.withLock { $0.tls = tls } }

    /// Upgrades that are passed on now.
    package var current: Int { state.withLock { $0.current } }

    /// - Parameter answer: called once, on any thread.
    func find(_ sessionID: String, answer: @escaping @Sendable (Whereabouts) -> Void) {
        let mayAsk = state.withLock { state in
            guard state.questions < Self.maximumQuestions else { return false }
            state.questions += 1
            return true
        }
        guard mayAsk else {
            return answer(.unavailable(detail: "too many sessions are being looked for", retryAfter: 1))
        }
        whereabouts.find(sessionID) { [self] found in
            state.withLock { $0.questions -= 1 }
            answer(found)
        }
    }

    /// - Returns: false above the limit. If it is true, `leave` must be called exactly once.
    func enter() -> Bool {
        state.withLock { state in
            guard state.current < maximum else { return false }
            state.current += 1
            return true
        }
    }

    func leave() { state.withLock { $0.current -= 1 } }

    func destination(_ peer: FleetPeer) -> RelayDestination {
        RelayDestination(
            host: peer.host, port: peer.port, tls: state.withLock { $0.tls }, limits: limits())
    }
}
