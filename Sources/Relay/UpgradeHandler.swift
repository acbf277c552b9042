import Admission
import ForwardingWire
import HTTPWire
import Logging
import Observability
import Reactors
import RelayCore
import WireText

/// Asks the gate about an upgrade, and opens a session for a client that is admitted. Reactor thread only.
final class UpgradeHandler {
    let settings: RelaySettings
    private let sessionSettings: SessionSettings
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

    func handle(_ upgrade: UpgradeExchange) {
        guard let (request, session, context) = read(upgrade) else { return }
        if !seeksElsewhere(upgrade, request, session, context) { decide(upgrade, request, session, context) }
    }

    /// One that another gateway has passed on: it is never passed on again.
    func handle(_ passedOn: PassedOnUpgrade) {
        let (upgrade, preface) = (passedOn.upgrade, passedOn.preface)
        guard let (request, session, context) = read(upgrade, id: preface.requestID) else { return }
        answer(upgrade, settings.gate.evaluate(request, passedOnAs: preface.principal), session, context)
    }

    /// - Returns: nil if the client is gone, or if the upgrade is refused already.
    private func read(
        _ upgrade: UpgradeExchange, id: String? = nil
    ) -> (AdmissionRequest, SessionRequest, RequestContext)? {
        // For a client that has disconnected, nothing is used up or recorded.
        guard upgrade.isPending else {
            upgrade.abandon()
            return nil
        }
        let context = RequestContext(
            peer: upgrade.peer, head: upgrade.isUnnamed ? nil : upgrade.head, trusting: settings.trustedProxies,
            reactor: reactor, id: id)
        guard let session = SessionRequest(upgrade.head) else {
            let detail = "upgrade of an unknown path, or with a malformed query"
            refuse(upgrade, Refusal(.notFound, detail: detail), context)
            return nil
        }
        if let name = upgrade.head.repeatedCredentialField(settings.gate) {
            refuse(upgrade, Refusal(.malformedHandshake, detail: "\(name) is repeated"), context)
            return nil
        }
        return (request(upgrade, session, context), session, context)
    }

    private func request(
        _ upgrade: UpgradeExchange, _ session: SessionRequest, _ context: RequestContext
    ) -> AdmissionRequest {
        var request = AdmissionRequest(
            upgrade.head,
            CredentialFields(settings.gate.fields, upgrade.head, parameters: RequestQuery(upgrade.head.query)),
            isTLS: upgrade.isTLS, certificate: upgrade.certificate, context)
        request.handshake.isWellFormed = upgrade.isWellFormed
        request.session = session.resume.map { SessionCredential(id: $0.sessionID, token: $0.token) }
        if case .route(let name) = session.target { request.route = name }
        request.allowedMethods = settings.targets.methods(to: session.target)
        return request
    }

    func decide(
        _ upgrade: UpgradeExchange, _ request: AdmissionRequest, _ session: SessionRequest, _ context: RequestContext
    ) {
        answer(upgrade, settings.gate.evaluate(request), session, context)
    }

    private func answer(
        _ upgrade: UpgradeExchange, _ decision: AdmissionDecision, _ session: SessionRequest, _ context: RequestContext
    ) {
        switch decision {
        case .refused(let refusal): refuse(upgrade, refusal, by: refusal.method, context)
        case .admitted(let admitted): admit(admitted, session, upgrade, context)
        case .later(let later):
            let reactor = reactor
            let pinned = Pinned((upgrade: upgrade, handler: self), to: reactor)
            later.whenDecided { decision in
                reactor.submit { pinned.value.handler.answerLater(pinned.value.upgrade, decision, session, context) }
            }
        }
    }

