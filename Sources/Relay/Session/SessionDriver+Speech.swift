import Admission
import Compression
import Observability
import Reactors
import RelayCore
import Telnet

/// The dialect's side of a session: which one it is, and what passes through it.
extension SessionDriver {
    /// Targets that one client may ask for before one is reached: more than a person tries, and too few for a scan or a flood.
    static let maximumDials = 16

    // MARK: Which dialect

    /// A subprotocol or a fixed default has chosen already; otherwise the first message will. MUDs speak first, so the target is dialled
    /// in any case, unless its client is going to name one, or has a session that it may want to resume.
    func beginSpeech() {
        deadlines.connectBy = reactor.now + settings.dialects.connectWait
        if case .choosing(let chooser) = speech, let kind = chooser.kind { return begin(kind) }
        if request.resume == nil, !settings.directory.isAwaited(client) { dial(request.target) }
    }

    private func begin(_ kind: DialectKind) {
        become(kind)
        switch request.resume {
        case nil:
            if case .translated(let translation) = speech, translation.value.awaitsConnect { return }
            dial(request.target)
        case let request? where kind.resumes:
            translate { translation, _ in translation.beginResuming() }
            resume(request)
        default: perform(machine.close(.invalidResume, now: reactor.now))
        }
    }

    private func become(_ kind: DialectKind) {
        self.kind = kind
        deadlines.lastLook = nil
        let translation = Translation(
            kind: kind, client: request.client, maximumMessageBytes: settings.dialects.maximumMessageBytes,
            outputBufferBytes: settings.dialects.outputBufferBytes, compressor: sessions.compressor,
            makeDecompressor: { ZlibDecompressor() })
        speech = translation.map { .translated(TranslationHolder($0)) } ?? .raw
    }

    /// The dialect is known: what either side has said meanwhile is said in it.
    func choose(_ kind: DialectKind) {
        guard case .choosing(var chooser) = speech else { return }
        let (message, held) = (chooser.takeHeldMessage(), chooser.takeHeldOutput())
        pending.prepend(held)
        if leg == nil, endOfTarget == nil { begin(kind) } else { become(kind) }
        if case .raw = speech { deliverPendingRaw() }
        if case .translated(let translation) = speech, !translation.value.awaitsConnect { meetTarget() }
        if let message { deliver(message) }
        tellClient()
        perform(machine.clientDrained(queued: clientQueue, now: reactor.now))
        tellEndOfTarget()
    }

