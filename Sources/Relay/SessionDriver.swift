import Admission
import Logging
import Observability
import Reactors
import RelayCore

/// One session's hands: carries bytes between a WebSocket and a TCP connection, and performs what the state machine orders.
///
/// It decides nothing itself. Reactor thread only. The session table holds it while the session lives; both connections hold
/// it as their handler until they are closed.
final class SessionDriver: WebSocketHandler, TCPHandler, TimerTarget {
    private let id: String
    private let settings: RelaySettings
    private unowned let sessions: SessionTable
    private let reactor: Reactor
    /// Its place among the sessions goes back when it goes.
    private var admitted: Admitted?
    private var machine: SessionStateMachine
    private var webSocket: WebSocketConnection?
    private var target: TCPConnection?
    private lazy var timer = ReactorTimer(on: reactor, target: self)
    private let openedAt: UInt64
    private var bytesFromClient = 0
    private var bytesToClient = 0
    private var endedBy = SessionEnd.gateway
    /// The first of two orders that came while another was being performed is finished first.
    private var pendingActions: SessionActions = []
    private var isPerforming = false

    init(admitted: Admitted, id: String, settings: RelaySettings, sessions: SessionTable, reactor: Reactor) {
        self.admitted = admitted
        self.id = id
        self.settings = settings
        self.sessions = sessions
        self.reactor = reactor
        openedAt = reactor.now
        machine = SessionStateMachine(limits: settings.session, now: reactor.now)
    }

    // MARK: The client

    func webSocketOpened(_ webSocket: WebSocketConnection) {
        self.webSocket = webSocket
        sessions.insert(self)
        settings.metrics.sessionOpened()
        target = TCPConnection.dial(
            host: settings.target.host, port: settings.target.port,
            options: DialOptions(timeoutMilliseconds: settings.target.dialTimeoutMilliseconds), on: reactor,
            handler: self)
        perform(settings.drain.isDraining ? machine.shutDown(now: reactor.now) : [])
    }

    func webSocketReceived(_ piece: MessagePiece) {
        guard machine.acceptsFromClient, let target else { return }
        bytesFromClient += piece.bytes.count
        settings.metrics.relayed(piece.bytes.count, .fromClient)
        target.send(piece.bytes)
        perform(machine.clientSent(queued: target.queuedBytes, now: reactor.now))
    }

    func webSocketHeardPong() {
        machine.clientHeard(now: reactor.now)
    }

    func webSocketPeerClosed(code: UInt16?) {
        noteEnd(by: .client)
        perform(machine.clientClosed(now: reactor.now))
    }

    func webSocketWrote() {
        perform(machine.clientDrained(queued: webSocket?.queuedBytes ?? 0, now: reactor.now))
    }

    func webSocketClosed() {
        noteEnd(by: .client)
        webSocket = nil
        perform(machine.clientClosed(now: reactor.now))
    }

    // MARK: The target

    func tcpConnected() {
        perform(machine.targetConnected(now: reactor.now))
    }

    func tcpReceived(_ bytes: UnsafeRawBufferPointer) {
        guard machine.acceptsFromTarget, let webSocket else { return }
        bytesToClient += bytes.count
        settings.metrics.relayed(bytes.count, .toClient)
        webSocket.send(bytes)
        perform(machine.targetSent(queued: webSocket.queuedBytes, now: reactor.now))
    }

    func tcpPeerFinished() {
        noteEnd(by: .target)
        perform(machine.targetFinished(now: reactor.now))
    }

    func tcpWrote() {
        perform(machine.targetDrained(queued: target?.queuedBytes ?? 0, now: reactor.now))
    }

    func tcpClosed(error: TCPError?) {
        noteEnd(by: .target)
        target = nil
        if let error { logTargetError(error) }
        perform(machine.targetClosed(error.map(CloseReason.init), now: reactor.now))
    }

    // MARK: The gateway

    func shutDown() {
        perform(machine.shutDown(now: reactor.now))
    }

    func timerFired(now: UInt64) {
        perform(machine.tick(now: now))
    }

    // MARK: Orders

    /// Performing an order can bring the next event before it returns (a closed connection says so at once): that one's orders wait
    /// their turn.
    private func perform(_ actions: SessionActions) {
        pendingActions.formUnion(actions)
        guard !isPerforming else { return }
        isPerforming = true
        while !pendingActions.isEmpty {
            let batch = pendingActions
            pendingActions = []
            performBatch(batch)
        }
        isPerforming = false
        if let deadline = machine.nextDeadline { timer.arm(at: deadline) } else { timer.cancel() }
    }

    private func performBatch(_ actions: SessionActions) {
        if actions.contains(.pauseClient) { webSocket?.setReading(paused: true) }
        if actions.contains(.resumeClient) { webSocket?.setReading(paused: false) }
        if actions.contains(.pauseTarget) { target?.setReading(paused: true) }
        if actions.contains(.resumeTarget) { target?.setReading(paused: false) }
        if actions.contains(.sendPing) { webSocket?.ping() }
        if actions.contains(.finishTarget) { target?.finish() }
        if actions.contains(.dropTarget) { target?.drop() }
        if actions.contains(.closeClient) {
            webSocket?.close(code: machine.closeReason.code, reason: machine.closeReason.text)
        }
        if actions.contains(.dropClient) { webSocket?.drop() }
        if actions.contains(.end) { end() }
    }

    private func noteEnd(by side: SessionEnd) {
        if machine.acceptsFromClient { endedBy = side }
    }

    private func end() {
        guard admitted != nil else { return }
        admitted = nil
        sessions.remove(self)
        settings.metrics.sessionEnded(by: endedBy)
        settings.logger.info(
            "session ended",
            metadata: [
                LogKeys.session: "\(id)", LogKeys.reason: "\(endedBy.rawValue)",
                LogKeys.bytesFromClient: "\(bytesFromClient)", LogKeys.bytesToClient: "\(bytesToClient)",
                LogKeys.milliseconds: "\((reactor.now - openedAt) / 1_000_000)",
            ])
    }

    private func logTargetError(_ error: TCPError) {
        settings.logger.warning(
            "target connection failed",
            metadata: [
                LogKeys.session: "\(id)", LogKeys.target: "\(settings.target.host):\(settings.target.port)",
                LogKeys.error: "\(error)",
            ])
    }
}

extension CloseReason {
    /// A few words for the client; what exactly went wrong stands in the log.
    fileprivate init(_ error: TCPError) {
        switch error {
        case .notResolved, .notAllowed, .notConnected, .timedOut, .notSecured: self = .targetUnreachable
        case .broken: self = .targetLost
        }
    }
}
