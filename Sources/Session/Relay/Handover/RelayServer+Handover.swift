package import Admission
import Compression
import Observability
import Reactors
import RelayCore
import StateCoding
import Synchronization

/// Sessions that go from one process to another. Every call waits for the reactors, and must not be made on one.
extension RelayServer {
    /// Until it is taken back, nobody is admitted, and no session ends because of that.
    package func setHandingOver(_ isHandingOver: Bool) { drain.isHandingOver = isHandingOver }

    package var isHandingOver: Bool { drain.isHandingOver }

    /// Connections that are neither WebSockets nor closed.
    package var connectionsInHTTP: Int { onReactors { _, reactor in reactor.connectionsInHTTP }.reduce(0, +) }

    private func onReactors<Value: Sendable>(
        _ body: @escaping @Sendable (SessionTable, Reactor) -> Value
    ) -> [Value] {
        tables.withLock { $0 }.map { table in
            let answer = BlockingAnswer<Value>()
            table.reactor.submit { answer.set(body(table.value, table.reactor)) }
            return answer.wait()
        }
    }

    package var carrier: PrincipalCarrier { settings.gate.carrier }

    // MARK: In the process that is replaced

    /// Sends away the clients of all sessions that can go. Call it again until ``MoveCounts/isSettled``.
    package func sendSessionsAway() -> MoveCounts {
        let carrier = carrier
        return onReactors { table, _ in
            table.closeRelayed(.gatewayUpgrading)
            var counts = MoveCounts()
            for session in table.all { counts.add(session.prepareToMove(by: carrier)) }
            return counts
        }.reduce(into: MoveCounts()) { $0.add($1) }
    }

    /// Cuts off clients that were sent away and haven't closed.
    package func dropSentAway() {
        _ = onReactors { table, _ in
            for session in table.all { session.dropSentAway() }
        }
    }

    /// Sessions whose clients were sent away and are still here.
    package var sessionsSentAway: Int { onReactors { table, _ in table.all.count { $0.isSentAway } }.reduce(0, +) }

    /// Takes all sessions that can go off their reactors.
    package func freezeSessions() -> [FrozenSession] {
        let carrier = carrier
        return onReactors { table, _ in table.all.compactMap { ($0 as? Session)?.freeze(by: carrier) } }.flatMap(\.self)
    }

    /// Sessions that can go, and couldn't at the moment when they were to be frozen.
    package var sessionsToFreeze: Int {
        let carrier = carrier
        return onReactors { table, _ in table.all.count { $0.waitsToMove(by: carrier) } }.reduce(0, +)
    }

    /// Sessions of this process. Clients whose sessions other gateways have were sent away, and closing links have no
    /// session any more.
    package var sessionsHere: Int {
        onReactors { table, _ in table.all.count { $0.machine.isUnderway } }.reduce(0, +)
    }

    /// The ids of sessions that the fleet knows to be here and that don't go: nobody finds them behind the other
    /// process' name.
    package func announcedSessions(but frozen: [FrozenSession]) -> [String] {
        settings.directory.announced(but: Set(frozen.map(\.lease)))
    }

    /// They go on here, as if nothing had happened.
    package func thaw(_ frozen: [FrozenSession]) {
        for frozen in frozen { frozen.session.loop.submit { frozen.session.value.thaw() } }
        _ = onReactors { _, _ in }
    }

    /// Another process announces sessions from now on.
    package func stopAnnouncing() { settings.directory.stopAnnouncing() }

    /// Another process goes on with them, or they are lost with it.
    package func release(_ frozen: [FrozenSession]) {
        for frozen in frozen { frozen.session.loop.submit { frozen.session.value.handedOver() } }
        _ = onReactors { _, _ in }
    }

    // MARK: In the process that replaces another

