import Admission
import Compression
import Observability
import Reactors
import RelayCore
import Telnet

/// The dialect of a session: its choice, and the data that passes through it.
extension Session {
    /// The maximum number of targets on one connection: more than a person tries, and too few for a scan or a flood.
    static let maximumDials = 16

    // MARK: Which dialect

    /// The subprotocol, a fixed default or the first message decides the dialect. MUDs speak first, so the target is
    /// dialled at once, unless the client is going to name one or may be resuming a session, here or at another gateway
    /// of the fleet.
    func beginDialect() {
        deadlines.connectBy = loop.now + settings.dialects.connectWait
        if let kind = link?.arrival?.dialect { return begin(kind) }
        guard link?.arrival?.request.resume == nil, !settings.directory.isAwaited(client) else { return }
        let holder = SessionHolder(self)
        let isAsked = settings.directory.askElsewhere(client) { isElsewhere in
            guard !isElsewhere else { return }
            holder.loop.submit { holder.session?.dialUnlessChosen() }
        }
        if !isAsked { dial(.standard) }
    }

    /// The client's first message may have been faster.
    private func dialUnlessChosen() {
        if isUndecided, leg == nil, endOfTarget == nil { dial(.standard) }
    }

    private func begin(_ kind: DialectKind) {
        become(kind)
        switch link?.arrival?.request.resume {
        case nil:
            if translation?.value.awaitsConnect != true { dial(.standard) }
        case let request? where kind.resumes:
            translate { translation, _ in translation.beginResuming() }
            link?.resume(request)
        default: perform(machine.close(.invalidResume, now: loop.now))
        }
    }

    private func become(_ kind: DialectKind) {
        let translation = Translation(
            kind: kind, client: link?.arrival?.request.client ?? ClientDescription(),
            maximumMessageBytes: settings.dialects.maximumMessageBytes,
            outputBufferBytes: settings.dialects.outputBufferBytes, compressor: sessions.compressor,
            makeDecompressor: { ZlibDecompressor() })
        self.translation = translation.map { TranslationHolder($0) }
        recount()
    }

    /// The dialect is known: translates the data that both sides have sent meanwhile.
    func choose(_ kind: DialectKind) {
        guard let arrival = link?.arrival, arrival.isUndecided else { return }
        let message = arrival.decided()
        if leg == nil, endOfTarget == nil { begin(kind) } else { become(kind) }
        if passesUnchanged {
            deliverPendingRaw()
            // Otherwise it is still needed to reach the target.
            if leg?.isConnected == true { link?.arrival = nil }
        }
        if translation?.value.awaitsConnect == false { meetTarget() }
        if let message { deliver(message) }
        tellClient()
        noteClientQueue()
        tellEndOfTarget()
    }

    private func deliver(_ message: (bytes: [UInt8], isText: Bool, isLast: Bool)) {
        if translation == nil {
            message.bytes.withUnsafeBytes { sendToTarget($0) }
        } else {
            receive(message.bytes[...], isText: message.isText, isLast: message.isLast)
        }
    }

    private func deliverPendingRaw() {
        pending.take(spare: &sessions.scratch.spare) { rest in
            rest.withUnsafeBytes { bytes in
                guard !bytes.isEmpty else { return }
                noteRelayed(bytes.count)
                link?.socket?.send(bytes)
            }
            rest = []
        }
    }

    /// Nil if bytes aren't translated, or not yet.
    var dialectKind: DialectKind? { translation?.value.kind }

    /// The client's dialect isn't known yet: what the target says waits, and the client's first message is the link's.
    var isUndecided: Bool { link?.arrival?.isUndecided ?? false }

    /// The client speaks telnet itself, or another protocol.
    var passesUnchanged: Bool { translation == nil && !isUndecided }

    // MARK: From the client

    func sendToTarget(_ bytes: UnsafeRawBufferPointer) {
        guard !bytes.isEmpty else { return }
        deadlines.sentToTarget(at: loop.now, keepAlive: settings.dialects.keepAlive)
        leg?.send(bytes)
    }

    /// Copies the piece: its bytes are in a buffer that libwebsockets uses again.
    func receive(_ piece: MessagePiece) {
        var bytes: [UInt8] = []
        swap(&bytes, &sessions.scratch.piece)
        bytes.append(contentsOf: piece.bytes)
        receive(bytes[...], isText: piece.isText, isLast: piece.isLast)
        bytes.removeAll(keepingCapacity: true)
        swap(&bytes, &sessions.scratch.piece)
    }

    func receive(_ piece: ArraySlice<UInt8>, isText: Bool, isLast: Bool) {
        guard translation != nil else {
            if let kind = link?.arrival?.receive(piece, isText: isText, isLast: isLast) { choose(kind) }
            return
        }
        let canAnswer = clientHasRoom
        translate { $0.receive(piece, isText: isText, isLast: isLast, canAnswer: canAnswer, into: &$1) }
    }

    // MARK: From the target

    /// Bytes that wait for the client.
    var clientQueue: Int {
        if translation == nil, isUndecided { return 0 }
        return (link?.queuedBytes ?? 0) + pending.count
    }