    private func deliver(_ message: (bytes: [UInt8], isText: Bool, isLast: Bool)) {
        if case .raw = speech {
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
                webSocket?.send(bytes)
            }
            rest = []
        }
    }

    var chooserDeadline: UInt64? {
        if case .choosing(let chooser) = speech { chooser.deadline } else { nil }
    }

    // MARK: From the client

    func sendToTarget(_ bytes: UnsafeRawBufferPointer) {
        guard !bytes.isEmpty else { return }
        deadlines.sentToTarget(at: reactor.now, keepAlive: settings.dialects.keepAlive)
        leg?.send(bytes)
    }

    /// The piece's bytes lie where libwebsockets will write the next ones.
    func receive(_ piece: MessagePiece) {
        var bytes: [UInt8] = []
        swap(&bytes, &sessions.scratch.piece)
        bytes.append(contentsOf: piece.bytes)
        receive(bytes[...], isText: piece.isText, isLast: piece.isLast)
        bytes.removeAll(keepingCapacity: true)
        swap(&bytes, &sessions.scratch.piece)
    }

    func receive(_ piece: ArraySlice<UInt8>, isText: Bool, isLast: Bool) {
        switch speech {
        case .raw: break
        case .choosing(var chooser):
            let kind = chooser.receive(piece, isText: isText, isLast: isLast)
            speech = .choosing(chooser)
            if let kind { choose(kind) }
        case .translated:
            let canAnswer = clientHasRoom
            translate { $0.receive(piece, isText: isText, isLast: isLast, canAnswer: canAnswer, into: &$1) }
        }
    }

    // MARK: From the target

    /// Bytes toward the client that count for back-pressure. What the chooser has no room for counts as a full queue: the target waits.
    var clientQueue: Int {
        let queued = (webSocket?.queuedBytes ?? 0) + pending.count
        switch speech {
        case .raw: return queued
        case .choosing(let chooser): return chooser.canHold ? 0 : settings.session.clientBufferBytes + 1
        case .translated(let translation):
            // What is still compressed inside stands for an unknown lot, and so does what waits for its turn.
            return translation.value.holdsBytes || share.isWaiting
                ? max(queued, settings.session.clientBufferBytes + 1) : queued
        }
    }

    /// What a session without a client is told is kept, and nothing waits.
    var clientHasRoom: Bool {
        guard let webSocket else { return isDetached }
        return webSocket.queuedBytes <= settings.session.clientBufferBytes
    }

    /// Takes what is pending, event by event, until the client's queue is full.
    func tellClient() {
        guard !share.isWaiting else { return }
        switch speech {
        case .raw: break
        case .choosing(var chooser):
            pending.take(spare: &sessions.scratch.spare) { chooser.hold(&$0) }
            speech = .choosing(chooser)
        case .translated: translatePending()
        }
    }

    /// As much as its share of this turn allows: what is left has its turn behind the other sessions'.
    private func translatePending() {
        share.begin(turn: reactor.turn)
        while clientHasRoom {
            guard hasMoreToTell else { break }
            guard share.isLeft else {
                share.isWaiting = true
                return sessions.await(self, on: reactor)
            }
            var hasEvent = false
            let canReply = (leg?.queuedBytes ?? 0) <= settings.session.targetBufferBytes
            let before = pending.count
            translate { translation, output in
                hasEvent = pending.take(spare: &sessions.scratch.spare) {
                    translation.next(&$0, now: reactor.now, canReply: canReply, into: &output)
                }
                share.spend(before - pending.count + output.frames.bytes.count + output.toTarget.count)
            }
            if !hasEvent { break }
        }
        tellEndOfTarget()
    }

    private var hasMoreToTell: Bool {
        guard case .translated(let translation) = speech else { return false }
        return translation.value.isConnected && machine.acceptsFromTarget
            && (pending.count > 0 || translation.value.holdsBytes)
    }

    /// What telnet wants said to the target may have waited for room.
    func replyToTarget() {
        guard case .translated = speech, (leg?.queuedBytes ?? 0) <= settings.session.targetBufferBytes else { return }
        translate { $0.reply(into: &$1) }
    }

    /// The client hears of the target's end behind everything that the target has said.
    func tellEndOfTarget() {
        guard let endOfTarget else { return }
        guard pending.count == 0 || isUnheard else { return }
        switch speech {
        case .choosing:
            guard isUnheard else { return }
            pending.removeAll()
        case .raw: break
        case .translated:
            guard !holdsBytes else { return }
            translate { $0.targetClosed(endOfTarget.reason, into: &$1) }
            guard !mayConnectAgain else { return leaveEndedTarget() }
        }
        self.endOfTarget = nil
        switch endOfTarget {
        case .finished: perform(machine.targetFinished(now: reactor.now))
        case .closed(let reason, _): perform(machine.targetClosed(reason, now: reactor.now))
        }
    }

    /// A client that has gone without choosing its dialect: nobody waits for what the target has said.
    private var isUnheard: Bool {
        if case .choosing = speech { !machine.acceptsFromClient } else { false }
    }

    private var holdsBytes: Bool {
        if case .translated(let translation) = speech { translation.value.holdsBytes } else { false }
    }

    /// A client that hasn't asked for a target yet doesn't care for the end of one that was dialled for it.
    private func leaveEndedTarget() {
        endOfTarget = nil
        leg?.abandon()
        leg = nil
        leavePlace()
    }

    private var mayConnectAgain: Bool {
        guard case .translated(let translation) = speech else { return false }
        return translation.value.awaitsConnect && !translation.value.isConnected && !translation.value.hasEnded
    }

    // MARK: The translation

    /// One step of the translation, and what comes of it.
    ///
    /// The reactor's output is swapped out meanwhile: a step of another session may want it while orders are carried out.
    func translate(_ step: (inout Translation, inout TranslationOutput) -> Void) {
        guard case .translated(let translation) = speech else { return }
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
            guard let webSocket else { return }
            for frame in output.frames.frames {
                noteRelayed(frame.range.count)
                webSocket.sendMessage(
                    UnsafeRawBufferPointer(rebasing: bytes[frame.range]), isText: frame.isText,
                    isSecret: frame.isSecret)
            }
        }
        output.toTarget.withUnsafeBytes { sendToTarget($0) }
    }

    private func carryOut(_ order: TranslationOrder) {
        switch order {
        case .dial(let target):
            deadlines.connectBy = nil  // From here on the dial has its own.
            dialCount += 1
            guard dialCount <= Self.maximumDials else { return perform(machine.close(.tooManyDials, now: reactor.now)) }
            dial(target == .standard ? request.target : target)
        case .resume(let request): resume(request)
        case .close(let reason): perform(machine.close(reason, now: reactor.now))
        }
    }
}

extension EndOfTarget {
    fileprivate var reason: CloseReason {
        switch self {
        case .finished: .targetClosed
        case .closed(let reason, _): reason ?? .targetClosed
        }
    }
}
