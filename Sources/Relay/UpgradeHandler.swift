import Admission
import Logging
import Observability
import Reactors
import RelayCore

/// Brings an upgrade before the gate, and opens a session for whoever it admits. Reactor thread only.
final class UpgradeHandler {
    private let settings: RelaySettings
    private let sessionSettings: SessionSettings
    private let record: DecisionRecord
    private let sessions: SessionTable
    private unowned let reactor: Reactor

    init(settings: RelaySettings, record: DecisionRecord, sessions: SessionTable, reactor: Reactor) {
        self.settings = settings
        sessionSettings = SessionSettings(settings)
        self.record = record
        self.sessions = sessions
        self.reactor = reactor
    }

    func handle(_ upgrade: UpgradeRequest) -> UpgradeDecision {
        let context = RequestContext(
            peer: upgrade.peer, head: upgrade.isUnnamed ? nil : upgrade.head, trusting: settings.trustedProxies,
            reactor: reactor)
        guard let session = SessionRequest(upgrade.head) else {
            let refusal = Refusal(.notFound, detail: "upgrade of an unknown path, or with a malformed query")
            record.requestRefused(refusal, context)
            return .refuse(JSONAnswers.refusal(refusal, requestID: context.id))
        }
        var request = AdmissionRequest(
            upgrade.head, isTLS: upgrade.isTLS, certificate: upgrade.certificate, context)
        request.ticket = Self.ticket(in: upgrade.head.query)
        request.allowedWays = settings.targets.ways(to: session.target).map { Set($0.map(AdmissionWay.init)) }
        switch settings.gate.evaluate(request) {
        case .refused(let refusal):
            record.upgradeRefused(refusal, way: GateWay(attemptedBy: request), context)
            return .refuse(JSONAnswers.refusal(refusal, requestID: context.id))
        case .admitted(let admitted):
            record.upgradeAdmitted(admitted, context)
            return .accept(makeSession(admitted, session, upgrade, context))
        }
    }

    private func makeSession(
        _ admitted: Admitted, _ session: SessionRequest, _ upgrade: UpgradeRequest, _ context: RequestContext
    ) -> SessionDriver {
        let client = ClientIdentity(
            session: context.id, principal: admitted.principal, address: context.address,
            port: context.isForwarded ? 0 : upgrade.peer.port, isSecure: upgrade.isTLS)
        return SessionDriver(
            admitted: admitted, client: client, request: session, settings: sessionSettings, sessions: sessions,
            reactor: reactor)
    }

    /// The parameter `ticket`. One that can't be read, or stands there twice, counts as an empty one: it is there, and it is wrong.
    private static func ticket(in query: RequestQuery) -> String? {
        switch query["ticket"] {
        case .absent: nil
        case .malformed: ""
        case .value(let ticket): ticket
        }
    }
}

extension AdmissionRequest {
    init(_ head: RequestHead, isTLS: Bool, certificate: PeerCertificate?, _ context: RequestContext) {
        self.init(
            id: context.id, address: context.address, moment: context.moment,
            handshake: HandshakeFields(
                method: head.method.rawValue, isHTTP11: head.isHTTP11, upgrade: head["upgrade"],
                connectionIsUpgrade: Self.list(head["connection"]).contains { $0.lowercased() == "upgrade" },
                version: head["sec-websocket-version"], key: head["sec-websocket-key"],
                offeredSubprotocols: Self.offers(head["sec-websocket-protocol"])),
            origin: head["origin"], host: head["host"], isTLS: isTLS,
            assertion: AssertionFields(
                keyID: head["x-app-assert-keyid"], data: head["x-app-assert-data"], nonce: head["x-app-assert-nonce"]),
            certificate: certificate.map(ClientCertificate.init), authorization: head["authorization"])
    }

    /// The subprotocols offered. A list with an empty member is none that libwebsockets could read: it counts as an offer of one
    /// unknown name, so that the gate refuses it before anything is spent.
    private static func offers(_ value: String?) -> [String] {
        guard let value else { return [] }
        let members = list(value)
        let commas = value.utf8.count { $0 == UInt8(ascii: ",") }
        return members.count == commas + 1 ? members : [""]
    }

    /// The members of a comma-separated header value (RFC 9110 §5.6.1), without the empty ones.
    private static func list(_ value: String?) -> [String] {
        (value ?? "").utf8.split(separator: UInt8(ascii: ",")).compactMap { member in
            var member = member.drop(while: isBlank)
            while let last = member.last, isBlank(last) { member.removeLast() }
            return member.isEmpty ? nil : String(Substring(member))
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}

extension ClientCertificate {
    fileprivate init(_ certificate: PeerCertificate) {
        self.init(
            isVerified: certificate.isVerified, isResumedSession: certificate.isResumedSession,
            sha256: certificate.sha256, subject: certificate.subject, notAfter: nil,
            number: CertificateNumber(issuer: certificate.issuer, serial: certificate.serial),
            chain: ClientCertificateChain(certificate.chain))
    }
}

extension AdmissionWay {
    fileprivate init(_ access: TargetAccess) {
        switch access {
        case .app: self = .app
        case .cert: self = .certificate
        case .ticket: self = .ticket
        case .anonymous: self = .anonymous
        }
    }
}
