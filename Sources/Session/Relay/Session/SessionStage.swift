import Admission
import Logging
import Observability
import Reactors
import RelayCore
import Synchronization
import WireText

/// What a client has at the gateway: a ``Newcomer`` until it is known what the client wants, then a ``Session``.
///
/// It performs what the state machine and the translation order, and makes no decisions itself. On its loop's thread
/// only. The `SessionTable` of its loop holds it while it lives, its link while it has one, and its target as its
/// handler.
class SessionStage: TargetLegHandler, TimerTarget {
    /// Of its current or last connection.
    final var client: ClientIdentity
    final let settings: SessionSettings
    final var loop: any SessionLoop
    final unowned var sessions: SessionTable
    /// Nil while there is no client: while the session is detached and while it moves; and at its end.
    final var link: ClientLink?
    /// Counts among the gateway's sessions until it is released. Nil while the session moves.
    final var globalLease: SessionLease?
    /// Counts among the sessions of its identity and its address; from the first dial on.
    final var lease: SessionDirectory.Lease?
    /// Its name in the table of any loop, which a session has from its newcomer.
    final let number: Int
    private static let numbers = Atomic(0)

    // Unchecked as in `WebSocketConnection`.
    @exclusivity(unchecked) final var machine: SessionStateMachine
    final var leg: TargetLeg?
    /// For the log: the one of `leg`, also when that has ended.
    final var lastTarget: AuthorizedTarget?
    /// Nil while the dialect isn't known, and where bytes pass unchanged.
    final var translation: TranslationHolder?
    /// Empty while bytes pass unchanged.
    final var pending = PendingInput()
    /// The target has ended; the client is told after the pending output.
    final var endOfTarget: EndOfTarget?
    @exclusivity(unchecked) final var deadlines = SessionDeadlines()
    @exclusivity(unchecked) final var meter: TrafficMeter
    @exclusivity(unchecked) final var pacing: PacingBucket
    /// Of the client's address; nil: there is no limit.
    final var addressShare: AddressShare?
    /// The number of targets that the client has requested.
    final var dialCount = 0
    /// Where it is counted among the sessions of its route.
    final var place: SessionPlace?
    @exclusivity(unchecked) final var counters = SessionCounters()

    final var clientPauses: ReadingPauses = [] {
        didSet { link?.socket?.setReading(paused: !clientPauses.isEmpty) }
    }
    final var targetPauses: ReadingPauses = [] {
        didSet { leg?.setReading(paused: !targetPauses.isEmpty) }
    }

    final var timer: any SessionTimer
    final let openedAt: UInt64
    /// Orders that came while others were being performed.
    private final var pendingActions: SessionActions = []
    final private(set) var isPerforming = false
    /// It must end when the session that its client requested has moved here, or the request has failed.
    private final var endIsDue = false
    /// It has ended, or its link has another one.
    final private(set) var isOver = false
    /// The session that has taken its place.
    final private(set) var successor: Session?

    init(
        _ machine: SessionStateMachine, of client: ClientIdentity, _ globalLease: SessionLease?, openedAt: UInt64,
        settings: SessionSettings, sessions: SessionTable, loop: any SessionLoop
    ) {
        number = Self.numbers.wrappingAdd(1, ordering: .relaxed).newValue
        self.globalLease = globalLease
        self.client = client
        self.settings = settings
        self.sessions = sessions
        self.loop = loop
        timer = loop.makeTimer()
        self.openedAt = openedAt
        self.machine = machine
        meter = TrafficMeter(
            messagesPerSecond: settings.traffic.messagesPerSecond,
            bytesPerSecond: settings.traffic.clientBytesPerSecond)
        pacing = PacingBucket(perSecond: settings.traffic.targetBytesPerSecond)
        addressShare = settings.traffic.perAddress?.join(client.address.prefix)
    }

    /// Goes on where `stage` is, with all that it has. ``hand(over:)`` follows.
    init(continuing stage: SessionStage) {
        (client, settings, link) = (stage.client, stage.settings, stage.link)
        (loop, sessions) = (stage.loop, stage.sessions)
        (globalLease, lease, number) = (stage.globalLease, stage.lease, stage.number)
        (machine, leg, lastTarget) = (stage.machine, stage.leg, stage.lastTarget)
        (translation, pending, endOfTarget) = (stage.translation, stage.pending, stage.endOfTarget)
        (deadlines, meter, pacing, addressShare) = (stage.deadlines, stage.meter, stage.pacing, stage.addressShare)
        (dialCount, place, counters) = (stage.dialCount, stage.place, stage.counters)
        (clientPauses, targetPauses) = (stage.clientPauses, stage.targetPauses)
        (timer, openedAt) = (stage.timer, stage.openedAt)
    }

    /// `session`, made of this, takes its place on its link, in the table and as the handler of its target.
    final func hand(over session: Session) {
        precondition(!isOver && !isPerforming && !endIsDue, "a session begins between two orders")
        isOver = true
        timer.cancel()  // It calls one object while it is armed.
        successor = session
        link?.stage = session
        sessions.replace(self, by: session)
        leg?.pass(to: session)
        (link, leg, globalLease, lease, addressShare) = (nil, nil, nil, nil, nil)
        (translation, endOfTarget, place) = (nil, nil, nil)
        pending = PendingInput()
        session.armTimer()
    }

    /// Itself, or what has taken its place meanwhile.
    final var current: SessionStage { successor ?? self }

    // MARK: The client

