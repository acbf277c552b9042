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
        webSocket = nil
        translate { translation, _ in translation.detached() }
        tellTarget(isAttached: false)
        guard let place else { return }
        settings.directory.detached(place, at: reactor.now)
        settings.logger.info("session detached", metadata: [LogKeys.session: "\(client.session)"])
        // What waited for room toward the client has room now.
        tellClient()
    }

    private func tellTarget(isAttached: Bool) {
        guard settings.dialects.tellsTargetOfClient else { return }
        translate { $0.tellTarget(isAttached: isAttached, into: &$1) }
    }

    // MARK: A client comes back

    /// This client asks for a session that another driver holds.
    func resume(_ request: ResumeRequest) {
        switch settings.directory.claim(request, by: client, at: reactor.now) {
        case .unknown: resumeFailed(.expired)
        case .invalid: resumeFailed(.invalid)
        case .claimed(_, let holder, let token): takeOver(from: holder, for: Claim(request: request, token: token))
        }
    }

    /// What this client has been granted, and may still find in other hands.
    private struct Claim: Sendable {
        let request: ResumeRequest
        let token: SessionToken

        var identity: SessionIdentity { SessionIdentity(id: request.sessionID, token: token.text) }
    }

    private func takeOver(from holder: Pinned<SessionDriver>, for claim: Claim) {
        // Where the session is still on its way to a driver here, it is asked for behind its arrival.
        guard holder.reactor !== reactor || holder.value.heldMessages != nil else {
            return arrived(holder.value.surrender(to: reactor), from: holder, for: claim)
        }
        if heldMessages == nil { heldMessages = HeldMessages() }
        clientPauses.insert(.resuming)
        let me = Pinned(self, to: reactor)
        holder.reactor.submit { [directory = settings.directory] in
            let answer = holder.value.surrender(to: me.reactor)
            let arrive: @Sendable () -> Void = { me.value.arrived(answer, from: holder, for: claim) }
            guard case .given(let session) = answer else { return me.reactor.submit(arrive) }
            directory.moved(session.place, to: me, arriving: arrive)
        }
    }

    private enum Surrender: Sendable {
        case given(SurvivingSession)
        /// Its target can't be moved just now.
        case notNow
        /// It has ended, or another has it already.
        case gone
    }

    /// Gives the session away. A client that still has it is told that another has taken it.
    private func surrender(to other: Reactor) -> Surrender {
        guard case .translated(let translation) = speech, translation.isResumable, machine.isResumable, let place
        else { return .gone }
        let moving = leg?.leave(for: other)
        guard leg == nil || moving != nil else {
            if isDetached { settings.directory.detached(place, at: reactor.now) }
            return .notNow
        }
        let session = SurvivingSession(
            place: place, machine: machine, translation: translation, pending: pending, endOfTarget: endOfTarget,
            deadlines: deadlines, targetPauses: targetPauses, leg: moving, logName: client.session)
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
        return .given(session)
    }

    /// Where another connection was before this one the session is asked for there, but not for one that came earlier: the last that has
    /// asked gets it.
    private func arrived(_ answer: Surrender, from holder: Pinned<SessionDriver>, for claim: Claim) {
        let found = settings.directory.holder(of: claim.token, id: claim.request.sessionID)
        let other = found.flatMap { $0.holder.isSame(as: holder) ? nil : $0 }
        if case .gone = answer, let other, other.isNewest { return takeOver(from: other.holder, for: claim) }
        let held = heldMessages
        heldMessages = nil
        clientPauses.remove(.resuming)
        switch answer {
        case .given(let session): take(session, as: claim.identity, after: claim.request.lastSeq)
        case .notNow: resumeFailed(.unavailable)
        case .gone: resumeFailed(other == nil ? .expired : .unavailable)
        }
        if let closesOnArrival { close(closesOnArrival) }
        if webSocket == nil, !machine.isUnderway { end() }
        held?.messages.forEach { receive($0.bytes[...], isText: $0.isText, isLast: $0.isLast) }
    }

    private func take(_ session: SurvivingSession, as identity: SessionIdentity, after lastSeq: UInt64) {
        let hasClient = webSocket != nil && machine.acceptsFromClient
        leavePlace()
        leg?.abandon()
        place = session.place
        machine = session.machine
        isDetached = machine.isDetached
        speech = .translated(session.translation)
        pending = session.pending
        endOfTarget = session.endOfTarget
        deadlines = session.deadlines
        deadlines.readClient = clientPauses.contains(.rate) ? reactor.now : nil
        clientPauses.remove(.queue)
        settings.directory.moved(session.place, to: Pinned(self, to: reactor))
        logResumed(session)
        leg = session.leg.map { TargetLeg.arrive($0, on: reactor, handler: self) }
        targetPauses = session.targetPauses
        guard hasClient else { return lostMeanwhile(session.place) }
        isDetached = false
        let actions = machine.clientAttached(now: reactor.now)
        translate { $0.attached(identity, after: lastSeq, into: &$1) }
        tellTarget(isAttached: true)
        sendTicket()
        tellClient()
        perform(actions)
    }

    /// The client that asked for the session went while it was on its way.
    private func lostMeanwhile(_ place: SessionDirectory.Register.Place) {
        guard machine.isDetached else { return perform(machine.clientLost(now: reactor.now)) }
        settings.directory.detached(place, at: reactor.now)
        armTimer()
    }

    private func resumeFailed(_ failure: ResumeFailure) {
        settings.logger.info(
            "session not resumed",
            metadata: [LogKeys.session: "\(client.session)", LogKeys.reason: "\(failure)"])
        translate { $0.resumeFailed(failure, into: &$1) }
    }

    private func logResumed(_ session: SurvivingSession) {
        settings.logger.info(
            "session resumed",
            metadata: [LogKeys.session: "\(client.session)", LogKeys.resumed: "\(session.logName)"])
    }
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
    /// Its sessions are resumed by the query of an upgrade: it has no message for it.
    var resumesByQuery: Bool { self == .gmcp || self == .json }
}
