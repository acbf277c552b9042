import Admission
import Logging
import Observability
import Reactors
import RelayCore
import Telnet

/// The target's side of a session: which one it is, and how it is reached.
extension SessionDriver {
    /// Every target of every dialect comes through here, and through the one policy.
    func dial(_ request: TargetRequest) {
        // Nobody would end what a session dials that has ended.
        guard machine.isUnderway else { return }
        switch settings.targets.authorize(request, for: client.principal.identity.method) {
        case .refused(let refusal): refuse(request, refusal)
        case .authorized(let target) where leg?.target == target: meetTarget()
        case .authorized(let target): dial(target)
        }
    }

    private func dial(_ target: AuthorizedTarget) {
        leg?.abandon()
        leg = nil
        pending.removeAll()
        endOfTarget = nil
        guard takePlace() else { return refusePlace() }
        let leg = TargetLeg(target, handler: self)
        self.leg = leg
        lastTarget = target
        followCompression()
        settings.dialer.dial(leg, for: client, on: reactor)
        // One that is paused for its client's sake is so whichever target it is.
        if !targetPauses.isEmpty { leg.setReading(paused: true) }
    }

    /// What the target's route says of compression holds from here on for what the client is sent. What the client sends was agreed on in the
    /// 101.
    func followCompression() {
        guard let lastTarget else { return }
        webSocket?.setCompressing((lastTarget.options.compression ?? settings.compression) == .on)
    }

    // MARK: Its place

    private func takePlace() -> Bool {
        guard place == nil else { return true }
        switch settings.directory.reserve(for: client) {
        case .reserved(let place), .reservedInPlaceOf(let place, _): self.place = place
        case .refused(let limit):
            settings.logger.info(
                "session refused",
                metadata: [LogKeys.session: "\(client.session)", LogKeys.reason: "\(limit)"])
        }
        return place != nil
    }

    /// Who hasn't said anything yet may be about to resume a session, which takes no place: there it shows when the dialect is known.
    private func refusePlace() {
        switch speech {
        case .choosing: break
        case .raw: perform(machine.close(.tooManySessions, now: reactor.now))
        case .translated:
            translate { $0.dialFailed(.limited, into: &$1) }
            deadlines.connectBy = reactor.now + settings.dialects.connectWait
        }
    }

    func leavePlace() {
        if let place { settings.directory.release(place) }
        place = nil
    }

    private func refuse(_ request: TargetRequest, _ refusal: TargetRefusal) {
        settings.logger.info(
            "target refused",
            metadata: [
                LogKeys.session: "\(client.session)", LogKeys.target: "\(request.name)",
                LogKeys.reason: "\(refusal.rawValue)",
            ])
        if case .translated = speech {
            translate { $0.dialFailed(DialFailure(refusal, of: request), into: &$1) }
            deadlines.connectBy = reactor.now + settings.dialects.connectWait
        } else {
            perform(machine.close(.targetNotAllowed, now: reactor.now))
        }
    }

    /// The target that is asked for is the one that there is: what it has said is heard from its beginning.
    func meetTarget() {
        if leg?.isConnected == true { translationConnected() }
    }

    func translationConnected() {
        guard awaitsTarget, let leg else { return }
        deadlines.connectBy = nil
        deadlines.sentToTarget(at: reactor.now, keepAlive: settings.dialects.keepAlive)
        let telnet = telnetSettings(for: leg.target)
        var generator = SystemRandomNumberGenerator()
        let token = SessionToken(using: &generator)
        let identity = SessionIdentity(id: SessionIdentity.randomID(), token: token.text)
        translate { $0.connected(identity, telnet: telnet, into: &$1) }
        openForResuming(as: identity.id, token)
        sendTicket()
        tellClient()
        // What waited may have been telnet alone: then nothing is written to the client that would bring this about.
        perform(machine.clientDrained(queued: clientQueue, now: reactor.now))
    }

    /// The client has asked for the target that there is, or does so by being here.
    private var awaitsTarget: Bool {
        if case .translated(let translation) = speech { translation.value.isDialing } else { false }
    }

    private func openForResuming(as id: String, _ token: SessionToken) {
        guard case .translated(let translation) = speech, translation.value.isResumable, let place else { return }
        machine.setResumable()
        settings.directory.open(place, as: id, token, of: client, heldBy: Pinned(self, to: reactor))
    }

    /// - Returns: whether that was all: the client may ask for another target.
    func dialFailed(_ error: TCPError) -> Bool {
        switch speech {
        case .raw, .choosing: return false
        case .translated:
            leavePlace()
            translate { $0.dialFailed(DialFailure(error), into: &$1) }
            deadlines.connectBy = reactor.now + settings.dialects.connectWait
            perform(machine.targetDrained(queued: 0, now: reactor.now))
            return machine.acceptsFromClient
        }
    }

    private func telnetSettings(for target: AuthorizedTarget) -> TelnetClientSettings {
        var telnet = settings.dialects.telnet
        telnet.address = client.address.text
        telnet.isSecure = client.isSecure
        if let encoding = target.options.encoding.flatMap({ TextEncoding(name: $0) }) { telnet.encoding = encoding }
        if let mxp = target.options.mxp { telnet.mxp = mxp }
        return telnet
    }

