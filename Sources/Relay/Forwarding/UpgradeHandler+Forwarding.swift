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
        _ exchange: UpgradeExchange, _ request: AdmissionRequest, _ upgrade: Upgrade
    ) -> Bool {
        guard case .success = exchange.opening, let forwarding = settings.forwarding,
            let resume = upgrade.session.resume, !settings.drain.isDraining, !settings.drain.isHandingOver,
            SessionIdentity.isID(resume.sessionID), !settings.directory.holds(resume.sessionID)
        else { return false }
        if let refusal = settings.gate.screen(request) {
            refuse(exchange, refusal, by: refusal.method, upgrade.context)
            return true
        }
        let reactor = reactor
        let pinned = Pinned((exchange: exchange, handler: self), to: reactor)
        forwarding.find(resume.sessionID) { found in
            reactor.submit {
                let (exchange, handler) = pinned.value
                handler.found(found, forwarding, exchange, request, upgrade)
            }
        }
        return true
    }

    private func found(
        _ found: Whereabouts, _ forwarding: SessionForwarding, _ exchange: UpgradeExchange, _ request: AdmissionRequest,
        _ upgrade: Upgrade
    ) {
        guard exchange.isPending else { return exchange.abandon() }
        switch found {
        case .unknown: decide(exchange, request, upgrade)
        case .unavailable(let detail, let seconds):
            fail(exchange, Refusal(.storeUnavailable, detail: detail, retryAfter: seconds), upgrade.context)
        case .elsewhere where settings.drain.isDraining || settings.drain.isHandingOver:
            decide(exchange, request, upgrade)
        case .elsewhere(let peer):
            guard forwarding.enter() else {
                let refusal = Refusal(.atCapacity, detail: "too many upgrades are passed on", retryAfter: 5)
                return fail(exchange, refusal, upgrade.context)
            }
            pass(exchange, on: forwarding, to: peer, upgrade)
        }
    }

    private func pass(
        _ exchange: UpgradeExchange, on forwarding: SessionForwarding, to peer: FleetPeer, _ upgrade: Upgrade
    ) {
        let context = upgrade.context
        let preface = ForwardPreface(
            client: SocketAddress(context.address, port: upgrade.port), isTLS: upgrade.isTLS,
            certificate: .init(exchange.certificate), requestID: context.id)
        let number = sessions.forwards.makeNumber()
        let forward = exchange.forward(to: forwarding.destination(peer), preface) { [self] event in
            note(event, to: peer, context)
            switch event {
            case .answered: return
            case .failed(let reason):
                let detail = "gateway \(peer.id): \(reason)"
                fail(exchange, Refusal(.gatewayUnreachable, detail: detail, retryAfter: 1), context)
            case .ended: break
            }
            sessions.forwards.remove(number)
            forwarding.leave()
        }
        guard let forward else {
            forwarding.leave()
            return exchange.abandon()
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

    private func fail(_ exchange: UpgradeExchange, _ refusal: Refusal, _ context: RequestContext) {
        record.requestRefused(refusal, context)
        exchange.refuse(JSONAnswers.refusal(refusal, requestID: context.id))
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
