import Admission
import Logging
import Observability
import Reactors
import RelayCore

/// One session's hands: carries bytes between a WebSocket and its target, and performs what the state machine and the translation order.
///
/// It decides nothing itself. Reactor thread only. The session table holds it while the session lives; the WebSocket holds it as its
/// handler until it is closed.
final class SessionDriver: WebSocketHandler, TargetLegHandler, TimerTarget {
    let client: ClientIdentity
    let settings: RelaySettings
    let reactor: Reactor
    let request: SessionRequest
    unowned let sessions: SessionTable
    /// Its place among the sessions goes back when it goes.
    private var admitted: Admitted?

    var machine: SessionStateMachine
    var webSocket: WebSocketConnection?
    var leg: TargetLeg?
    var speech: Speech
    /// See `PendingInput`; empty while the speech is raw.
    var pending = PendingInput()
    /// The target has ended, which the client is told behind what is pending.
    var endOfTarget: EndOfTarget?
    var output = TranslationOutput()
    var deadlines = SessionDeadlines()

    private lazy var timer = ReactorTimer(on: reactor, target: self)
    private let openedAt: UInt64
    private var bytesFromClient = 0
    private var bytesToClient = 0
    private var endedBy = SessionEnd.gateway
    /// The first of two orders that came while another was being performed is finished first.
    private var pendingActions: SessionActions = []
    private var isPerforming = false

    init(
        admitted: Admitted, client: ClientIdentity, request: SessionRequest, settings: RelaySettings,
        sessions: SessionTable, reactor: Reactor
    ) {
        self.admitted = admitted
        self.client = client
        self.request = request
        self.settings = settings
        self.sessions = sessions
        self.reactor = reactor
        openedAt = reactor.now
        machine = SessionStateMachine(limits: settings.session, now: reactor.now)
        speech = .choosing(
            DialectChooser(
                subprotocol: admitted.subprotocol, standard: settings.dialects.standard,
                wait: settings.dialects.wait, maximumMessageBytes: settings.dialects.maximumMessageBytes,
                now: reactor.now))
    }

    // MARK: The client

    func webSocketOpened(_ webSocket: WebSocketConnection) {
        self.webSocket = webSocket
        sessions.insert(self)
        settings.metrics.sessionOpened()
        beginSpeech()
        perform(settings.drain.isDraining ? machine.shutDown(now: reactor.now) : [])
    }

    func webSocketReceived(_ piece: MessagePiece) {
        guard machine.acceptsFromClient else { return }
        bytesFromClient += piece.bytes.count
        settings.metrics.relayed(piece.bytes.count, .fromClient)
        if case .raw = speech {
            sendToTarget(piece.bytes)
        } else {
            receive(Array(piece.bytes)[...], isText: piece.isText, isLast: piece.isLast)
        }
        perform(machine.clientSent(queued: leg?.queuedBytes ?? 0, now: reactor.now))
    }

    func webSocketHeardPong() {
        machine.clientHeard(now: reactor.now)
    }

    func webSocketPeerClosed(code: UInt16?) {
        noteEnd(by: .client)
        perform(machine.clientClosed(now: reactor.now))
    }

    func webSocketWrote() {
        tellClient()
        perform(machine.clientDrained(queued: clientQueue, now: reactor.now))
    }

    func webSocketClosed() {
        noteEnd(by: .client)
        webSocket = nil
        perform(machine.clientClosed(now: reactor.now))
    }

    // MARK: The target

    func targetConnected() {
        if let leg { logConnected(leg) }
        let actions = machine.targetConnected(now: reactor.now)
        translationConnected()
        perform(actions)
    }

    func targetSent(_ bytes: UnsafeRawBufferPointer) {
        guard machine.acceptsFromTarget, let webSocket else { return }
        if case .raw = speech {
            noteRelayed(bytes.count)
            webSocket.send(bytes)
        } else {
            pending.append(bytes)
            tellClient()
        }
        perform(machine.targetSent(queued: clientQueue, now: reactor.now))
    }

    func targetFinished() {
        noteEnd(by: .target)
        endOfTarget = .finished
        tellClient()
        tellEndOfTarget()
    }

    func targetWrote() {
        perform(machine.targetDrained(queued: leg?.queuedBytes ?? 0, now: reactor.now))
        replyToTarget()
    }

