import Admission
import Logging
import Observability
import Reactors
import RelayCore
import WireText

/// One session: carries bytes between a client and its target, and performs what the state machine and the translation
/// order.
///
/// It makes no decisions itself. Whatever is true of the whole session is here, so it survives its client's WebSocket
/// (`ClientLink`) and moves as one object to the link of the client that resumes it, on the same loop or on another
/// one: see `Session+Resume`. On its loop's thread only.
///
/// The `SessionTable` of its loop holds it while it lives, its link while it has one, and its target as its handler.
final class Session: TargetLegHandler, TimerTarget {
    /// Of its current or last connection.
    var client: ClientIdentity
    let settings: SessionSettings
    var loop: any SessionLoop
    let request: SessionRequest
    /// About the target of `request`; nil: this session has a target already.
    let route: TargetDecision?
    /// Nil: this session is only there until the one that its client resumes has taken its place, or has a target
    /// already.
    let permit: SessionPermit?
    unowned var sessions: SessionTable
    /// Nil while there is no client: before the WebSocket is open, while the session is detached and while it moves.
    var link: ClientLink?
    /// Counts among the gateway's sessions until it is released. Nil while the session moves.
    var globalLease: SessionLease?
    /// Counts among the sessions of its identity and its address; from the first dial on.
    var lease: SessionDirectory.Lease?
    var announcement = SessionAnnouncement.none
    /// As its client knows it; nil: it hasn't been told yet.
    var id: String?

    // Unchecked as in `WebSocketConnection`.
    @exclusivity(unchecked) var machine: SessionStateMachine
    var leg: TargetLeg?
    /// For the log: the one of `leg`, also when that has ended.
    var lastTarget: AuthorizedTarget?
    var dialect: DialectState
    /// Empty while the dialect is raw.
    var pending = PendingInput()
    /// The target has ended; the client is told after the pending output.
    var endOfTarget: EndOfTarget?
    @exclusivity(unchecked) var deadlines = SessionDeadlines()
    /// The turn in which the wait for the client's first message was over.
    var lastTurnOfWait: UInt64?
    @exclusivity(unchecked) var meter: TrafficMeter
    @exclusivity(unchecked) var pacing: PacingBucket
    /// Of the client's address; nil: there is no limit.
    var addressShare: AddressShare?
    /// The gate has refused this client its next ticket.
    var isTicketRefused = false
    /// The number of targets that the client has requested.
    var dialCount = 0
    /// Where it is counted among the sessions of its route.
    var place: SessionPlace?
    var budget = TurnBudget()
    @exclusivity(unchecked) var counters = SessionCounters()

    var clientPauses: ReadingPauses = [] {
        didSet { link?.socket?.setReading(paused: !clientPauses.isEmpty) }
    }
    var targetPauses: ReadingPauses = [] {
        didSet { leg?.setReading(paused: !targetPauses.isEmpty) }
    }

    var timer: any SessionTimer
    let openedAt: UInt64
    /// Orders that came while others were being performed.
    private var pendingActions: SessionActions = []
    private var isPerforming = false
    /// It must end when the session that its client requested has moved here, or the request has failed.
    private var endIsDue = false
    /// It has ended, or its link has another session.
    private(set) var isOver = false

    init(
        admitted: Admitted, client: ClientIdentity, upgrade: Upgrade, settings: SessionSettings,
        sessions: SessionTable, loop: any SessionLoop
    ) {
        globalLease = admitted.globalLease
        permit = admitted.permit
        self.client = client
        request = upgrade.session
        route = upgrade.route
        self.settings = settings
        self.sessions = sessions
        self.loop = loop
        timer = loop.makeTimer()
        let now = loop.now
        openedAt = now
        machine = SessionStateMachine(limits: settings.session, now: now)
        meter = TrafficMeter(
            messagesPerSecond: settings.traffic.messagesPerSecond,
            bytesPerSecond: settings.traffic.clientBytesPerSecond)
        pacing = PacingBucket(perSecond: settings.traffic.targetBytesPerSecond)
        addressShare = settings.traffic.perAddress?.join(client.address.prefix)
        dialect = .choosing(upgrade.chooser(settings.dialects, now: now))
    }