    /// Makes a session that another process has frozen; it begins with ``beginRestored()``.
    ///
    /// - Parameter target: its target's socket; it takes ownership.
    package func restore(_ bytes: [UInt8], target: Int32, number: Int) throws {
        let state: SessionState
        let client: ClientIdentity
        let carrier = carrier
        let leg: MovingTarget
        do {
            state = try StateDecoder.decode(SessionState.self, from: bytes)
            client = try ClientIdentity(state.client, by: carrier)
            leg = MovingTarget(host: state.target.host.text, inherited: target, unsent: state.unsent)
        } catch {
            closeSocket(target)
            throw error
        }
        let settings = SessionSettings(settings)
        let tables = tables.withLock { $0 }
        let table = tables[number % tables.count]
        let carried = Carried(state)
        let answer = BlockingAnswer<Bool>()
        table.reactor.submit {
            answer.set(
                Self.restore(
                    carried.state, of: client, leg, by: carrier, settings: settings, table: table.value,
                    loop: table.reactor))
        }
        guard answer.wait() else { throw CarriedStateFault() }
    }

    /// - Returns: false where this process can't go on with it.
    private static func restore(
        _ state: SessionState, of client: ClientIdentity, _ target: MovingTarget, by carrier: PrincipalCarrier,
        settings: SessionSettings, table: SessionTable, loop: any SessionLoop
    ) -> Bool {
        let translation = Translation(
            state.translation, maximumMessageBytes: settings.dialects.maximumMessageBytes,
            telnet: settings.dialects.telnet, compressor: table.compressor,
            makeDecompressor: { ZlibDecompressor() }, restoring: { ZlibDecompressor($0) })
        guard let translation else { return false }
        let session = Session(
            state, of: client, translation, settings: settings, sessions: table, loop: loop)
        let lease = try? settings.directory.restore(state.entry, by: carrier, holder: SessionHolder(session))
        guard let lease else { return false }
        session.lease = lease
        session.leg = TargetLeg(state.target, departed: target, handler: session)
        session.lastTarget = state.target
        table.restored.append((session, state.pending))
        settings.metrics.sessionOpened()
        return true
    }

    /// All sessions that were restored go on. The first heartbeat of a fleet's gateway announces them.
    package func beginRestored() {
        _ = onReactors { table, _ in
            let restored = table.restored
            table.restored = []
            for (session, pending) in restored { session.beginRestored(pending: pending) }
        }
    }

    /// Ends all sessions that were restored. Their targets see the end of their connections.
    package func dropRestored() {
        _ = onReactors { table, _ in
            for (session, _) in table.restored { session.lostOnItsWay() }
            table.restored = []
        }
    }

    // MARK: The internal listener

    /// Of the internal listener, as `InternalServer` has it; nil: there is none.
    package var internalListeningSocket: Int32? { internalServer.withLock { $0?.listeningSocket } }

    package func setAcceptingInternally(_ accepts: Bool) {
        internalServer.withLock { $0?.setAccepting(accepts) }
    }
}

/// How many sessions of a process can go to another one.
package struct MoveCounts: Sendable, Equatable {
    package private(set) var ready = 0
    package private(set) var leaving = 0
    package private(set) var undecided = 0
    package private(set) var staying = 0

    package init() {}

    /// Waiting longer brings nothing.
    package var isSettled: Bool { leaving == 0 && undecided == 0 }

    mutating func add(_ readiness: MoveReadiness) {
        switch readiness {
        case .ready: ready += 1
        case .leaving: leaving += 1
        case .undecided: undecided += 1
        case .staying: staying += 1
        }
    }

    mutating func add(_ other: MoveCounts) {
        ready += other.ready
        leaving += other.leaving
        undecided += other.undecided
        staying += other.staying
    }
}

/// A state on its way to a reactor's thread.
///
/// - Note: `@unchecked Sendable` because nobody else has it.
private struct Carried: @unchecked Sendable {
    let state: SessionState

    init(_ state: SessionState) { self.state = state }
}
