import Reactors
import RelayCore

/// The data that passes through a dialect.
extension SessionStage {
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

    /// What has come of the client's first message before its dialect was known.
    func receiveFirst(_ message: (bytes: [UInt8], isText: Bool, isLast: Bool)) {
        if translation == nil {
            message.bytes.withUnsafeBytes { sendToTarget($0) }
        } else {
            receive(message.bytes[...], isText: message.isText, isLast: message.isLast)
        }
    }

    // MARK: From the target

    /// Bytes that wait for the client.
    var clientQueue: Int {
        if translation == nil, isUndecided { return 0 }
        return (link?.queuedBytes ?? 0) + pending.count
    }

    /// Uncounted output is waiting, so the target has to wait: it has said enough to a client whose dialect isn't
    /// known, or its bytes are still compressed.
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

    /// The target's route decides whether messages to the client are compressed. The 101 has decided about the client's
    /// own messages.
    func followCompression() {
        guard let lastTarget else { return }
        link?.socket?.setCompressing((lastTarget.options.compression ?? settings.compression) == .on)
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
}
