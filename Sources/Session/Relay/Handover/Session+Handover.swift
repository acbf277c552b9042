import Admission
import Compression
import Observability
import Reactors
import RelayCore
import StateCoding

/// How far a session is from going to another process.
enum MoveReadiness {
    /// It has no client, and can go.
    case ready
    /// Its client was told to come back, and is being heard to its end.
    case leaving
    /// It may be able to go in a moment: its target is being dialled, its dialect isn't known yet, or its client is
    /// just resuming it.
    case undecided
    /// It can't go: its dialect doesn't resume, or its target can't leave this process.
    case staying
}

// MARK: In the process that is replaced

extension SessionStage {
    /// Sends its client away, if the session can go to another process without it.
    func prepareToMove(by carrier: PrincipalCarrier) -> MoveReadiness {
        guard machine.isUnderway else { return .staying }
        guard !isUndecided else { return .undecided }
        guard let translation else { return .staying }
        if machine.isDetached { return isMovable(by: carrier) ? .ready : .staying }
        guard let link, link.resumption == nil else { return .undecided }
        if link.isSentAway { return .leaving }
        if leg == nil { return closeWithoutTarget() }
        guard machine.isResumable else { return translation.value.kind.resumes ? .undecided : .staying }
        guard isMovable(by: carrier) else { return .staying }
        guard translation.value.state != nil else { return .undecided }
        sendAway(link)
        return .leaving
    }

    func waitsToMove(by carrier: PrincipalCarrier) -> Bool { machine.isDetached && isMovable(by: carrier) }

    fileprivate func isMovable(by carrier: PrincipalCarrier) -> Bool {
        guard let translation, translation.value.isResumable, machine.isResumable,
            let leg, leg.isConnected, leg.tlsVersion == nil, endOfTarget == nil
        else { return false }
        return lease != nil && carrier.carry(client.principal) != nil
    }

    /// There is nothing yet that could be lost: the client begins anew.
    private func closeWithoutTarget() -> MoveReadiness {
        guard let translation, translation.value.awaitsConnect else { return .undecided }
        close(.gatewayUpgrading)
        return .staying
    }

    private func sendAway(_ link: ClientLink) {
        let after = settings.dialects.copyoverReconnectMilliseconds
        translate { $0.sendDraining(reconnectAfterMilliseconds: Int.random(in: after...2 * after), into: &$1) }
        link.sendAway(.gatewayUpgrading, within: settings.session.closeFlush)
    }

    var isSentAway: Bool { link?.isSentAway == true }

    /// Its client hasn't closed in time.
    func dropSentAway() {
        if let link, link.isSentAway { link.socket?.drop() }
    }
}

extension Session {
    /// Another process goes on with it.
    func handedOver() {
        leave()
        settings.metrics.sessionEnded(EndReason.handedOver)
    }

    /// Takes the session off its loop, as it is. ``thaw()`` or ``handedOver()`` follows.
    ///
    /// - Returns: nil where it can't go at this moment; then nothing has changed.
    func freeze(by carrier: PrincipalCarrier) -> FrozenSession? {
        guard isMovable(by: carrier), link == nil, let translation, let leg, let lease,
            let machine = machine.detachedState, let translated = translation.value.state,
            let client = client.state(by: carrier),
            let entry = settings.directory.carried(lease, by: carrier),
            let (descriptor, unsent) = leg.departForAnotherProcess(from: loop)
        else { return nil }
        let state = SessionState(
            entry: entry, client: client, target: leg.target, machine: machine, translation: translated,
            pending: pending.unread, unsent: unsent, counters: counters, dialCount: dialCount, openedAt: openedAt)
        guard let bytes = try? StateEncoder.bytes(of: state) else {
            leg.adopt(on: loop)
            return nil
        }
        timer.cancel()
        sessions.remove(self)
        return FrozenSession(bytes: bytes, target: descriptor, lease: lease, session: LoopBound(self, to: loop))
    }

    /// Goes on where it was frozen.
    func thaw() {
        guard !isOver else { return }
        sessions.insert(self)
        goOn()
    }

    // MARK: In the process that replaces another

    /// The session begins: its target is read from the next turn on.
    func beginRestored(pending bytes: [UInt8]) {
        sessions.insert(self)
        bytes.withUnsafeBytes { pending.append($0, spare: &sessions.scratch.spare) }
        deadlines.sentToTarget(at: loop.now, keepAlive: settings.dialects.keepAlive)
        goOn()
    }

    /// It has come from a process that ended before all of its sessions were here, and never began.
    func lostOnItsWay() {
        leave()
        settings.metrics.sessionEnded(EndReason.gatewayUpgrading)
        settings.record.ended(client, .gatewayUpgrading, at: loop.moment)
    }

    private func goOn() {
        budget = TurnBudget()
        targetPauses.remove(.turn)
        leg?.adopt(on: loop)
        if !targetPauses.isEmpty { leg?.setReading(paused: true) }
        tellClient()
        perform([])
    }
}

/// A session that runs in no process at this moment.
package struct FrozenSession: Sendable {
    package let bytes: [UInt8]
    /// Stays the session's own until it is handed over: the other process gets a copy.
    package let target: Int32
    let lease: SessionDirectory.Lease
    let session: LoopBound<Session>
}
