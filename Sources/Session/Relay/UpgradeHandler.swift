import Admission
import FleetWire
import HTTPWire
import Logging
import Observability
import Reactors
import RelayCore
import WireText

/// Asks the gate about an upgrade, and opens a session for a client that is admitted. Reactor thread only.
final class UpgradeHandler {
    let settings: RelaySettings
    let sessionSettings: SessionSettings
    let record: DecisionRecord
    let sessions: SessionTable
    unowned let reactor: Reactor

    init(settings: RelaySettings, record: DecisionRecord, sessions: SessionTable, reactor: Reactor) {
        self.settings = settings
        sessionSettings = SessionSettings(settings)
        self.record = record
        self.sessions = sessions
        self.reactor = reactor
    }

    func handle(_ exchange: UpgradeExchange) {
        guard let (request, upgrade) = read(exchange) else { return }
        if !seeksElsewhere(exchange, request, upgrade) { decide(exchange, request, upgrade) }
    }

    /// One that another gateway has passed on: it is never passed on again.
    func handle(_ passedOn: PassedOnUpgrade) {
        let (exchange, preface) = (passedOn.upgrade, passedOn.preface)
        guard let (request, upgrade) = read(exchange, id: preface.requestID) else { return }
        let decision = settings.gate.evaluate(request, passedOnAs: preface.principal)
        if case .refused(let refusal) = decision, refusal.code == .invalidResume, let resume = upgrade.session.resume,
            let field = field(of: resume, at: request.moment)
        {
            return refuse(exchange, refusal, by: refusal.method, upgrade.context, [field])
        }
        answer(exchange, decision, upgrade, at: preface.principal == nil ? .introduced : .here)
    }

    /// What the other gateway need not ask again, whoever its client is.
    private func field(of resume: ResumeRequest, at moment: Moment) -> (name: String, value: String)? {
        guard settings.directory.holds(resume.sessionID) else { return RelayedAnswer.unknownSession }
        let credential = SessionCredential(id: resume.sessionID, token: resume.token)
        return settings.directory.find(credential, at: moment.monotonic) == nil ? RelayedAnswer.wrongToken : nil
    }

    /// - Returns: nil if the client is gone, or if the upgrade is refused already.
    private func read(_ exchange: UpgradeExchange, id: String? = nil) -> (AdmissionRequest, Upgrade)? {
        // For a client that has disconnected, nothing is used up or recorded.
        guard exchange.isPending else {
            exchange.abandon()
            return nil
        }
        let context = RequestContext(client: exchange.client, peer: exchange.peer, reactor: reactor, id: id)
        guard let session = SessionRequest(exchange.head) else {
            let detail = "upgrade of an unknown path, or with a malformed query"
            refuse(exchange, Refusal(.notFound, detail: detail), context)
            return nil
        }
        if let name = exchange.head.repeatedCredentialField(settings.gate) {
            refuse(exchange, Refusal(.malformedHandshake, detail: "\(name) is repeated"), context)
            return nil
        }
        let upgrade = Upgrade(exchange, session, targets: settings.targets, context)
        return (request(exchange, upgrade), upgrade)
    }

    private func request(_ exchange: UpgradeExchange, _ upgrade: Upgrade) -> AdmissionRequest {
        let head = exchange.head
        var request = AdmissionRequest(
            head, CredentialFields(settings.gate.fields, head, parameters: RequestQuery(head.query)),
            handshake: upgrade.handshake, isTLS: upgrade.isTLS, certificate: exchange.certificate, upgrade.context)
        request.session = upgrade.session.resume.map { SessionCredential(id: $0.sessionID, token: $0.token) }
        if case .route(let name) = upgrade.session.target { request.route = name }
        request.allowedMethods = upgrade.route.methods
        return request
    }

    func decide(
        _ exchange: UpgradeExchange, _ request: AdmissionRequest, _ upgrade: Upgrade, at place: UpgradePlace = .here
    ) {
        answer(exchange, settings.gate.evaluate(request), upgrade, at: place)
    }

    /// After a wait, in which the settings may have been reloaded: the current gate decides, and about the certificate
    /// as it is now.
    func decideLater(
        _ exchange: UpgradeExchange, _ request: AdmissionRequest, _ upgrade: Upgrade, at place: UpgradePlace = .here
    ) {
        var request = request
        request.certificate = exchange.certificate.map(ClientCertificate.init)
        answer(exchange, sessions.gate.evaluate(request), upgrade, at: place)
    }

    func answer(
        _ exchange: UpgradeExchange, _ decision: AdmissionDecision, _ upgrade: Upgrade, at place: UpgradePlace
    ) {
        switch decision {
        case .refused(let refusal):
            place.abandon()
            refuse(exchange, refusal, by: refusal.method, upgrade.context)
        case .admitted(let admitted): admit(admitted, upgrade, exchange, at: place)
        case .later(let later):
            let reactor = reactor
            let pinned = Pinned((exchange: exchange, place: place, handler: self), to: reactor)
            later.whenDecided { decision in
                reactor.submit {
                    let (exchange, place, handler) = pinned.value
                    handler.answerLater(exchange, decision, upgrade, at: place)
                }
            }
        }
    }

