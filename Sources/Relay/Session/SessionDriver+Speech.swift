import Admission
import Observability
import Reactors
import RelayCore
import Telnet

/// The dialect's side of a session: which one it is, and what passes through it.
extension SessionDriver {
    // MARK: Which dialect

    /// A subprotocol or a fixed default has chosen already; otherwise the first message will. MUDs speak first, so the target is dialled
    /// in any case, unless its client is going to name one.
    func beginSpeech() {
        deadlines.connectBy = reactor.now + settings.dialects.connectWait
        if case .choosing(let chooser) = speech, let kind = chooser.kind { become(kind) }
        if case .translated(let translation) = speech, translation.awaitsConnect { return }
        dial(request.target)
    }

    private func become(_ kind: DialectKind) {
        let translation = Translation(
            kind: kind, client: request.client, maximumMessageBytes: settings.dialects.maximumMessageBytes,
            outputBufferBytes: 0, compressor: sessions.compressor, makeDecompressor: { ZlibDecompressor() })
        speech = translation.map(Speech.translated) ?? .raw
    }

    /// The dialect is known: what either side has said meanwhile is said in it.
    func choose(_ kind: DialectKind) {
        guard case .choosing(var chooser) = speech else { return }
        let (message, held) = (chooser.takeHeldMessage(), chooser.takeHeldOutput())
        pending.prepend(held)
        become(kind)
        if case .raw = speech { deliverPendingRaw() }
        if case .translated(let translation) = speech, !translation.awaitsConnect { meetTarget() }
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
        pending.take { rest in
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

    func receive(_ piece: ArraySlice<UInt8>, isText: Bool, isLast: Bool) {
        switch speech {
        case .raw: break
        case .choosing(var chooser):
            let kind = chooser.receive(piece, isText: isText, isLast: isLast)
            speech = .choosing(chooser)
            if let kind { choose(kind) }
        case .translated:
            let canAnswer = (webSocket?.queuedBytes ?? 0) <= settings.session.clientBufferBytes
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
            // What is still compressed inside stands for an unknown lot.
            return translation.holdsBytes ? max(queued, settings.session.clientBufferBytes + 1) : queued
        }
    }

    /// Takes what is pending, event by event, until the client's queue is full.
    func tellClient() {
        switch speech {
        case .raw: break
        case .choosing(var chooser):
            pending.take { chooser.hold(&$0) }
            speech = .choosing(chooser)
        case .translated: translatePending()
        }
    }

    private func translatePending() {
        while let webSocket, webSocket.queuedBytes <= settings.session.clientBufferBytes {
            guard case .translated(let translation) = speech, translation.isConnected, machine.acceptsFromTarget,
                pending.count > 0 || translation.holdsBytes
            else { break }
            var hasEvent = false
            let canReply = (leg?.queuedBytes ?? 0) <= settings.session.targetBufferBytes
            translate { translation, output in
                hasEvent = pending.take { translation.next(&$0, now: reactor.now, canReply: canReply, into: &output) }
            }
            if !hasEvent { break }
        }
        tellEndOfTarget()
    }

    /// What telnet wants said to the target may have waited for room.
    func replyToTarget() {
        guard case .translated = speech, (leg?.queuedBytes ?? 0) <= settings.session.targetBufferBytes else { return }
        translate { $0.reply(into: &$1) }
    }

    /// The client hears of the target's end behind everything that the target has said.
    func tellEndOfTarget() {
        guard let endOfTarget, pending.count == 0 else { return }
        switch speech {
        case .choosing: return
        case .raw: break
        case .translated(let translation):
            guard !translation.holdsBytes else { return }
            if translation.isConnected { translate { $0.targetClosed(endOfTarget.reason, into: &$1) } }
            guard !mayConnectAgain else { return leaveEndedTarget() }
        }
        self.endOfTarget = nil
        switch endOfTarget {
        case .finished: perform(machine.targetFinished(now: reactor.now))
        case .closed(let reason, _): perform(machine.targetClosed(reason, now: reactor.now))
        }
    }

    /// A client that hasn't asked for a target yet doesn't care for the end of one that was dialled for it.
    private func leaveEndedTarget() {
        endOfTarget = nil
        leg?.abandon()
        leg = nil
    }

    private var mayConnectAgain: Bool {
        guard case .translated(let translation) = speech else { return false }
        return translation.awaitsConnect && !translation.isConnected && !translation.hasEnded
    }

    // MARK: The translation

    /// One step of the translation, and what comes of it.
    func translate(_ step: (inout Translation, inout TranslationOutput) -> Void) {
        guard case .translated(var translation) = speech else { return }
        speech = .raw  // So that the translation isn't copied when it changes; it is put back at once.
        step(&translation, &output)
        speech = .translated(translation)
        carryOut()
    }

    private func carryOut() {
        output.frames.bytes.withUnsafeBytes { bytes in
            for frame in output.frames.frames {
                noteRelayed(frame.range.count)
                webSocket?.sendMessage(UnsafeRawBufferPointer(rebasing: bytes[frame.range]), isText: frame.isText)
            }
        }
        output.toTarget.withUnsafeBytes { sendToTarget($0) }
        let orders = output.orders
        output.removeAll()
        for order in orders { carryOut(order) }
    }

    private func carryOut(_ order: TranslationOrder) {
        switch order {
        case .dial(let target, _, _):
            deadlines.connectBy = nil  // From here on the dial has its own.
            dial(target == .standard ? request.target : target)
        case .resume: translate { $0.resumeFailed(.expired, into: &$1) }
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
