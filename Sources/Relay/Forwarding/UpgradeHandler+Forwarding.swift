import Admission
import ForwardingWire
import HTTPWire
import Logging
import Observability
import Reactors
import RelayCore
import WireText

/// Upgrades that resume a session which this gateway hasn't. Reactor thread only.
///
/// Nothing is decided here but where the upgrade goes: the other gateway has the session, its owner and its tokens, and decides as if the client had connected
/// there, but for one thing: the client may only resume. An upgrade that another gateway has passed on doesn't come here.
extension UpgradeHandler {
    /// - Returns: whether the upgrade is refused here, or answered later by another gateway or by this one.
    func seeksElsewhere(
        _ upgrade: UpgradeExchange, _ request: AdmissionRequest, _ session: SessionRequest, _ context: RequestContext
    ) -> Bool {
        guard upgrade.isWellFormed, let forwarding = settings.forwarding,
            let resume = session.resume, !settings.drain.isDraining, !settings.drain.isHandingOver,
            SessionIdentity.isID(resume.sessionID), !settings.directory.holds(resume.sessionID)
        else { return false }
        if let refusal = settings.gate.screen(request) {
            refuse(upgrade, refusal, by: refusal.method, context)
            return true
        }
        let reactor = reactor
        let pinned = Pinned((upgrade: upgrade, handler: self), to: reactor)
        forwarding.find(resume.sessionID) { found in
            reactor.submit {
                let (upgrade, handler) = pinned.value
                handler.found(found, forwarding, upgrade, request, session, context)
            }
        }
        return true
    }

    private func found(
        _ found: Whereabouts, _ forwarding: SessionForwarding, _ upgrade: UpgradeExchange, _ request: AdmissionRequest,
        _ session: SessionRequest, _ context: RequestContext
    ) {
        guard upgrade.isPending else { return upgrade.abandon() }
        switch found {
        case .unknown: decide(upgrade, request, session, context)
        case .unavailable(let detail, let seconds):
            fail(upgrade, Refusal(.storeUnavailable, detail: detail, retryAfter: seconds), context)
        case .elsewhere where settings.drain.isDraining || settings.drain.isHandingOver:
            decide(upgrade, request, session, context)
        case .elsewhere(let peer):
            guard forwarding.enter() else {
                return fail(
                    upgrade, Refusal(.atCapacity, detail: "too many upgrades are passed on", retryAfter: 5), context)
            }
            pass(upgrade, on: forwarding, to: peer, context)
        }
    }

    private func pass(
        _ upgrade: UpgradeExchange, on forwarding: SessionForwarding, to peer: FleetPeer, _ context: RequestContext
    ) {
        let preface = ForwardPreface(
            client: SocketAddress(context.address, port: context.isForwarded ? 0 : upgrade.peer.port),
            isTLS: upgrade.isTLS, certificate: .init(upgrade.certificate), requestID: context.id)
        let number = sessions.forwards.makeNumber()
        let forward = upgrade.forward(to: forwarding.destination(peer), preface) { [self] event in
            note(event, to: peer, context)
            switch event {
            case .answered: return
            case .failed(let reason):
                let detail = "gateway \(peer.id): \(reason)"
                fail(upgrade, Refusal(.gatewayUnreachable, detail: detail, retryAfter: 1), context)
            case .ended: break
            }
            sessions.forwards.remove(number)
            forwarding.leave()
        }
        guard let forward else {
            forwarding.leave()
            return upgrade.abandon()
        }
        sessions.forwards.insert(forward, to: peer, as: number)
    }

    /// The other gateway writes the audit line, with the same request id.
    private func note(_ event: ForwardEvent, to peer: FleetPeer, _ context: RequestContext) {
        var metadata: Logger.Metadata = [
            LogKeys.requestID: "\(context.id)", LogKeys.address: "\(context.address.text)",
            LogKeys.gateway: "\(peer.id)",
        ]
        switch event {
        case .answered(let status):
            settings.metrics.forwarded(status == 101 ? .switched : .refused)
            metadata[LogKeys.status] = "\(status)"
            settings.logger.info("upgrade passed on", metadata: metadata)
        case .failed: settings.metrics.forwarded(.failed)
        case .ended(let end):
            if case .lost(let reason) = end {
                settings.metrics.forwarded(.lost)
                metadata[LogKeys.detail] = "\(reason)"
            }
            settings.logger.info("upgrade passed on ended", metadata: metadata)
        }
    }

    private func fail(_ upgrade: UpgradeExchange, _ refusal: Refusal, _ context: RequestContext) {
        record.requestRefused(refusal, context)
        upgrade.refuse(JSONAnswers.refusal(refusal, requestID: context.id))
    }
}

extension SessionIdentity {
    /// Whether it could be one of the fleet's ids: nothing else is looked for.
    static func isID(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return bytes.count == 36
            && bytes.enumerated().allSatisfy { index, byte in
                [8, 13, 18, 23].contains(index)
                    ? byte == UInt8(ascii: "-")
                    : (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                        || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
            }
    }
}