    func targetClosed(error: TCPError?) {
        let failedTarget = leg?.target
        let wasConnected = leg?.isConnected ?? false
        leg = nil
        if let error { logTargetError(error, failedTarget) }
        if !wasConnected, let error, dialFailed(error) { return }
        noteEnd(by: .target)
        endOfTarget = .closed(error.map(CloseReason.init), wasConnected: wasConnected)
        tellEndOfTarget()
    }

    // MARK: The gateway

    /// A client whose dialect isn't known yet gets what its target has said as it is.
    func shutDown() {
        if chooserDeadline != nil { choose(.raw) }
        perform(machine.shutDown(now: reactor.now))
    }

    func timerFired(now: UInt64) {
        deadlineReached(now)
        perform(machine.tick(now: now))
    }

    // MARK: Orders

    /// Performing an order can bring the next event before it returns (a closed connection says so at once): that one's orders wait
    /// their turn.
    func perform(_ actions: SessionActions) {
        pendingActions.formUnion(actions)
        guard !isPerforming else { return }
        isPerforming = true
        while !pendingActions.isEmpty {
            let batch = pendingActions
            pendingActions = []
            performBatch(batch)
        }
        isPerforming = false
        armTimer()
    }

    private func performBatch(_ actions: SessionActions) {
        if actions.contains(.pauseClient) { webSocket?.setReading(paused: true) }
        if actions.contains(.resumeClient) { webSocket?.setReading(paused: false) }
        if actions.contains(.pauseTarget) { leg?.setReading(paused: true) }
        if actions.contains(.resumeTarget) { leg?.setReading(paused: false) }
        if actions.contains(.sendPing) { webSocket?.ping() }
        if actions.contains(.finishTarget) { leg?.finish() }
        if actions.contains(.dropTarget) { leg?.drop() }
        if actions.contains(.closeClient) {
            webSocket?.close(code: machine.closeReason.code, reason: machine.closeReason.text)
        }
        if actions.contains(.dropClient) { webSocket?.drop() }
        if actions.contains(.end) { end() }
    }

    private func armTimer() {
        let own = machine.acceptsFromClient ? deadlines.next(choosing: chooserDeadline) : nil
        switch (machine.nextDeadline, own) {
        case (let first?, let second?): timer.arm(at: min(first, second))
        case (let only?, nil), (nil, let only?): timer.arm(at: only)
        case (nil, nil): timer.cancel()
        }
    }

    func noteRelayed(_ count: Int) {
        bytesToClient += count
        settings.metrics.relayed(count, .toClient)
    }

    func noteEnd(by side: SessionEnd) {
        if machine.acceptsFromClient { endedBy = side }
    }

    private func end() {
        guard admitted != nil else { return }
        admitted = nil
        sessions.remove(self)
        leg?.abandon()
        settings.metrics.sessionEnded(by: endedBy)
        settings.logger.info(
            "session ended",
            metadata: [
                LogKeys.session: "\(client.session)", LogKeys.reason: "\(endedBy.rawValue)",
                LogKeys.bytesFromClient: "\(bytesFromClient)", LogKeys.bytesToClient: "\(bytesToClient)",
                LogKeys.milliseconds: "\((reactor.now - openedAt) / 1_000_000)",
            ])
    }

    private func logTargetError(_ error: TCPError, _ target: AuthorizedTarget?) {
        settings.logger.warning(
            "target connection failed", metadata: metadata(of: target, [LogKeys.error: "\(error)"]))
    }

    private func logConnected(_ leg: TargetLeg) {
        settings.logger.debug(
            "target connected",
            metadata: metadata(
                of: leg.target,
                [
                    LogKeys.targetTLS: "\(leg.tlsVersion ?? "none")",
                    LogKeys.fallback: leg.fallback.map { "\($0)" },
                ]))
    }

    private func metadata(
        of target: AuthorizedTarget?, _ more: [String: Logger.MetadataValue?]
    ) -> Logger.Metadata {
        let target = target.map { "\($0.host.text):\($0.port)" } ?? "-"
        return more.compactMapValues { $0 }.merging(
            [LogKeys.session: "\(client.session)", LogKeys.target: "\(target)"]) { $1 }
    }

    func close(_ reason: CloseReason) {
        perform(machine.close(reason, now: reactor.now))
    }
}

/// How a target has ended.
enum EndOfTarget {
    /// Its FIN: it can still be written to.
    case finished
    /// - Parameter reason: nil after an orderly end.
    case closed(_ reason: CloseReason?, wasConnected: Bool)
}
