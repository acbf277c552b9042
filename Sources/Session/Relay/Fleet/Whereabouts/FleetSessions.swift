import Crypto
package import KeyStore
package import Logging
import Observability
import Synchronization
import WireText

/// What this gateway knows of the others by itself.
package protocol FleetMembers: Sendable {
    /// Called on the store's thread: it answers from memory.
    var silent: SilentGateways { get }
    /// Something isn't known yet that the next heartbeat may tell.
    func hurry()
}

/// The directory of the fleet's sessions, as one gateway uses it: it announces its own sessions and finds others'. Safe
/// from any thread.
///
/// Announcements are written in batches, one write at a time; what comes meanwhile is in the next one. So a write costs
/// the same however many sessions begin, and a session can be found as soon as the store has answered twice. Nothing is
/// written before the store knows this gateway.
package final class FleetSessions: SessionAnnouncer, SessionWhereabouts {
    /// Before a failed write is repeated.
    package static let retrySeconds = 1

    private let store: any SharedSessionDirectory
    private let member: FleetMemberID
    private let members: any FleetMembers
    private let logger: Logger
    private let state = Mutex(AnnouncedSessions())

    /// - Parameter gateway: this one's id.
    package convenience init(
        _ store: any SharedSessionDirectory, gateway: String, members: any FleetMembers, logger: Logger
    ) {
        self.init(store, member: FleetMemberID(gateway), members: members, logger: logger)
    }

    package init(_ store: any SharedSessionDirectory, member: FleetMemberID, members: any FleetMembers, logger: Logger)
    {
        self.store = store
        self.member = member
        self.members = members
        self.logger = logger
    }

    private var gateway: String { member.current }

    private static func mark(_ id: String) -> SessionMark? {
        SessionMark(bytes: Array(SHA256.hash(data: Array(id.utf8))))
    }

    // MARK: Announcing

    package var toldAfterMilliseconds: Int64 { SessionTrace.toldAfter }

    package func began(_ sessionID: String, whenFound: (@Sendable () -> Void)?) {
        guard let mark = Self.mark(sessionID) else { return }
        state.withLock { $0.began(mark, whenFound) }
        writeNext()
    }

    package func ended(_ sessionID: String) {
        guard let mark = Self.mark(sessionID) else { return }
        state.withLock { $0.ended(mark) }
        writeNext()
    }

    package func stop() { state.withLock { $0.stop() } }

    /// Announces every session to an incarnation of the store: see ``isComplete(in:)``. Before the first call nothing
    /// is written.
    ///
    /// - Parameter all: calls ``began(_:whenFound:)`` for each.
    package func announce(in incarnation: StoreIncarnation?, all: () -> Void) {
        state.withLock { $0.beginAgain() }
        all()
        state.withLock { $0.complete(in: incarnation) }
        writeNext()
    }

    /// Whether each session of this gateway has its row in this incarnation of the store, or has waited for it for a
    /// moment only.
    package func isComplete(in incarnation: StoreIncarnation) -> Bool {
        state.withLock { $0.isComplete(in: incarnation, at: .now) }
    }

    /// Whether the store has all changes.
    package var isSettled: Bool { state.withLock { $0.isSettled } }

    /// Changes that aren't written yet.
    package var pendingCount: Int { state.withLock { $0.count } }

    private func writeNext() {
        // Together: what is taken before `stop` is written under the id of then.
        let next = state.withLock { state in state.takeBatch(at: .now).map { ($0, gateway) } }
        guard let (batch, gateway) = next else { return }
        store.note(batch, of: gateway) { [self] result in
            switch result {
            case .success: written(batch)
            case .failure(let error): failed(batch, error)
            }
        }
    }

    private func written(_ batch: SessionChanges) {
        let (found, recovers) = state.withLock { $0.written(batch) }
        for tell in found { tell() }
        if recovers { logger.notice("sessions are announced again") }
        writeNext()
    }

    /// The rows may have been written all the same: writing them again changes nothing.
    private func failed(_ batch: SessionChanges, _ error: KeyRegistryError) {
        if state.withLock({ $0.failed(batch) }) {
            logger.warning("sessions can't be announced", metadata: [LogKeys.error: "\(error)"])
        }
        Task {
            try? await Task.sleep(for: .seconds(Self.retrySeconds))
            state.withLock { $0.tryAgain() }
            writeNext()
        }
    }

    // MARK: Finding

    package func find(_ sessionID: String, answer: @escaping @Sendable (Whereabouts) -> Void) {
        guard let mark = Self.mark(sessionID) else { return answer(.unknown) }
        store.find(mark) { [self] result in
            switch result {
            case .success(let trace): answer(whereabouts(trace))
            case .failure(let error):
                answer(.unavailable(detail: "the directory of sessions: \(error)", retryAfter: Self.retrySeconds))
            }
        }
    }

    private func whereabouts(_ trace: SessionTrace) -> Whereabouts {
        switch trace.verdict(members.silent) {
        // This gateway has been asked already: the session has ended.
        case .at(let holder, _) where holder.hasSameBytes(as: gateway): return .unknown
        case .at(let holder, let address):
            guard let address = address.flatMap({ GatewayAddress($0) }) else {
                return .unavailable(detail: "gateway \(holder) isn't reached", retryAfter: Self.retrySeconds)
            }
            return .elsewhere(FleetPeer(id: holder, host: address.host, port: address.port))
        case .gone: return .unknown
        case .undecided(let why):
            members.hurry()
            return .unavailable(detail: why, retryAfter: Self.retrySeconds)
        }
    }
}