    /// The settings may have been reloaded meanwhile: the current gate must admit the client too.
    ///
    /// - Parameter isPrepared: what the gate has to know for that was fetched.
    private func answerLater(
        _ upgrade: UpgradeExchange, _ decision: AdmissionDecision, _ session: SessionRequest, _ context: RequestContext,
        isPrepared: Bool = false
    ) {
        guard case .admitted(let admitted) = decision else { return answer(upgrade, decision, session, context) }
        let gate = sessions.gate
        switch gate.recheck(admitted.principal, from: context.address, at: reactor.moment) {
        case nil: answer(upgrade, decision, session, context)
        case let refusal? where refusal.code != .storeUnavailable || isPrepared:
            refuse(upgrade, refusal, by: admitted.principal.shown, context)
        case .some:
            // What this gateway knows of its store has just been forgotten.
            let reactor = reactor
            let pinned = Pinned((upgrade: upgrade, handler: self), to: reactor)
            gate.prepareRecheck(of: admitted.principal, at: reactor.moment) {
                reactor.submit {
                    pinned.value.handler.answerLater(
                        pinned.value.upgrade, decision, session, context, isPrepared: true)
                }
            }
        }
    }

    /// Nothing is recorded for a client that has disconnected meanwhile. Otherwise the line is in the audit log before the 101 is sent; if
    /// sending fails, another line says so.
    private func admit(
        _ admitted: Admitted, _ session: SessionRequest, _ upgrade: UpgradeExchange, _ context: RequestContext
    ) {
        guard upgrade.isPending else { return upgrade.abandon() }
        let line = record.admitted(admitted, context)
        if let refusal = line.refusal {
            return refuse(upgrade, refusal, by: admitted.principal.shown, context)
        }
        let compression = settings.targets.compression(to: session.target) ?? settings.compression
        let handler = makeSession(admitted, line, session, upgrade, context)
        defer { noteTime(.admitted, context) }
        guard !upgrade.accept(handler, compresses: compression == .on) else { return }
        record.admissionFailed(admitted, line, context)
    }

    func refuse(
        _ upgrade: UpgradeExchange, _ refusal: Refusal, by method: MethodName, _ context: RequestContext
    ) {
        record.upgradeRefused(refusal, by: method, context)
        upgrade.refuse(JSONAnswers.refusal(refusal, requestID: context.id))
        noteTime(.refused, context)
    }

    /// From the request to its answer.
    private func noteTime(_ outcome: GateOutcome, _ context: RequestContext) {
        let start = context.moment.monotonic.nanoseconds
        settings.metrics.answeredUpgrade(outcome, nanoseconds: max(reactor.now, start) - start)
    }

    private func refuse(_ upgrade: UpgradeExchange, _ refusal: Refusal, _ context: RequestContext) {
        record.requestRefused(refusal, context)
        upgrade.refuse(JSONAnswers.refusal(refusal, requestID: context.id))
    }

    private func makeSession(
        _ admitted: Admitted, _ line: AdmissionLine, _ session: SessionRequest, _ upgrade: UpgradeExchange,
        _ context: RequestContext
    ) -> ClientLink {
        let client = ClientIdentity(
            session: context.id, principal: admitted.principal, address: context.address,
            port: context.isForwarded ? 0 : upgrade.peer.port, isSecure: upgrade.isTLS,
            isRecorded: line.isWritten)
        return ClientLink(
            Session(
                admitted: admitted, client: client, request: session, settings: sessionSettings, sessions: sessions,
                loop: reactor))
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
        _ head: RequestHead, _ fields: CredentialFields, isTLS: Bool, certificate: PeerCertificate?,
        _ context: RequestContext
    ) {
        self.init(
            id: context.id, address: context.address, moment: context.moment,
            handshake: HandshakeFields(
                method: String(decoding: head.method, as: UTF8.self), isHTTP11: head.version == .http11,
                upgrade: head.text("upgrade"), connectionIsUpgrade: head.fields.contains("upgrade", in: "connection"),
                version: head.text("sec-websocket-version"), key: head.text("sec-websocket-key"),
                offeredSubprotocols: head.fields.members("sec-websocket-protocol").map {
                    String(decoding: $0, as: UTF8.self)
                }),
            origin: head.text("origin"), host: head.authority.map { String(decoding: $0, as: UTF8.self) },
            isTLS: isTLS,
            fields: fields, certificate: certificate.map(ClientCertificate.init),
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