    /// One that goes on from another process, without a client, from ``beginRestored()`` on.
    init(
        _ state: SessionState, of client: ClientIdentity, _ translation: Translation, settings: SessionSettings,
        sessions: SessionTable, loop: any SessionLoop
    ) {
        globalLease = sessions.gate.leaseForRestored()
        permit = nil
        self.client = client
        request = SessionRequest(target: .standard, client: ClientDescription(), dialect: nil, resume: nil)
        route = nil
        self.settings = settings
        self.sessions = sessions
        self.loop = loop
        timer = loop.makeTimer()
        openedAt = state.openedAt
        machine = SessionStateMachine(state.machine, limits: settings.session, now: loop.now)
        meter = TrafficMeter(
            messagesPerSecond: settings.traffic.messagesPerSecond,
            bytesPerSecond: settings.traffic.clientBytesPerSecond)
        pacing = PacingBucket(perSecond: settings.traffic.targetBytesPerSecond)
        addressShare = settings.traffic.perAddress?.join(client.address.prefix)
        dialect = .translated(TranslationHolder(translation))
        dialCount = state.dialCount
        counters = state.counters
        id = state.entry.id
    }

    // MARK: The client

    func opened(on link: ClientLink) {
        self.link = link
        counters.isCompressed = link.isCompressed
        sessions.insert(self)
        settings.metrics.sessionOpened()
        beginDialect()
        // By now the link may have resumed a session.
        if settings.drain.isDraining { link.session?.close(.shuttingDown) } else { perform([]) }
    }

    func clientSent(_ piece: MessagePiece, over link: ClientLink) {
        guard machine.acceptsFromClient else { return }
        counters.bytesFromClient += piece.bytes.count
        counters.inputAt = loop.now
        settings.metrics.relayed(piece.bytes.count, .fromClient)
        if piece.isFirst { countMessage() }
        guard isOfSize(piece, link) else { return perform(machine.close(.messageTooBig, now: loop.now)) }
        guard link.resumption == nil else {
            link.resumption?.hold(piece)
            return
        }
        if case .raw = dialect {
            leg?.send(piece.bytes)
        } else {
            receive(piece)
        }
        perform(machine.clientSent(queued: leg?.queuedBytes ?? 0, now: loop.now))
    }

    /// In dialects with errors an oversized message is answered. In the others the client wouldn't know that it was
    /// discarded.
    private func isOfSize(_ piece: MessagePiece, _ link: ClientLink) -> Bool {
        if case .translated(let translation) = dialect, translation.value.answersErrors { return true }
        return link.fits(piece, in: settings.dialects.maximumMessageBytes)
    }

    func clientHeard() { machine.clientHeard(now: loop.now) }

    /// - Parameter code: of the client's Close frame.
    func clientClosed(code: UInt16?) {
        perform(
            endsSession(code)
                ? machine.clientClosed(now: loop.now) : machine.clientLost(.clientClosed, now: loop.now))
    }

    func endsSession(_ code: UInt16?) -> Bool {
        guard case .translated(let translation) = dialect else { return true }
        return translation.value.endsSession(closeCode: code)
    }

    func clientLost(_ reason: EndReason) {
        perform(machine.clientLost(reason, now: loop.now))
    }

    /// The client has read part of its queue.
    func clientRead() {
        machine.clientRead(queued: clientQueue, now: loop.now)
        tellClient()
        noteClientQueue()
    }

    // MARK: The target

    func targetConnected() {
        if let leg {
            logConnected(leg)
            noteDial(.connected, since: leg.dialledAt)
        }
        let actions = machine.targetConnected(now: loop.now)
        translationConnected()
        perform(actions)
    }

    func targetSent(_ bytes: UnsafeRawBufferPointer) {
        guard machine.acceptsFromTarget else { return }
        pace(bytes.count, steps: 1)
        if case .raw = dialect {
            guard let socket = link?.socket else { return }
            noteRelayed(bytes.count)
            socket.send(bytes)
        } else {
            pending.append(bytes, spare: &sessions.scratch.spare)
            tellClient()
        }
        perform(machine.targetSent(queued: clientQueue, holdsMore: holdsMoreForClient, now: loop.now))
    }

    func targetDecrypted(records: Int) { pace(0, steps: records) }

    func targetFinished() {
        announced()
        endOfTarget = .finished
        tellClient()
        tellEndOfTarget()
    }

    func targetWrote() {
        perform(machine.targetDrained(queued: leg?.queuedBytes ?? 0, now: loop.now))
        replyToTarget()
    }

    func targetClosed(error: TCPError?) {
        announced()
        let failedTarget = leg?.target
        let (wasConnected, dialledAt) = (leg?.isConnected ?? false, leg?.dialledAt ?? loop.now)
        leg = nil
        recount()
        if let error { logTargetError(error, failedTarget) }
        if !wasConnected, let error { noteDial(DialOutcome(error), since: dialledAt) }
        if !wasConnected, let error, dialFailed(error) { return }
        endOfTarget = .closed(error.map(CloseReason.init))
        tellEndOfTarget()
    }

    // MARK: The gateway

