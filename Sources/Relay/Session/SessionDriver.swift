import Admission
import Logging
import Observability
import Reactors
import RelayCore

/// One session's hands: carries bytes between a WebSocket and its target, and performs what the state machine and the translation order.
///
/// It decides nothing itself. Reactor thread only. The session table holds it while the session lives; the WebSocket holds it as its
/// handler until it is closed. A session that can be resumed stays with it when the WebSocket is gone, until another driver takes it
/// over: see `SessionDriver+Resume`.
final class SessionDriver: WebSocketHandler, TargetLegHandler, TimerTarget {
    let client: ClientIdentity
    let settings: SessionSettings
    let reactor: Reactor
    let request: SessionRequest
    unowned let sessions: SessionTable
    /// Its place among the gateway's sessions goes back when it goes.
    private var slot: SessionSlot?
    /// Its place among those of its identity and its address; from the first dial on.
    var place: SessionDirectory.Register.Place?

    // Unchecked as in `WebSocketConnection`.
    @exclusivity(unchecked) var machine: SessionStateMachine
    var webSocket: WebSocketConnection?
    var leg: TargetLeg?
    /// For the log: the one of `leg`, also when that has ended.
    var lastTarget: AuthorizedTarget?
    var speech: Speech
    /// See `PendingInput`; empty while the speech is raw.
    var pending = PendingInput()
    /// The target has ended, which the client is told behind what is pending.
    var endOfTarget: EndOfTarget?
    @exclusivity(unchecked) var deadlines = SessionDeadlines()
    /// The session is here and its client is gone.
    var isDetached = false
    /// Another driver has the session; what is left is to close the WebSocket.
    var hasSurrendered = false
    /// Set while the session that the client resumes is on its way here.
    var heldMessages: HeldMessages?
    /// What was ordered meanwhile holds for that session too.
    var closesOnArrival: CloseReason?
    /// And so does what became of the WebSocket.
    var closeCodeMeanwhile: UInt16?
    var endIsDue = false
    /// What is to be asked for once more, and how often it still may be.
    var retry: (request: ResumeRequest, left: Int)?
    var kind: DialectKind?
    /// The client was told a new token, and hasn't shown yet that it has it.
    var awaitsConfirmation = false
    /// The turn in which the wait for the client's first message was over.
    var lastTurnOfWait: UInt64?
    @exclusivity(unchecked) var meter: TrafficMeter
    @exclusivity(unchecked) var pacing: PacingBucket
    /// Of the client's address; nil: there is no limit.
    let addressShare: AddressShare?
    /// The gate has refused this client its next ticket.
    var isTicketRefused = false
    /// Targets that this client has asked for.
    var dialCount = 0
    var share = TurnShare()

    var clientPauses: ReadingPauses = [] {
        didSet { webSocket?.setReading(paused: !clientPauses.isEmpty) }
    }
    var targetPauses: ReadingPauses = [] {
        didSet { leg?.setReading(paused: !targetPauses.isEmpty) }
    }

    private let timer: ReactorTimer
    private let openedAt: UInt64
    private var bytesFromClient = 0
    private var bytesToClient = 0
    /// Of the WebSocket's frames, as far as they have been counted.
    private var frameBytes = (fromClient: 0, toClient: 0)
    private var wasCompressed = false
    /// What its WebSocket's end says of the session, should it end by that.
    private var endOfClient = EndReason.clientLost
    /// Of the message that is coming.
    private var messageBytes = 0
    /// The first of two orders that came while another was being performed is finished first.
    private var pendingActions: SessionActions = []
    private var isPerforming = false

    init(
        admitted: Admitted, client: ClientIdentity, request: SessionRequest, settings: SessionSettings,
        sessions: SessionTable, reactor: Reactor
    ) {
        slot = admitted.slot
        self.client = client
        self.request = request
        self.settings = settings
        self.sessions = sessions
        self.reactor = reactor
        timer = ReactorTimer(on: reactor)
        openedAt = reactor.now
        machine = SessionStateMachine(limits: settings.session, now: reactor.now)
        meter = TrafficMeter(
            messagesPerSecond: settings.traffic.messagesPerSecond,
            bytesPerSecond: settings.traffic.clientBytesPerSecond)
        pacing = PacingBucket(perSecond: settings.traffic.targetBytesPerSecond)
        addressShare = settings.traffic.perAddress?.join(client.address.prefix)
        speech = .choosing(
            DialectChooser(
                subprotocol: admitted.subprotocol,
                standard: request.dialect.map(DefaultDialect.fixed) ?? settings.dialects.standard,
                wait: settings.dialects.wait, maximumMessageBytes: settings.dialects.maximumMessageBytes,
                now: reactor.now))
    }

