import Admission
import HTTPWire
import Observability
import Reactors
import RelayCore
import WireText

/// Upgrades that resume a session which this gateway hasn't. Reactor thread only.
///
/// This gateway admits the client, and the one that has the session is asked for it before the 101. An upgrade that
/// another gateway has passed on doesn't come here.
extension UpgradeHandler {
    /// - Returns: whether the upgrade is refused here, or answered later.
    func seeksElsewhere(
        _ exchange: UpgradeExchange, _ request: AdmissionRequest, _ upgrade: Upgrade
    ) -> Bool {
        guard case .success = exchange.opening, let fleetRelay = settings.fleetRelay,
            let resume = upgrade.session.resume, !settings.drain.isDraining, !settings.drain.isHandingOver,
            SessionIdentity.isID(resume.sessionID), !settings.directory.holds(resume.sessionID)
        else { return false }
        if let refusal = settings.gate.screen(request) {
            refuse(exchange, refusal, by: refusal.method, upgrade.context)
            return true
        }
        let reactor = reactor
        let pinned = Pinned((exchange: exchange, handler: self), to: reactor)
        fleetRelay.find(resume.sessionID) { found in
            reactor.submit {
                let (exchange, handler) = pinned.value
                handler.found(found, fleetRelay, exchange, request, upgrade)
            }
        }
        return true
    }

    private func found(
        _ found: Whereabouts, _ fleetRelay: FleetRelay, _ exchange: UpgradeExchange, _ request: AdmissionRequest,
        _ upgrade: Upgrade
    ) {
        guard exchange.isPending else { return exchange.abandon() }
        switch found {
        case .unknown: decideLater(exchange, request, upgrade)
        case .unavailable(let detail, let seconds):
            fail(exchange, Refusal(.storeUnavailable, detail: detail, retryAfter: seconds), upgrade.context)
        case .elsewhere where settings.drain.isDraining || settings.drain.isHandingOver:
            decideLater(exchange, request, upgrade)
        case .elsewhere(let peer):
            let remote = RemoteUpgrade(exchange, request, upgrade, at: peer, fleetRelay, self)
            guard remote.request != nil else { return decideLater(exchange, request, upgrade) }
            if sessions.gate.knowsOnlyToken(of: request) {
                remote.ask(as: RemoteClient(upgrade))
            } else {
                decideLater(exchange, request, upgrade, at: .elsewhere(remote))
            }
        }
    }

    func fail(_ exchange: UpgradeExchange, _ refusal: Refusal, _ context: RequestContext) {
        record.requestRefused(refusal, context)
        exchange.refuse(JSONAnswers.refusal(refusal, requestID: context.id))
    }
}

/// Where the session is that an upgrade begins or resumes.
enum UpgradePlace {
    case here
    /// Here, and another gateway has yet to learn whose it is.
    case introduced
    /// At another gateway, which is asked once the client is admitted.
    case elsewhere(RemoteUpgrade)
    /// Another gateway has agreed.
    case agreed(RemoteSession)

    /// The client has left, or isn't admitted.
    func abandon() {
        if case .agreed(let remote) = self { remote.abandon() }
    }
}

/// An upgrade that waits for another gateway's answer. Reactor thread only.
final class RemoteUpgrade: RemoteAsker {
    /// Nil: no gateway could have such a session.
    let request: RemoteRequest?
    private let exchange: UpgradeExchange
    private let admission: AdmissionRequest
    private let upgrade: Upgrade
    private let peer: FleetPeer
    private let fleetRelay: FleetRelay
    private let handler: UpgradeHandler
    /// Nil: only the other gateway can know the client.
    private var admitted: Admitted?
    /// The other gateway's answer that doesn't depend on the client: it isn't asked, and doesn't count it, again.
    private var verdict: RemoteFailure?

    init(
        _ exchange: UpgradeExchange, _ admission: AdmissionRequest, _ upgrade: Upgrade, at peer: FleetPeer,
        _ fleetRelay: FleetRelay, _ handler: UpgradeHandler
    ) {
        self.exchange = exchange
        self.admission = admission
        self.upgrade = upgrade
        self.peer = peer
        self.fleetRelay = fleetRelay
        self.handler = handler
        request = upgrade.session.resume.flatMap {
            RemoteRequest(
                $0, target: upgrade.session.target, dialect: upgrade.chooser(handler.settings.dialects, now: 0).kind)
        }
    }

