import Admission
import Logging
import Observability
import Reactors
import RelayCore
import Telnet
import WireText

/// The choice of a client's target, and the dial.
extension Newcomer {
    /// The only way to a target, for all dialects: the policy decides about each.
    ///
    /// - Parameter named: by the dialect; `standard` is the one that the upgrade names.
    func dial(_ named: TargetRequest) {
        // A connection dialled after the session's end would never be closed.
        guard machine.isUnderway, !isOver else { return }
        guard let permit = arrival.permit else { return perform(machine.close(.invalidResume, now: loop.now)) }
        let request = named == .standard ? arrival.request.target : named
        let decided = request == arrival.request.target ? arrival.route : nil
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

    // MARK: Its lease

    private func takeLease() -> Bool {
        guard lease == nil else { return true }
        switch settings.directory.reserve(for: client, at: loop.now) {
        case .reserved(let lease), .reservedInPlaceOf(let lease, _):
            self.lease = lease
            settings.directory.noteBegun(of: client, lease, LoopBound((number, sessions), to: loop))
        case .refused(let limit):
            log("session refused", [LogKeys.reason: "\(limit)"])
        }
        return lease != nil
    }

    /// A client that hasn't sent a message yet may be about to resume a session, which needs no new lease: it is
    /// refused when its dialect is known.
    private func refuseLease() {
        guard translation != nil else {
            return isUndecided ? () : perform(machine.close(.tooManySessions, now: loop.now))
        }
        translate { $0.dialFailed(.limited, into: &$1) }
        deadlines.connectBy = loop.now + settings.dialects.connectWait
    }

    private func refuse(_ request: TargetRequest, _ refusal: TargetRefusal) {
        log("target refused", [LogKeys.target: "\(request.name)", LogKeys.reason: "\(refusal.rawValue)"])
        if translation != nil {
            translate { $0.dialFailed(DialFailure(refusal, of: request), into: &$1) }
            deadlines.connectBy = loop.now + settings.dialects.connectWait
        } else {
            perform(machine.close(.targetNotAllowed, now: loop.now))
        }
    }

    // MARK: Connected

    func noteConnected(_ leg: TargetLeg) {
        logConnected(leg)
        noteDial(.connected, since: leg.dialledAt)
    }

    /// The requested target is there already: the client gets its output from the first byte.
    func meetTarget() {
        if leg?.isConnected == true { translationConnected() }
    }

    /// The session begins once other gateways find it.
    func translationConnected() {
        guard awaitsTarget, let leg, let id = idToTell() else { return }
        deadlines.sentToTarget(at: loop.now, keepAlive: settings.dialects.keepAlive)
        let telnet = telnetSettings(for: leg.target)
        var generator = SystemRandomNumberGenerator()
        let token = SessionToken(using: &generator)
        beginSession(as: id).begin(as: SessionIdentity(id: id, token: token.text), token, telnet: telnet)
    }

    /// The client has asked for the target, in a message or by its upgrade.
    private var awaitsTarget: Bool { translation?.value.isDialing ?? false }

    private func telnetSettings(for target: AuthorizedTarget) -> TelnetClientSettings {
        var telnet = settings.dialects.telnet
        telnet.address = client.address.text
        telnet.isSecure = client.isSecure
        if let encoding = target.options.encoding.flatMap({ TextEncoding(name: $0) }) { telnet.encoding = encoding }
        if let mxp = target.options.mxp { telnet.mxp = mxp }
        if let mccp = target.options.mccp { telnet.mccp = mccp }
        return telnet
    }

    // MARK: Not connected

    /// - Returns: whether the client may request another target.
    func dialFailed(_ error: TCPError) -> Bool {
        guard translation != nil else { return false }
        releaseLease()
        translate { $0.dialFailed(DialFailure(error), into: &$1) }
        deadlines.connectBy = loop.now + settings.dialects.connectWait
        perform(machine.targetDrained(queued: 0, now: loop.now))
        return machine.acceptsFromClient
    }
}