    // MARK: The client

    func webSocketOpened(_ webSocket: WebSocketConnection) {
        self.webSocket = webSocket
        wasCompressed = webSocket.isCompressed
        sessions.insert(self)
        settings.metrics.sessionOpened()
        beginSpeech()
        perform(settings.drain.isDraining ? machine.close(.shuttingDown, now: reactor.now) : [])
    }

    func webSocketReceived(_ piece: MessagePiece) {
        guard machine.acceptsFromClient else { return }
        bytesFromClient += piece.bytes.count
        settings.metrics.relayed(piece.bytes.count, .fromClient)
        count(piece)
        guard isOfSize(piece) else { return perform(machine.close(.messageTooBig, now: reactor.now)) }
        guard heldMessages == nil else {
            heldMessages?.append(piece)
            return
        }
        if case .raw = speech {
            leg?.send(piece.bytes)
        } else {
            receive(piece)
        }
        perform(machine.clientSent(queued: leg?.queuedBytes ?? 0, now: reactor.now))
    }

    /// Where errors have a place a message that is too large is answered. Elsewhere nobody would know that it was thrown away.
    private func isOfSize(_ piece: MessagePiece) -> Bool {
        if case .translated(let translation) = speech, translation.value.answersErrors { return true }
        messageBytes = piece.bytes.count + (piece.isFirst ? 0 : messageBytes)
        return messageBytes <= settings.dialects.maximumMessageBytes
    }

    func webSocketReceivedControlFrame(bytes: Int) { count(bytes: bytes, isMessage: true) }

    func webSocketHeardPong() {
        machine.clientHeard(now: reactor.now)
        confirmToken()
    }

    func webSocketPeerClosed(code: UInt16?) {
        if heldMessages != nil { closeCodeMeanwhile = code }
        perform(
            endsSession(code)
                ? machine.clientClosed(now: reactor.now) : machine.clientLost(.clientClosed, now: reactor.now))
    }

    /// A message over its limit on the wire, or a frame that is none.
    func webSocketPeerFailed(code: UInt16) {
        endOfClient = code == 1009 ? .messageTooBig : .clientProtocolError
    }

    /// Otherwise empty blocks would come at any rate.
    func webSocketReceivedSurplus(bytes: Int) { count(bytes: bytes, isMessage: false) }

    func endsSession(_ code: UInt16?) -> Bool {
        guard case .translated(let translation) = speech else { return true }
        return translation.value.endsSession(closeCode: code)
    }

    func webSocketWrote() {
        let now = reactor.now
        machine.clientRead(queued: webSocket?.queuedBytes ?? 0, now: now)
        tellClient()
        perform(machine.clientDrained(queued: clientQueue, now: now))
    }

    func webSocketClosed() {
        noteFrames()
        webSocket = nil
        perform(machine.clientLost(endOfClient, now: reactor.now))
    }

    // MARK: The target

    func targetConnected() {
        if let leg { logConnected(leg) }
        let actions = machine.targetConnected(now: reactor.now)
        translationConnected()
        perform(actions)
    }

    func targetSent(_ bytes: UnsafeRawBufferPointer) {
        guard machine.acceptsFromTarget else { return }
        pace(bytes.count)
        if case .raw = speech {
            guard let webSocket else { return }
            noteRelayed(bytes.count)
            webSocket.send(bytes)
        } else {
            pending.append(bytes, spare: &sessions.scratch.spare)
            tellClient()
        }
        perform(machine.targetSent(queued: clientQueue, now: reactor.now))
    }

    func targetFinished() {
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
        endOfTarget = .closed(error.map(CloseReason.init), wasConnected: wasConnected)
        tellEndOfTarget()
    }

    // MARK: The gateway

    /// Ends the session in order. A client whose dialect isn't known yet gets what its target has said as it is.
    func close(_ reason: CloseReason) {
        if heldMessages != nil { closesOnArrival = reason }
        if chooserDeadline != nil, leg != nil { choose(.raw) }
        perform(machine.close(reason, now: reactor.now))
    }

    /// Its turn has come to go on telling the client.
    func continueTelling() {
        share = TurnShare()
        tellClient()
        perform(machine.clientDrained(queued: clientQueue, now: reactor.now))
    }

