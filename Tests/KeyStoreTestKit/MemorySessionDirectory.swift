package import KeyStore
import Synchronization

/// The reference: the directory of a fleet whose gateways are in one process. For tests.
package final class MemorySessionDirectory: SharedSessionDirectory {
    private struct State {
        var gateways: [SessionMark: String] = [:]
        var holders: [String: SessionTrace.Holder] = [:]
        var doubtful: [String] = []
        var isHeld = false
        var held: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    package init() {}

    package func note(
        _ changes: SessionChanges, of gateway: String,
        then: @escaping @Sendable (Result<Void, KeyRegistryError>) -> Void
    ) {
        let isHeld = state.withLock { state in
            if state.isHeld { state.held.append { [self] in write(changes, of: gateway, then: then) } }
            return state.isHeld
        }
        if !isHeld { write(changes, of: gateway, then: then) }
    }

    private func write(
        _ changes: SessionChanges, of gateway: String,
        then: @escaping @Sendable (Result<Void, KeyRegistryError>) -> Void
    ) {
        state.withLock { state in
            for mark in changes.ended where state.gateways[mark] == gateway { state.gateways[mark] = nil }
            for mark in changes.began { state.gateways[mark] = gateway }
        }
        then(.success(()))
    }

    /// Until it is called with false nothing is written, as by a store that doesn't answer.
    package func hold(_ isHeld: Bool) {
        let held = state.withLock { state in
            state.isHeld = isHeld
            defer { if !isHeld { state.held = [] } }
            return isHeld ? [] : state.held
        }
        for write in held { write() }
    }

    package var heldCount: Int { state.withLock { $0.held.count } }

    /// What a heartbeat would tell of a gateway.
    package func set(_ holder: SessionTrace.Holder) { state.withLock { $0.holders[holder.id] = holder } }

    /// Gateways that may have sessions without rows.
    package func set(doubtful: [String]) { state.withLock { $0.doubtful = doubtful } }

    package func find(
        _ mark: SessionMark, then: @escaping @Sendable (Result<SessionTrace, KeyRegistryError>) -> Void
    ) {
        let trace = state.withLock { state in
            let holder = state.gateways[mark].map { id in
                state.holders[id] ?? SessionTrace.Holder(id: id, address: nil, silence: nil)
            }
            return SessionTrace(holder: holder, lived: .max, doubtful: holder == nil ? state.doubtful : [])
        }
        then(.success(trace))
    }

    package func forgetSessions(of gateway: String) async throws(KeyRegistryError) {
        state.withLock { $0.gateways = $0.gateways.filter { $0.value != gateway } }
    }
}
