import Admission
import Logging
import Observability
import Reactors
import RelayCore

/// A session without its client, and a client that comes back for one.
extension SessionDriver {
    // MARK: The client is gone

    /// The session goes on without a client; whoever proves to be its owner may have it.
    func detached() {
        noteFrames()
        webSocket = nil
        translate { translation, _ in translation.detached() }
        tellTarget(isAttached: false)
        guard let place else { return }
        settings.directory.detached(place, at: reactor.now)
        settings.logger.info("session detached", metadata: [LogKeys.session: "\(client.session)"])
        // Nobody can come back to a gateway that lets nobody in.
        if settings.drain.isDraining { return close(.shuttingDown) }
        // What waited for room toward the client has room now.
        tellClient()
    }

    private func tellTarget(isAttached: Bool) {
        guard settings.dialects.tellsTargetOfClient else { return }
        translate { $0.tellTarget(isAttached: isAttached, into: &$1) }
    }

    // MARK: A client comes back

    /// This client asks for a session that another driver holds. It may have been admitted long ago: what it showed then has to be good now.
    func resume(_ request: ResumeRequest) {
        if let refusal = sessions.gate.recheck(client.principal, from: client.address, at: reactor.moment) {
            settings.logger.info(
                "resume refused",
                metadata: [
                    LogKeys.session: "\(client.session)", LogKeys.reason: "\(refusal.code.rawValue)",
                    LogKeys.detail: "\(refusal.detail)",
                ])
            return arrived(.none(refusal.status >= 500 ? .unavailable : .invalid))
        }
        resume(request, triesLeft: Self.maximumTries)
    }

    /// While a session is on its way to one connection another one has to wait: a move takes as long as two turns of a loop.
    private static var maximumTries: Int { 100 }
    private static var retryNanoseconds: UInt64 { 10_000_000 }

    private func resume(_ request: ResumeRequest, triesLeft: Int) {
        switch settings.directory.claim(request, by: client, at: reactor.now) {
        case .unknown: arrived(.none(.expired))
        case .invalid: arrived(.none(.invalid))
        case .underway:
            guard triesLeft > 0 else { return arrived(.none(.unavailable)) }
            hold()
            retry = (request, triesLeft - 1)
            deadlines.resume = reactor.now + Self.retryNanoseconds
            armTimer()
        case .claimed(let place, let holder, let token):
            let identity = SessionIdentity(id: request.sessionID, token: token.text)
            takeOver(place, from: holder, ClaimedSession(identity: identity, lastSeq: request.lastSeq))
        }
    }

    func resumeAgain() {
        guard let retry else { return }
        self.retry = nil
        resume(retry.request, triesLeft: retry.left)
    }

    /// What the client sends behind its request is for the session.
    private func hold() {
        heldMessages = heldMessages ?? HeldMessages()
        holdClientBack(.resuming, true)
    }

    private func takeOver(
        _ place: SessionDirectory.Register.Place, from holder: Pinned<SessionDriver>, _ claimed: ClaimedSession
    ) {
        let (directory, kind) = (settings.directory, kind)
        hold()
        guard holder.reactor !== reactor else {
            return arrived(holder.value.surrender(place, to: reactor, kind, directory), claimed)
        }
        let me = Pinned(self, to: reactor)
        holder.reactor.submit {
            let surrendered = holder.value.surrender(place, to: me.reactor, kind, directory)
            me.reactor.submit { me.value.arrived(surrendered, claimed) }
        }
    }

    /// Gives the session away. A client that still has it is told that another has taken it.
    ///
    /// - Parameter kind: what the client that asks for it speaks.
    private func surrender(
        _ place: SessionDirectory.Register.Place, to other: Reactor, _ kind: DialectKind?, _ directory: SessionDirectory
    ) -> SurrenderedSession {
        let outcome = surrender(place, to: other, kind)
        if case .none = outcome { directory.claimFailed(place) }
        return outcome
    }

    private func surrender(
        _ place: SessionDirectory.Register.Place, to other: Reactor, _ kind: DialectKind?
    ) -> SurrenderedSession {
        guard case .translated(let translation) = speech, translation.value.isResumable, machine.isResumable,
            self.place == place
        else { return .none(.expired) }
        guard kind == self.kind else { return .none(.invalid) }
        let moving = leg?.leave(for: other)
        guard leg == nil || moving != nil else { return .none(.unavailable) }
        let session = SurvivingSession(
            place: place, machine: machine, translation: translation.value, pending: pending, endOfTarget: endOfTarget,
            deadlines: deadlines, targetPauses: targetPauses, leg: moving, lastTarget: lastTarget,
            logName: client.session)
        self.place = nil
        leg = nil
        speech = .raw
        pending = PendingInput()
        endOfTarget = nil
        deadlines = SessionDeadlines()
        hasSurrendered = true
        machine = SessionStateMachine(limits: settings.session, now: reactor.now)
        perform(
            webSocket == nil
                ? machine.clientClosed(now: reactor.now) : machine.close(.sessionReplaced, now: reactor.now))
        return .session(session)
    }