    /// A client whose dialect has a word for it is told when to come back.
    func announceDraining() {
        let after = settings.dialects.reconnectMilliseconds
        translate { $0.sendDraining(reconnectAfterMilliseconds: Int.random(in: after...2 * after), into: &$1) }
    }

    func timerFired(now: UInt64) {
        deadlineReached(now)
        perform(machine.tick(now: now))
    }

    // MARK: Orders

    /// Performing an order can bring the next event before it returns (a closed connection says so at once): that one's orders wait
    /// their turn.
    func perform(_ actions: SessionActions) {
        if actions.rawValue != 0 {
            pendingActions.formUnion(actions)
            guard !isPerforming else { return }
            isPerforming = true
            while pendingActions.rawValue != 0 {
                let batch = pendingActions
                pendingActions = []
                performBatch(batch)
            }
            isPerforming = false
        }
        guard !isPerforming else { return }
        if machine.isDetached, !isDetached {
            isDetached = true
            detached()
        }
        armTimer()
    }

    private func performBatch(_ actions: SessionActions) {
        if actions.contains(.pauseClient) { clientPauses.insert(.queue) }
        if actions.contains(.resumeClient) { clientPauses.remove(.queue) }
        if actions.contains(.pauseTarget) { targetPauses.insert(.queue) }
        if actions.contains(.resumeTarget) { targetPauses.remove(.queue) }
        if actions.contains(.sendPing) {
            noteFrames()
            webSocket?.ping()
        }
        if actions.contains(.finishTarget) { finishTarget() }
        if actions.contains(.dropTarget) { leg?.drop() }
        if actions.contains(.closeClient) {
            webSocket?.close(code: machine.closeReason.code, reason: machine.closeReason.text)
        }
        if actions.contains(.dropClient) { webSocket?.drop() }
        if actions.contains(.end) { end() }
    }

    /// Where there is none, its end is all that the session would wait for.
    private func finishTarget() {
        // From here on it is read to its end, whatever it sends.
        deadlines.readTarget = nil
        targetPauses.remove(.rate)
        if let leg { leg.finish() } else { perform(machine.targetClosed(nil, now: reactor.now)) }
    }

    func armTimer() {
        let own = machine.isUnderway ? deadlines.next(choosing: chooserDeadline) : nil
        switch (machine.nextDeadline, own) {
        case (let first?, let second?): timer.arm(at: min(first, second), calling: self)
        case (let only?, nil), (nil, let only?): timer.arm(at: only, calling: self)
        case (nil, nil): timer.cancel()
        }
    }

    func noteRelayed(_ count: Int) {
        bytesToClient += count
        settings.metrics.relayed(count, .toClient)
    }

    /// Counts what the WebSocket's frames have taken since it was counted last: at each ping and at the end.
    func noteFrames() {
        guard let webSocket else { return }
        let (read, written) = (webSocket.wireBytesRead, webSocket.wireBytesWritten)
        settings.metrics.framed(read - frameBytes.fromClient, .fromClient)
        settings.metrics.framed(written - frameBytes.toClient, .toClient)
        frameBytes = (read, written)
    }

    func end() {
        // The session that is on its way needs somebody to arrive at.
        guard heldMessages == nil || retry != nil else {
            endIsDue = true
            return
        }
        (heldMessages, retry) = (nil, nil)
        guard slot != nil else { return }
        slot = nil
        noteFrames()
        sessions.remove(self)
        leg?.abandon()
        leg = nil
        leavePlace()
        let reason = hasSurrendered ? .sessionReplaced : machine.endReason ?? .clientLost
        settings.metrics.sessionEnded(reason)
        guard !hasSurrendered else { return }
        settings.record.ended(client, reason, at: reactor.moment)
        settings.logger.info(
            "session ended",
            metadata: metadata(
                of: lastTarget,
                [
                    LogKeys.reason: "\(reason.rawValue)",
                    LogKeys.bytesFromClient: "\(bytesFromClient)", LogKeys.bytesToClient: "\(bytesToClient)",
                    LogKeys.framesFromClient: "\(frameBytes.fromClient)",
                    LogKeys.framesToClient: "\(frameBytes.toClient)",
                    LogKeys.compression: wasCompressed ? "permessage-deflate" : nil,
                    LogKeys.milliseconds: "\((reactor.now - openedAt) / 1_000_000)",
                ]))
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
}

/// How a target has ended.
enum EndOfTarget {
    /// Its FIN: it can still be written to.
    case finished
    /// - Parameter reason: nil after an orderly end.
    case closed(_ reason: CloseReason?, wasConnected: Bool)
}