    final func clientSent(_ piece: MessagePiece, over link: ClientLink) {
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
        if passesUnchanged {
            leg?.send(piece.bytes)
        } else {
            receive(piece)
        }
        if let successor { return successor.noteClientSent() }
        noteClientSent()
    }

    private final func noteClientSent() {
        perform(machine.clientSent(queued: leg?.queuedBytes ?? 0, now: loop.now))
    }

    /// In dialects with errors an oversized message is answered. In the others the client wouldn't know that it was
    /// discarded.
    private final func isOfSize(_ piece: MessagePiece, _ link: ClientLink) -> Bool {
        if let translation, translation.value.answersErrors { return true }
        return link.fits(piece, in: settings.dialects.maximumMessageBytes)
    }

    func receive(_ piece: ArraySlice<UInt8>, isText: Bool, isLast: Bool) {
        let canAnswer = clientHasRoom
        translate { $0.receive(piece, isText: isText, isLast: isLast, canAnswer: canAnswer, into: &$1) }
    }

    final func clientHeard() { machine.clientHeard(now: loop.now) }

    /// - Parameter code: of the client's Close frame.
    final func clientClosed(code: UInt16?) {
        perform(
            endsSession(code)
                ? machine.clientClosed(now: loop.now) : machine.clientLost(.clientClosed, now: loop.now))
    }

    final func endsSession(_ code: UInt16?) -> Bool {
        translation?.value.endsSession(closeCode: code) ?? true
    }

    final func clientLost(_ reason: EndReason) {
        perform(machine.clientLost(reason, now: loop.now))
    }

    /// The client has read part of its queue.
    final func clientRead() {
        machine.clientRead(queued: clientQueue, now: loop.now)
        tellClient()
        noteClientQueue()
    }

    /// Takes what is pending, event by event, until the client's queue is full.
    func tellClient() {}

    /// The session continues without a client.
    func becameDetached() {}

    // MARK: The target

    func targetConnected() {}

    func targetSent(_ bytes: UnsafeRawBufferPointer) {
        guard machine.acceptsFromTarget else { return }
        pace(bytes.count, steps: 1)
        pending.append(bytes, spare: &sessions.scratch.spare)
        tellClient()
        perform(machine.targetSent(queued: clientQueue, holdsMore: holdsMoreForClient, now: loop.now))
    }

    final func targetDecrypted(records: Int) { pace(0, steps: records) }

    func targetFinished() {
        endOfTarget = .finished
        tellClient()
        tellEndOfTarget()
    }

    final func targetWrote() {
        perform(machine.targetDrained(queued: leg?.queuedBytes ?? 0, now: loop.now))
        replyToTarget()
    }

    func targetClosed(error: TCPError?) {
        let target = leg?.target
        leg = nil
        recount()
        if let error { logTargetError(error, target) }
        endOfTarget = .closed(error.map(CloseReason.init))
        tellEndOfTarget()
    }

    // MARK: The gateway

    /// Ends it in order.
    func close(_ reason: CloseReason) {
        link?.resumption?.closeReason = reason
        perform(machine.close(reason, now: loop.now))
    }

    /// A client whose dialect has a message for it is told when to come back.
    final func announceDraining() {
        let after = settings.dialects.reconnectMilliseconds
        translate { $0.sendDraining(reconnectAfterMilliseconds: Int.random(in: after...2 * after), into: &$1) }
    }

    func timerFired(now: UInt64) {
        perform(machine.tick(now: now))
    }

    // MARK: Orders

    func carryOut(_ order: TranslationOrder) {
        if case .close(let reason) = order { perform(machine.close(reason, now: loop.now)) }
    }

    /// Performing an order can cause the next event before it returns (a closed connection is reported at once). That
    /// event's orders are performed afterwards.
    final func perform(_ actions: SessionActions) {
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
        if machine.isDetached, link != nil { becameDetached() }
        armTimer()
    }

    private final func performBatch(_ actions: SessionActions) {
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
    private final func finishTarget() {
        // From here on the target is read to its end, whatever it sends.
        deadlines.readTarget = nil
        targetPauses.subtract([.rate, .turn])
        if let leg { leg.finish() } else { perform(machine.targetClosed(nil, now: loop.now)) }
    }

    final func armTimer() {
        guard !isOver else { return }
        let own = machine.isUnderway ? deadlines.next(choosing: link?.arrival?.deadline) : nil
        switch (machine.nextDeadline, own) {
        case (let first?, let second?): timer.arm(at: min(first, second), calling: self)
        case (let only?, nil), (nil, let only?): timer.arm(at: only, calling: self)
        case (nil, nil): timer.cancel()
        }
    }

    final func noteRelayed(_ count: Int) {
        counters.bytesToClient += count
        settings.metrics.relayed(count, .toClient)
    }

    final func noteFrames(_ fromClient: Int, _ toClient: Int) {
        settings.metrics.framed(fromClient, .fromClient)
        settings.metrics.framed(toClient, .toClient)
        counters.frameBytesFromClient += fromClient
        counters.frameBytesToClient += toClient
    }

    // MARK: The end

    private final func end() {
        // The session that moves here needs the link, and must not be forgotten by a shutdown.
        guard link?.resumption?.isMoving != true else {
            endIsDue = true
            return
        }
        let (reason, remark) = (machine.endReason ?? .clientLost, endRemark)
        willEnd(reason)
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

    /// The last call before its line is written.
    func willEnd(_ reason: EndReason) {}

    /// What was asked for is here, or can't be had.
    final func endIfDue() {
        if endIsDue, !isOver { end() }
    }

    final func leave() {
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

    func releaseLease() {
        if let lease { settings.directory.release(lease) }
        lease = nil
    }
}