    /// Uncounted output is waiting, so the target has to wait: it has said enough to a client whose dialect isn't known,
    /// or its bytes are still compressed.
    var holdsMoreForClient: Bool {
        translation?.value.holdsBytes ?? (isUndecided && pending.count >= DialectChooser.maximumHeldOutput)
    }

    /// Tells the state machine how much output waits for the client.
    func noteClientQueue() {
        perform(machine.clientDrained(queued: clientQueue, holdsMore: holdsMoreForClient, now: loop.now))
    }

    /// Without a client, messages are kept for the replay and nothing waits.
    var clientHasRoom: Bool {
        guard let link else { return machine.isDetached }
        guard let socket = link.socket else { return false }
        return socket.queuedBytes <= settings.session.clientBufferBytes
    }

    /// Takes what is pending, event by event, until the client's queue is full.
    func tellClient() {
        guard !budget.isWaiting, translation != nil else { return }
        translatePending()
    }

    /// As much as the budget of this turn allows; the rest waits for a later turn, after the other sessions.
    private func translatePending() {
        budget.begin(turn: loop.turn)
        var (steps, isUsedUp) = (0, false)
        while !isUsedUp, clientHasRoom, hasMoreToTell {
            guard budget.isLeft else { break }
            let canReply = (leg?.queuedBytes ?? 0) <= settings.session.targetBufferBytes
            let before = pending.count
            translate { translation, output in
                isUsedUp = !pending.take(spare: &sessions.scratch.spare) {
                    translation.next(&$0, now: loop.now, canReply: canReply, into: &output)
                }
                steps += output.steps
                budget.spend(
                    before - pending.count + output.frames.bytes.count + output.toTarget.count, steps: output.steps)
            }
        }
        pace(0, steps: steps)
        guard budget.isLeft || isUsedUp || !clientHasRoom || !hasMoreToTell else { return awaitTurn() }
        tellEndOfTarget()
    }

    private func awaitTurn() {
        budget.isWaiting = true
        targetPauses.insert(.turn)
        sessions.await(self)
    }

    private var hasMoreToTell: Bool {
        guard let translation else { return false }
        return translation.value.isConnected && machine.acceptsFromTarget
            && (pending.count > 0 || translation.value.holdsBytes)
    }

    /// Telnet's answers to the target may have waited for room.
    func replyToTarget() {
        guard translation != nil, (leg?.queuedBytes ?? 0) <= settings.session.targetBufferBytes else { return }
        translate { $0.reply(into: &$1) }
    }

    /// The client is told of the target's end after all of its output.
    func tellEndOfTarget() {
        guard let endOfTarget else { return }
        if isUndecided {
            guard !machine.acceptsFromClient else { return }
            // The client has left before its dialect was known.
            pending.removeAll()
        }
        guard pending.count == 0 else { return }
        if let translation {
            guard !translation.value.holdsBytes else { return }
            translate { $0.targetClosed(endOfTarget.reason, into: &$1) }
            guard !mayConnectAgain else { return leaveEndedTarget() }
        }
        self.endOfTarget = nil
        switch endOfTarget {
        case .finished: perform(machine.targetFinished(now: loop.now))
        case .closed(let reason): perform(machine.targetClosed(reason, now: loop.now))
        }
    }

    /// The client hasn't requested a target yet: the end of the one dialled in advance doesn't end the session.
    private func leaveEndedTarget() {
        endOfTarget = nil
        leg?.abandon()
        leg = nil
        releaseLease()
    }

    private var mayConnectAgain: Bool {
        guard let translation else { return false }
        return translation.value.awaitsConnect && !translation.value.isConnected && !translation.value.hasEnded
    }

    // MARK: The translation

    /// Performs one step of the translation and carries out its orders.
    ///
    /// The loop's output buffer is taken out for the step, because another session may need one while orders are
    /// carried out.
    func translate(_ step: (inout Translation, inout TranslationOutput) -> Void) {
        guard let translation else { return }
        var output = TranslationOutput()
        swap(&output, &sessions.scratch.output)
        step(&translation.value, &output)
        holdClientBack(.dialing, translation.value.holdsClientBack)
        carryOut(&output)
        let orders = output.orders
        output.removeAll()
        swap(&output, &sessions.scratch.output)
        for order in orders { carryOut(order) }
    }

    private func carryOut(_ output: inout TranslationOutput) {
        output.frames.bytes.withUnsafeBytes { bytes in
            guard let socket = link?.socket else { return }
            for frame in output.frames.frames {
                noteRelayed(frame.range.count)
                socket.sendMessage(
                    UnsafeRawBufferPointer(rebasing: bytes[frame.range]), isText: frame.isText,
                    isSecret: frame.isSecret)
            }
        }
        output.toTarget.withUnsafeBytes { sendToTarget($0) }
    }

    private func carryOut(_ order: TranslationOrder) {
        switch order {
        case .dial(let target):
            deadlines.connectBy = nil  // From here on the dial has its own deadline.
            dialCount += 1
            guard dialCount <= Self.maximumDials else { return perform(machine.close(.tooManyDials, now: loop.now)) }
            dial(target)
        case .resume(let request): link?.resume(request)
        case .close(let reason): perform(machine.close(reason, now: loop.now))
        }
    }
}