    // MARK: Time

    /// A reactor that has been held up comes to its timers before it comes to its sockets: what the client has said in time lies there. So
    /// the wait ends a turn later than it is over.
    private func chooseInTime(_ now: UInt64) {
        guard case .choosing(var chooser) = speech, let kind = chooser.tick(now: now) else { return }
        guard let turn = lastTurnOfWait, turn != reactor.turn else {
            lastTurnOfWait = lastTurnOfWait ?? reactor.turn
            deadlines.lastLook = now + Self.oneTurn
            return
        }
        speech = .choosing(chooser)
        choose(kind)
    }

    private static var oneTurn: UInt64 { 1_000_000 }

    func deadlineReached(_ now: UInt64) {
        chooseInTime(now)
        guard machine.isUnderway else { return }
        takePauses(now)
        if deadlines.takeResume(now) { resumeAgain() }
        if deadlines.takeKeepAlive(now) { translate { $0.keepAlive(into: &$1) } }
        if deadlines.takeTicket(now) { sendTicket() }
        if deadlines.takeConnect(now), awaitsConnect { perform(machine.close(.noTargetNamed, now: now)) }
    }

    /// The client's dialect names a target, and it hasn't yet, or the one that it named wasn't reached.
    private var awaitsConnect: Bool {
        guard case .translated(let translation) = speech else { return false }
        return translation.value.awaitsConnect && !translation.value.isConnected
    }

    /// A client that came by a ticket is handed its next one, so that a reload or a reconnect works, for as long as the proof that its
    /// first ticket was given for holds. The session itself goes on in any case.
    func sendTicket() {
        guard client.principal.isByTicket, webSocket != nil,
            case .translated(let translation) = speech, translation.value.hasNotices
        else { return }
        switch sessions.gate.issueTicket(to: client.principal, from: client.address, at: reactor.moment) {
        case .issued(let issued):
            isTicketRefused = false
            translate { $0.send(ticket: issued.ticket.text, expiresIn: issued.expiresIn, into: &$1) }
            // Well before that one expires.
            deadlines.nextTicket = reactor.now + UInt64(issued.expiresIn) * 500_000_000
        case .full(let seconds): deadlines.nextTicket = reactor.now + UInt64(seconds) * 1_000_000_000
        case .refused(let refusal): noteTicketRefused(refusal)
        case .chainEnded: break
        }
    }

    /// Asks again later: a revocation list may be renewed, or the store answer. The log hears of it once.
    private func noteTicketRefused(_ refusal: Refusal) {
        deadlines.nextTicket = reactor.now + Self.ticketRetryNanoseconds
        guard !isTicketRefused else { return }
        isTicketRefused = true
        settings.logger.info(
            "no further ticket",
            metadata: [
                LogKeys.session: "\(client.session)", LogKeys.reason: "\(refusal.code.rawValue)",
                LogKeys.detail: "\(refusal.detail)",
            ])
    }

    private static var ticketRetryNanoseconds: UInt64 { 15_000_000_000 }
}

/// The times at which a session has something to do by itself, beside those of its state machine. Nanoseconds of the reactor's clock.
struct SessionDeadlines {
    /// A client that names its target must have done so by then.
    var connectBy: UInt64?
    var nextTicket: UInt64?
    /// Until then a side isn't read that has sent too much.
    var readClient: UInt64?
    var readTarget: UInt64?
    /// The client's first message is looked for once more.
    var lastLook: UInt64?
    /// When a session that was on its way to another connection is asked for again.
    var resume: UInt64?
    private var keepAlive: UInt64?

    /// - Parameter interval: nil: the target isn't kept awake.
    mutating func sentToTarget(at now: UInt64, keepAlive interval: UInt64?) {
        keepAlive = interval.map { now + $0 }
    }

    mutating func takeKeepAlive(_ now: UInt64) -> Bool { Self.take(&keepAlive, now) }
    mutating func takeTicket(_ now: UInt64) -> Bool { Self.take(&nextTicket, now) }
    mutating func takeConnect(_ now: UInt64) -> Bool { Self.take(&connectBy, now) }
    mutating func takeReadClient(_ now: UInt64) -> Bool { Self.take(&readClient, now) }
    mutating func takeResume(_ now: UInt64) -> Bool { Self.take(&resume, now) }
    mutating func takeReadTarget(_ now: UInt64) -> Bool { Self.take(&readTarget, now) }

    func next(choosing: UInt64?) -> UInt64? {
        let reading = min(readClient ?? .max, readTarget ?? .max, resume ?? .max)
        let next = min(
            connectBy ?? .max, nextTicket ?? .max, min(keepAlive ?? .max, lastLook ?? choosing ?? .max), reading)
        return next == .max ? nil : next
    }

    private static func take(_ deadline: inout UInt64?, _ now: UInt64) -> Bool {
        guard let reached = deadline, now >= reached else { return false }
        deadline = nil
        return true
    }
}