    /// The settings may have been reloaded meanwhile: the current gate must admit the client too.
    ///
    /// - Parameter isPrepared: what the gate has to know for that was fetched.
    func answerLater(
        _ exchange: UpgradeExchange, _ decision: AdmissionDecision, _ upgrade: Upgrade,
        at place: UpgradePlace = .here, isPrepared: Bool = false
    ) {
        guard case .admitted(let admitted) = decision else { return answer(exchange, decision, upgrade, at: place) }
        let gate = sessions.gate
        switch gate.recheck(admitted.principal, from: upgrade.context.address, at: reactor.moment) {
        case nil: answer(exchange, decision, upgrade, at: place)
        case let refusal? where refusal.code != .storeUnavailable || isPrepared:
            place.abandon()
            refuse(exchange, refusal, by: admitted.principal.shown, upgrade.context)
        case .some:
            // What this gateway knows of its store has just been forgotten.
            let reactor = reactor
            let pinned = Pinned((exchange: exchange, place: place, handler: self), to: reactor)
            gate.prepareRecheck(of: admitted.principal, at: reactor.moment) {
                reactor.submit {
                    let (exchange, place, handler) = pinned.value
                    handler.answerLater(exchange, decision, upgrade, at: place, isPrepared: true)
                }
            }
        }
    }

    /// Nothing is recorded for a client that has disconnected meanwhile. Otherwise the line is in the audit log before
    /// the 101 is sent; if sending fails, another line says so.
    private func admit(
        _ admitted: Admitted, _ upgrade: Upgrade, _ exchange: UpgradeExchange, at place: UpgradePlace
    ) {
        guard exchange.isPending else {
            place.abandon()
            return exchange.abandon()
        }
        if case .elsewhere(let remote) = place { return remote.ask(as: admitted) }
        let context = upgrade.context
        let line = record.admitted(admitted, context)
        if let refusal = line.refusal {
            place.abandon()
            return refuse(exchange, refusal, by: admitted.principal.shown, context)
        }
        let compression = upgrade.route.compression ?? settings.compression
        let link = link(for: admitted, upgrade, at: place, isRecorded: line.isWritten)
        defer { noteTime(.admitted, context) }
        guard !exchange.accept(link, compresses: compression == .on) else { return }
        place.abandon()
        record.admissionFailed(admitted, line, context)
    }

    private func link(
        for admitted: Admitted, _ upgrade: Upgrade, at place: UpgradePlace, isRecorded: Bool
    ) -> ClientLink {
        let client = ClientIdentity(admitted, upgrade, isRecorded: isRecorded)
        if case .agreed(let remote) = place {
            return ClientLink(client, nil, remote, sessions: sessions, loop: reactor)
        }
        let arrival = Arrival(admitted, upgrade, sessionSettings, now: reactor.now)
        guard case .introduced = place else { return ClientLink(client, arrival, sessions: sessions, loop: reactor) }
        return ClientLink(
            client, arrival, introducing: sessions.gate.carrier.encoded(admitted.principal), sessions: sessions,
            loop: reactor)
    }

    func refuse(
        _ exchange: UpgradeExchange, _ refusal: Refusal, by method: MethodName, _ context: RequestContext,
        _ fields: [(name: String, value: String)] = []
    ) {
        record.upgradeRefused(refusal, by: method, context)
        var answer = JSONAnswers.refusal(refusal, requestID: context.id)
        answer.headers += fields
        exchange.refuse(answer)
        noteTime(.refused, context)
    }

    /// From the request to its answer.
    private func noteTime(_ outcome: GateOutcome, _ context: RequestContext) {
        let start = context.moment.monotonic.nanoseconds
        settings.metrics.answeredUpgrade(outcome, nanoseconds: max(reactor.now, start) - start)
    }

    private func refuse(_ exchange: UpgradeExchange, _ refusal: Refusal, _ context: RequestContext) {
        record.requestRefused(refusal, context)
        exchange.refuse(JSONAnswers.refusal(refusal, requestID: context.id))
    }
}

extension CredentialFields {
    /// - Parameter parameters: nil if query parameters aren't used.
    init(_ names: CredentialFieldNames, _ head: RequestHead, parameters: RequestQuery?) {
        self.init(names, header: head.text) { name in
            switch parameters?[name] {
            case .absent, nil: nil
            // The parameter is invalid or repeated: it is present but wrong.
            case .malformed: ""
            case .value(let text): text
            }
        }
    }
}

extension AdmissionRequest {
    init(
        _ head: RequestHead, _ fields: CredentialFields, handshake: UpgradeHandshake, isTLS: Bool,
        certificate: PeerCertificate?, _ context: RequestContext
    ) {
        self.init(
            id: context.id, address: context.address, moment: context.moment, handshake: handshake,
            origin: head.text("origin"), host: head.authority.map { String(decoding: $0, as: UTF8.self) },
            isTLS: isTLS, fields: fields, certificate: certificate.map(ClientCertificate.init),
            authorization: head.nonEmptyText("authorization"), path: String(decoding: head.path, as: UTF8.self))
    }
}

extension ClientCertificate {
    fileprivate init(_ certificate: PeerCertificate) {
        self.init(
            isVerified: certificate.isVerified, isResumedSession: certificate.isResumedSession,
            sha256: certificate.sha256, subject: certificate.subject, notAfter: nil,
            number: CertificateNumber(issuer: certificate.issuer, serial: certificate.serial),
            chain: ClientCertificateChain(certificate.chain))
        issuerName = certificate.issuerName
        problem = certificate.verificationError
    }
}
