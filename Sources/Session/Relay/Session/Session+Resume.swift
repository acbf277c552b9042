import Admission
import Logging
import Observability
import Reactors
import RelayCore
import WireText

/// A session that becomes detached, and one that moves to another link.
extension Session {
    // MARK: Without a client

    /// The session continues without a client; its owner may resume it.
    func detach() {
        link?.leaveSession()
        link = nil
        clientPauses = []
        translate { translation, _ in translation.detached() }
        tellTarget(isAttached: false)
        guard let lease else { return }
        settings.directory.detached(lease, at: loop.now)
        log("session detached")
        // While the gateway drains no client can resume.
        if settings.drain.isDraining { return close(.shuttingDown) }
        // Output that waited for room toward the client has room now.
        tellClient()
    }

    private func tellTarget(isAttached: Bool) {
        guard settings.dialects.tellsTargetOfClient else { return }
        translate { $0.tellTarget(isAttached: isAttached, into: &$1) }
    }

    /// The client that requested the session left while the session moved.
    ///
    /// - Parameter closeCode: of its Close frame.
    func goOnWithoutClient(closeCode: UInt16?) {
        if endsSession(closeCode) { return endWithoutClient(.clientDisconnected) }
        let actions = machine.clientLost(now: loop.now)
        if machine.isDetached { detach() }
        perform(actions)
    }

    /// There is no link to notify.
    func endWithoutClient(_ reason: CloseReason) {
        let actions = machine.clientLost(now: loop.now)
        perform(actions.union(machine.close(reason, now: loop.now)))
    }

    // MARK: To another link

    /// Hands the session off, for `claim`. A client that is still attached is told that it was taken over.
    func handOff(to other: any SessionLoop, _ claim: SessionClaimant) -> HandOff {
        guard let translation, translation.value.isResumable, machine.isResumable,
            lease == claim.lease
        else { return .refused(.expired) }
        guard claim.dialect == translation.value.kind else { return .refused(.invalid) }
        guard depart(to: other) else { return .refused(.unavailable) }
        return .session(MovingSession(session: self))
    }

    /// Releases its link and, if it moves to another loop, everything that belongs to its current loop.
    ///
    /// - Returns: false if its target can't be moved; then nothing has changed.
    private func depart(to other: any SessionLoop) -> Bool {
        let moves = other !== loop
        guard leg?.isConnected != false, !moves || leg?.depart() != false else { return false }
        let (link, globalLease) = (link, globalLease)
        link?.leaveSession()
        self.link = nil
        self.globalLease = nil
        clientPauses = []
        if moves {
            timer.cancel()
            sessions.remove(self)
        }
        link?.sayReplaced(keeping: globalLease, timeout: settings.session.closeFlush)
        return true
    }

    // MARK: On the new link

    /// Continues on the loop of `link`.
    ///
    /// - Parameter fresh: what the link has had until now.
    func move(to link: ClientLink, inPlaceOf fresh: Newcomer?) {
        globalLease = fresh?.globalLease
        fresh?.globalLease = nil
        guard link.loop !== loop else { return }
        loop = link.loop
        sessions = link.sessions
        timer = loop.makeTimer()
        budget = TurnBudget()
        targetPauses.remove(.turn)
        sessions.insert(self)
        leg?.adopt(on: loop)
        if !targetPauses.isEmpty { leg?.setReading(paused: true) }
    }

    /// Adds the counts of `fresh`, whose client it takes over.
    private func add(_ fresh: Newcomer) {
        meter.add(fresh.meter, now: loop.now)
        counters.add(fresh.counters)
        dialCount += fresh.dialCount
        // A client at another address is counted there.
        if fresh.client.address.prefix != client.address.prefix { addressShare = fresh.addressShare }
    }

    /// The session belongs to the client of `link` from here on, and `fresh`, which the link has had until now, ends.
    func attach(to link: ClientLink, inPlaceOf fresh: Newcomer, _ claim: SessionClaimant) {
        add(fresh)
        fresh.dismiss()
        link.stage = self
        log("session resumed", [LogKeys.session: "\(link.client.session)", LogKeys.resumed: "\(client.session)"])
        client = link.client
        self.link = link
        link.arrival = nil
        // Its target was lost during the move.
        guard !isOver, machine.isResumable else { return attachToEnding(link) }
        let actions = machine.clientAttached(now: loop.now)
        clientPauses = []
        readClientInTime()
        followCompression()
        noteResumed(after: claim.lastSeq)
        translate { $0.attached(claim.identity, after: claim.lastSeq, into: &$1) }
        link.awaitsConfirmation = true
        link.ping()
        tellTarget(isAttached: true)
        sendTicket()
        tellClient()
        perform(actions)
    }

    private func attachToEnding(_ link: ClientLink) {
        link.close(machine.closeReason)
        if isOver { unlink() }
    }

    private func unlink() {
        link?.leaveSession()
        link = nil
    }

    /// - Parameter lastSeq: the last message that the client has seen.
    func noteResumed(after lastSeq: UInt64) {
        settings.metrics.resumed(ResumeOutcome.resumed)
        guard let translation, translation.value.hasLost(after: lastSeq) else { return }
        settings.metrics.resumeHasGap()
    }
}

/// The answer to a claim.
enum HandOff: Sendable {
    case session(MovingSession)
    case refused(ResumeFailure)
}

/// A session between two links.
///
/// - Note: `@unchecked Sendable` because one side has it at any time. `Session.handOff` removes everything on its loop
///   that could call it, and only the link that it is handed to uses it afterwards.
struct MovingSession: @unchecked Sendable {
    let session: Session
}
