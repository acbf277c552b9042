import ForwardingWire
package import Reactors
import Synchronization

/// Passes upgrades that resume a session of another gateway on to that one. Shared by all reactors.
package final class SessionForwarding: Sendable {
    /// Questions to the directory of sessions at the same time. A client that knows no session can cause one with each
    /// upgrade.
    package static let maximumQuestions = 256
    /// Upgrades that are passed on, and, separately, those that other gateways pass on to this one.
    package static let defaultMaximum = 10_000

    private let whereabouts: any SessionWhereabouts
    private let maximum: Int
    private let state: Mutex<State>

    private struct State {
        /// What this gateway shows and demands; a reload replaces it.
        var tls: TargetTLS
        var limits: ForwardLimits
        var questions = 0
        /// Upgrades that were passed on, and the WebSockets behind them.
        var current = 0
    }

    /// - Parameters:
    ///   - tls: with `MutualTLS`.
    ///   - maximum: upgrades that are passed on and WebSockets behind them, over all reactors.
    package init(
        _ whereabouts: any SessionWhereabouts, tls: TargetTLS, limits: ForwardLimits = ForwardLimits(),
        maximum: Int = SessionForwarding.defaultMaximum
    ) {
        self.whereabouts = whereabouts
        self.maximum = maximum
        state = Mutex(State(tls: tls, limits: limits))
    }

    /// For later connections.
    package func replace(_ tls: TargetTLS) { state.withLock { $0.tls = tls } }

    /// For later connections.
    package func setLimits(_ limits: ForwardLimits) { state.withLock { $0.limits = limits } }

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

    func destination(_ peer: FleetPeer) -> ForwardDestination {
        let (tls, limits) = state.withLock { ($0.tls, $0.limits) }
        return ForwardDestination(host: peer.host, port: peer.port, tls: tls, limits: limits)
    }
}
