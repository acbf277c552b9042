import Crypto
package import KeyStore
package import Logging
import Observability
package import Relay
import Synchronization

/// The other gateways of the fleet, as their heartbeats tell.
package protocol FleetMembers: Sendable {
    /// Called on the store's thread: it answers from memory.
    func standing(of gateway: String) -> GatewayStanding
}

package enum GatewayStanding: Sendable, Hashable {
    /// - Parameters:
    ///   - host: `FLEET_ADVERTISE`
    case alive(host: String, port: UInt16)
    /// Its heartbeats have stopped, or it has left: its sessions are lost.
    case dead
    /// It isn't known yet, or nobody can say.
    case unknown
}

/// The directory of the fleet's sessions, as one gateway uses it: it announces its own sessions and finds others'. Safe from any thread.
///
/// Announcements are written in batches, one write at a time; what comes meanwhile is in the next one. So a write costs the same however many sessions begin, and a
/// session can be found as soon as the store has answered twice.
package final class FleetSessions: SessionAnnouncer, SessionWhereabouts {
    /// Before a failed write is repeated.
    package static let retrySeconds = 1

    private let store: any SharedSessionDirectory
    private let gateway: String
    private let members: any FleetMembers
    private let logger: Logger
    private let state = Mutex(State())

    private struct State {
        var pending = PendingSessions()
        var isWriting = false
        var isOver = false
        var hasFailed = false
    }

    /// - Parameter gateway: this one's id.
    package init(
        _ store: any SharedSessionDirectory, gateway: String, members: any FleetMembers, logger: Logger
    ) {
        self.store = store
        self.gateway = gateway
        self.members = members
        self.logger = logger
    }

    private static func mark(_ id: String) -> SessionMark? {
        SessionMark(bytes: Array(SHA256.hash(data: Array(id.utf8))))
    }

    // MARK: Announcing

    package func began(_ sessionID: String) { change(sessionID) { $0.began($1) } }

    package func ended(_ sessionID: String) { change(sessionID) { $0.ended($1) } }

    private func change(_ sessionID: String, _ change: (inout PendingSessions, SessionMark) -> Void) {
        guard let mark = Self.mark(sessionID) else { return }
        state.withLock { if !$0.isOver { change(&$0.pending, mark) } }
        writeNext()
    }

    package func stop() {
        state.withLock { state in
            state.isOver = true
            state.pending = PendingSessions()
        }
    }

    /// Changes that aren't written yet.
    package var pendingCount: Int { state.withLock { $0.pending.count } }

    private func writeNext() {
        let batch = state.withLock { state -> SessionChanges? in
            guard !state.isWriting, let batch = state.pending.takeBatch() else { return nil }
            state.isWriting = true
            return batch
        }
        guard let batch else { return }
        store.note(batch, of: gateway) { [self] result in
            switch result {
            case .success: written()
            case .failure(let error): failed(batch, error)
            }
        }
    }

    private func written() {
        let recovers = state.withLock { state in
            defer { state.hasFailed = false }
            state.isWriting = false
            return state.hasFailed
        }
        if recovers { logger.notice("sessions are announced again") }
        writeNext()
    }

    /// The rows may have been written all the same: writing them again changes nothing.
    private func failed(_ batch: SessionChanges, _ error: KeyRegistryError) {
        let isFirst = state.withLock { state in
            defer { state.hasFailed = true }
            if !state.isOver { state.pending.giveBack(batch) }
            return !state.hasFailed
        }
        if isFirst {
            logger.warning("sessions can't be announced", metadata: [LogKeys.error: "\(error)"])
        }
        Task {
            try? await Task.sleep(for: .seconds(Self.retrySeconds))
            state.withLock { $0.isWriting = false }
            writeNext()
        }
    }

    // MARK: Finding

    package func find(_ sessionID: String, answer: @escaping @Sendable (Whereabouts) -> Void) {
        guard let mark = Self.mark(sessionID) else { return answer(.unknown) }
        store.gateway(of: mark) { [self] result in
            switch result {
            case .success(let holder): answer(holder.map(whereabouts) ?? .unknown)
            case .failure(let error):
                answer(.unavailable(detail: "the directory of sessions: \(error)", retryAfter: Self.retrySeconds))
            }
        }
    }

    private func whereabouts(_ holder: String) -> Whereabouts {
        // This gateway has been asked already: the session has ended.
        guard holder != gateway else { return .unknown }
        switch members.standing(of: holder) {
        case .alive(let host, let port): return .elsewhere(FleetPeer(id: holder, host: host, port: port))
        case .dead: return .unknown
        case .unknown: return .unavailable(detail: "gateway \(holder) isn't known", retryAfter: Self.retrySeconds)
        }
    }
}
