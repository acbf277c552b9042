import Admission
import Logging
import Observability
import Reactors
import RelayCore
import Telnet
import WireText

/// The target's side of a session: its choice and its connection.
extension Session {
    /// The only way to a target, for all dialects: the policy decides about each.
    func dial(_ request: TargetRequest) {
        // A connection dialled after the session's end would never be closed.
        guard machine.isUnderway else { return }
        guard let permit else { return perform(machine.close(.invalidResume, now: loop.now)) }
        let decided = request == self.request.target ? route : nil
        let decision = (decided ?? settings.targets.decide(request)).admitting(client.principal.identity.method)
        switch decision.limited(to: client.principal.routes) {
        case .refused(let refusal): refuse(request, refusal)
        case .authorized(let target) where leg?.target == target: meetTarget()
        case .authorized(let target): dial(target, permit)
        }
    }

    private func dial(_ target: AuthorizedTarget, _ permit: SessionPermit) {
        leg?.abandon()
        leg = nil
        recount()
        pending.removeAll()
        endOfTarget = nil
        guard takeLease() else { return refuseLease() }
        let leg = TargetLeg(target, handler: self)
        self.leg = leg
        lastTarget = target
        recount()
        followCompression()
        settings.dialer.dial(leg, for: client, permit, on: loop)
        // The client's queue is unchanged for the new target.
        if !targetPauses.isEmpty { leg.setReading(paused: true) }
    }

    /// The target's route decides whether messages to the client are compressed. The 101 has decided about the client's
    /// own messages.
    func followCompression() {
        guard let lastTarget else { return }
        link?.socket?.setCompressing((lastTarget.options.compression ?? settings.compression) == .on)
    }

    // MARK: Its lease

    private func takeLease() -> Bool {
        guard lease == nil else { return true }
        switch settings.directory.reserve(for: client, at: loop.now) {
        case .reserved(let lease), .reservedInPlaceOf(let lease, _):
            self.lease = lease
            settings.directory.noteBegun(of: client, lease, SessionHolder(self))
        case .refused(let limit):
            log("session refused", [LogKeys.reason: "\(limit)"])
        }
        return lease != nil
    }

    /// A client that hasn't sent a message yet may be about to resume a session, which needs no new lease: it is
    /// refused when its dialect is known.
    private func refuseLease() {
        switch dialect {
        case .choosing: break
        case .raw: perform(machine.close(.tooManySessions, now: loop.now))
        case .translated:
            translate { $0.dialFailed(.limited, into: &$1) }
            deadlines.connectBy = loop.now + settings.dialects.connectWait
        }
    }

    func releaseLease() {
        if let lease { settings.directory.release(lease) }
        lease = nil
        announcement = .none
        deadlines.announcement = nil
    }

    private func refuse(_ request: TargetRequest, _ refusal: TargetRefusal) {
        log("target refused", [LogKeys.target: "\(request.name)", LogKeys.reason: "\(refusal.rawValue)"])
        if case .translated = dialect {
            translate { $0.dialFailed(DialFailure(refusal, of: request), into: &$1) }
            deadlines.connectBy = loop.now + settings.dialects.connectWait
        } else {
            perform(machine.close(.targetNotAllowed, now: loop.now))
        }
    }

    /// The session already has the requested target: the client gets its output from the first byte.
    func meetTarget() {
        if leg?.isConnected == true { translationConnected() }
    }

    func translationConnected() {
        guard awaitsTarget, let leg, let id = idToTell() else { return }
        deadlines.connectBy = nil
        deadlines.sentToTarget(at: loop.now, keepAlive: settings.dialects.keepAlive)
        let telnet = telnetSettings(for: leg.target)
        var generator = SystemRandomNumberGenerator()
        let token = SessionToken(using: &generator)
        let identity = SessionIdentity(id: id, token: token.text)
        self.id = id
        translate { $0.connected(identity, telnet: telnet, into: &$1) }
        openForResuming(as: identity.id, token)
        sendTicket()
        tellClient()
        // If only telnet commands waited, nothing is written to the client, so nothing else would report the queue.
        noteClientQueue()
    }

    /// The client has asked for the target, in a message or by its upgrade.
    private var awaitsTarget: Bool {
        if case .translated(let translation) = dialect { translation.value.isDialing } else { false }
    }

    private func openForResuming(as id: String, _ token: SessionToken) {
        guard case .translated(let translation) = dialect, translation.value.isResumable, let lease else { return }
        machine.setResumable()
        settings.directory.open(lease, as: id, token, of: client, heldBy: SessionHolder(self))
    }

    /// - Returns: whether the session continues: the client may request another target.
    func dialFailed(_ error: TCPError) -> Bool {
        switch dialect {
        case .raw, .choosing: return false
        case .translated:
            releaseLease()
            translate { $0.dialFailed(DialFailure(error), into: &$1) }
            deadlines.connectBy = loop.now + settings.dialects.connectWait
            perform(machine.targetDrained(queued: 0, now: loop.now))
            return machine.acceptsFromClient
        }
    }

    private func telnetSettings(for target: AuthorizedTarget) -> TelnetClientSettings {
        var telnet = settings.dialects.telnet
        telnet.address = client.address.text
        telnet.isSecure = client.isSecure
        if let encoding = target.options.encoding.flatMap({ TextEncoding(name: $0) }) { telnet.encoding = encoding }
        if let mxp = target.options.mxp { telnet.mxp = mxp }
        if let mccp = target.options.mccp { telnet.mccp = mccp }
        return telnet
    }

    // MARK: Time

    /// A delayed loop runs its timers before it reads its sockets, where a message that arrived in time may be waiting.
    /// The choice is therefore made one turn after the deadline.
    private func chooseInTime(_ now: UInt64) {
        guard case .choosing(var chooser) = dialect, let kind = chooser.tick(now: now) else { return }
        guard let turn = lastTurnOfWait, turn != loop.turn else {
            lastTurnOfWait = lastTurnOfWait ?? loop.turn
            deadlines.lastLook = now + Self.oneTurn
            return
        }
        dialect = .choosing(chooser)
        choose(kind)
    }

    private static var oneTurn: UInt64 { 1_000_000 }

    func deadlineReached(_ now: UInt64) {
        chooseInTime(now)
        guard machine.isUnderway else { return }
        endPauses(now)
        if deadlines.takeAnnouncement(now) { announced() }
        if deadlines.takeResume(now) { link?.resumeAgain() }
        if deadlines.takeKeepAlive(now) { keepTargetAlive(now) }
        if deadlines.takeTicket(now) { sendTicket() }
        if deadlines.takeConnect(now), awaitsConnect { perform(machine.close(.noTargetNamed, now: now)) }
    }

    /// Only a target that negotiates gets something; one that doesn't may begin to.
    private func keepTargetAlive(_ now: UInt64) {
        guard case .translated = dialect else { return }
        deadlines.sentToTarget(at: now, keepAlive: settings.dialects.keepAlive)
        translate { $0.keepAlive(into: &$1) }
    }

    /// The client has to name a target: it hasn't yet, or the named one was unreachable.
    private var awaitsConnect: Bool {
        guard case .translated(let translation) = dialect else { return false }
        return translation.value.awaitsConnect && !translation.value.isConnected
    }
}