    /// What was asked for is here, or can't be had.
    private func arrived(_ surrendered: SurrenderedSession, _ claimed: ClaimedSession? = nil) {
        let held = heldMessages
        heldMessages = nil
        holdClientBack(.resuming, false)
        switch (surrendered, claimed) {
        case (.session(let session), let claimed?): take(session, claimed)
        case (.none(let failure), _): resumeFailed(failure)
        case (.session, nil): break
        }
        if let closesOnArrival { close(closesOnArrival) }
        if endIsDue, !machine.isUnderway { end() }
        // What came meanwhile may have ended the session; a message of theirs may do so too.
        held?.messages.forEach {
            if machine.isUnderway { receive($0.bytes[...], isText: $0.isText, isLast: $0.isLast) }
        }
    }

    private func take(_ session: SurvivingSession, _ claimed: ClaimedSession) {
        let hasClient = webSocket != nil && machine.acceptsFromClient
        leavePlace()
        leg?.abandon()
        place = session.place
        machine = session.machine
        isDetached = machine.isDetached
        speech = .translated(TranslationHolder(session.translation))
        pending = session.pending
        endOfTarget = session.endOfTarget
        deadlines = session.deadlines
        deadlines.readClient = clientPauses.contains(.rate) ? reactor.now : nil
        clientPauses.remove(.queue)
        let hasPlace = settings.directory.arrived(
            session.place, at: Pinned(self, to: reactor), detachedAt: hasClient ? nil : reactor.now)
        logResumed(session)
        lastTarget = session.lastTarget
        followCompression()
        leg = session.leg.map { TargetLeg.arrive($0, on: reactor, handler: self) }
        targetPauses = session.targetPauses
        guard hasPlace else { return close(.sessionEvicted) }
        guard hasClient else { return lostMeanwhile() }
        isDetached = false
        let actions = machine.clientAttached(now: reactor.now)
        tellMachineOfPauses()
        translate { $0.attached(claimed.identity, after: claimed.lastSeq, into: &$1) }
        awaitsConfirmation = true
        webSocket?.ping()
        tellTarget(isAttached: true)
        sendTicket()
        tellClient()
        perform(actions)
    }

    /// The answer to a ping behind the new token: the client has that one. A pong that answers an earlier ping says nothing, and only
    /// shortens the life of the token before.
    func confirmToken() {
        guard awaitsConfirmation, let place else { return }
        awaitsConfirmation = false
        settings.directory.tokenConfirmed(place, at: reactor.now)
    }

    /// The client that asked for the session went while it was on its way.
    private func lostMeanwhile() {
        let isOver = endsSession(closeCodeMeanwhile)
        if isOver {
            close(.clientDisconnected)
        } else if machine.isDetached {
            detached()
            armTimer()
        } else {
            perform(machine.clientLost(now: reactor.now))
        }
    }

    private func resumeFailed(_ failure: ResumeFailure) {
        settings.logger.info(
            "session not resumed",
            metadata: [LogKeys.session: "\(client.session)", LogKeys.reason: "\(failure)"])
        translate { $0.resumeFailed(failure, into: &$1) }
        // An upgrade that names a session may be admitted for its sake alone.
        if request.resume != nil { perform(machine.close(failure.close, now: reactor.now)) }
    }

    private func logResumed(_ session: SurvivingSession) {
        settings.logger.info(
            "session resumed",
            metadata: [LogKeys.session: "\(client.session)", LogKeys.resumed: "\(session.logName)"])
    }
}

/// What became of asking for a session.
private enum SurrenderedSession: Sendable {
    case session(SurvivingSession)
    case none(ResumeFailure)
}

/// What the client of a session that it resumes is told, and what it said.
private struct ClaimedSession: Sendable {
    let identity: SessionIdentity
    let lastSeq: UInt64
}

/// What a client has sent behind its `resume` while the session is on its way from another reactor. The WebSocket isn't read
/// meanwhile, so it is what one TLS record holds.
struct HeldMessages {
    private(set) var messages: [(bytes: [UInt8], isText: Bool, isLast: Bool)] = []

    mutating func append(_ piece: MessagePiece) {
        messages.append((Array(piece.bytes), piece.isText, piece.isLast))
    }
}

extension DialectKind {
    /// Its sessions can be resumed.
    var resumes: Bool { self == .gmcp || self == .json || self == .typed }
}