    /// - Parameter admitted: by this gateway.
    func ask(as admitted: Admitted) {
        self.admitted = admitted
        if let verdict { return remoteFailed(verdict) }
        let client = ClientIdentity(admitted, upgrade, isRecorded: true)
        guard let client = RemoteClient(client, by: handler.sessions.gate.carrier) else {
            return remoteFailed(.unreachable("the client can't be told to another gateway"))
        }
        ask(as: client)
    }

    func ask(as client: RemoteClient) {
        guard let request else { return remoteFailed(.unknown) }
        let remote = RemoteSession(
            request, of: client, at: peer, fleetRelay, settings: handler.sessionSettings, sessions: handler.sessions,
            loop: handler.reactor, for: self)
        guard let remote else {
            let refusal = Refusal(.atCapacity, detail: "too many upgrades are passed on", retryAfter: 5)
            return handler.fail(exchange, refusal, upgrade.context)
        }
        if !remote.isOver { exchange.whenGone = { remote.abandon() } }
    }

    /// The current gate decides: the settings may have been reloaded meanwhile.
    func remoteAgreed(_ remote: RemoteSession, as principal: [UInt8]?) {
        let place = UpgradePlace.agreed(remote)
        if let admitted { return handler.answerLater(exchange, .admitted(admitted), upgrade, at: place) }
        let gate = handler.sessions.gate
        var request = admission
        request.bearer = principal.flatMap { gate.bearer(carried: $0, at: handler.reactor.moment.monotonic) }
        guard request.bearer != nil else {
            remote.abandon()
            return remoteFailed(.unreachable("it says whose the session is in a form that isn't known here"))
        }
        handler.answer(exchange, gate.evaluate(request), upgrade, at: place)
    }

    func remoteFailed(_ failure: RemoteFailure) {
        guard exchange.isPending else { return exchange.abandon() }
        let context = upgrade.context
        switch failure {
        // As a single gateway says of a session that it hasn't.
        case .unknown:
            guard let admitted else { return handler.decideLater(exchange, admission, upgrade) }
            handler.answerLater(exchange, .admitted(admitted), upgrade)
        case .unreachable(let reason):
            let detail = "gateway \(peer.id): \(reason)"
            handler.fail(exchange, Refusal(.gatewayUnreachable, detail: detail, retryAfter: 1), context)
        // The session's token alone is no credential. So this gateway decides by what else the client has.
        case .refused(_, let code?, let isTokenWrong)
        where admitted == nil && code.hasSameBytes(as: RefusalCode.invalidResume.rawValue):
            if isTokenWrong { verdict = failure }
            handler.decideLater(exchange, admission, upgrade, at: .elsewhere(self))
        case .refused(let status, let code, _):
            let answer = RefusalAnswer.byOtherGateway(code) ?? .gatewayUnreachable
            let detail = "gateway \(peer.id) answered \(status)"
            let refusal = Refusal(answer, detail: detail, retryAfter: answer.status >= 429 ? 1 : nil)
            handler.refuse(exchange, refusal, by: admitted?.principal.shown ?? SessionTokenMethod.name, context)
        }
    }
}

extension RefusalAnswer {
    /// What another gateway may say of a client that this one has passed on.
    fileprivate static func byOtherGateway(_ code: String?) -> RefusalAnswer? {
        let answers: [RefusalAnswer] = [
            .invalidResume, .draining, .deviceBlocked, .keyRevoked, .unknownKey, .invalidClientCertificate,
            .invalidTicket, .invalidToken, .appAuthRequired, .invalidSharedSecret, .sharedSecretRequired,
            .wayNotAllowed, .atCapacity, .rateLimited, .storeUnavailable, .auditUnavailable,
        ]
        return code.flatMap { code in answers.first { $0.code.rawValue.hasSameBytes(as: code) } }
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