    /// Ends the session in order. A client whose dialect isn't known yet gets the target's output unchanged.
    func close(_ reason: CloseReason) {
        link?.resumption?.closeReason = reason
        if chooserDeadline != nil, leg != nil { choose(.raw) }
        perform(machine.close(reason, now: loop.now))
    }

    /// The session's turn to translate more for the client has come.
    func continueTelling() {
        budget = TurnBudget()
        targetPauses.remove(.turn)
        tellClient()
        noteClientQueue()
    }

    /// A client whose dialect has a message for it is told when to come back.
    func announceDraining() {
        let after = settings.dialects.reconnectMilliseconds
        translate { $0.sendDraining(reconnectAfterMilliseconds: Int.random(in: after...2 * after), into: &$1) }
    }

    func timerFired(now: UInt64) {
        deadlineReached(now)
        perform(machine.tick(now: now))
    }

    /// Asks the directory again for the session that the client wants to resume.
    func askAgain(at time: UInt64) {
        deadlines.resume = time
        armTimer()
    }

    // MARK: Orders

    /// Performing an order can cause the next event before it returns (a closed connection is reported at once). That
    /// event's orders are performed afterwards.
    func perform(_ actions: SessionActions) {
        guard !isOver else { return }
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
        if machine.isDetached, link != nil { detach() }
        armTimer()
    }

    private func performBatch(_ actions: SessionActions) {
        if actions.contains(.pauseClient) { clientPauses.insert(.queue) }
        if actions.contains(.resumeClient) { clientPauses.remove(.queue) }
        if actions.contains(.pauseTarget) { targetPauses.insert(.queue) }
        if actions.contains(.resumeTarget) { targetPauses.remove(.queue) }
        if actions.contains(.sendPing) { link?.ping() }
        if actions.contains(.finishTarget) { finishTarget() }
        if actions.contains(.dropTarget) { leg?.drop() }
        if actions.contains(.closeClient) { link?.close(machine.closeReason) }
        if actions.contains(.dropClient) { link?.socket?.drop() }
        if actions.contains(.end) { end() }
    }

    /// Without a target there is nothing more to wait for.
    private func finishTarget() {
        // From here on the target is read to its end, whatever it sends.
        deadlines.readTarget = nil
        targetPauses.subtract([.rate, .turn])
        if let leg { leg.finish() } else { perform(machine.targetClosed(nil, now: loop.now)) }
    }

    func armTimer() {
        guard !isOver else { return }
        let own = machine.isUnderway ? deadlines.next(choosing: chooserDeadline) : nil
        switch (machine.nextDeadline, own) {
        case (let first?, let second?): timer.arm(at: min(first, second), calling: self)
        case (let only?, nil), (nil, let only?): timer.arm(at: only, calling: self)
        case (nil, nil): timer.cancel()
        }
    }

    func noteRelayed(_ count: Int) {
        counters.bytesToClient += count
        settings.metrics.relayed(count, .toClient)
    }

    func noteFrames(_ fromClient: Int, _ toClient: Int) {
        settings.metrics.framed(fromClient, .fromClient)
        settings.metrics.framed(toClient, .toClient)
        counters.frameBytesFromClient += fromClient
        counters.frameBytesToClient += toClient
    }

    // MARK: The end

    private func end() {
        // The session that moves here needs the link, and must not be forgotten by a shutdown.
        guard link?.resumption?.isMoving != true else {
            endIsDue = true
            return
        }
        let (reason, remark) = (machine.endReason ?? .clientLost, endRemark)
        endTickets(reason)
        leave()
        settings.metrics.sessionEnded(reason)
        settings.record.ended(client, reason, remark, at: loop.moment)
        guard client.isRecorded else { return }
        write(
            "session ended",
            [
                LogKeys.reason: "\(reason.rawValue)", LogKeys.detail: remark.map { "\($0)" },
                LogKeys.target: text(of: lastTarget),
                LogKeys.bytesFromClient: "\(counters.bytesFromClient)",
                LogKeys.bytesToClient: "\(counters.bytesToClient)",
                LogKeys.framesFromClient: "\(counters.frameBytesFromClient)",
                LogKeys.framesToClient: "\(counters.frameBytesToClient)",
                LogKeys.compression: counters.isCompressed ? "permessage-deflate" : nil,
                LogKeys.milliseconds: "\((loop.now - openedAt) / 1_000_000)",
            ])
    }

    /// What was asked for is here, or can't be had.
    func endIfDue() {
        if endIsDue, !isOver { end() }
    }

    func leave() {
        isOver = true
        timer.cancel()
        link?.leaveSession()
        link = nil
        sessions.remove(self)
        leg?.abandon()
        leg = nil
        recount()
        releaseLease()
        globalLease = nil
    }
}
