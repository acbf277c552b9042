import Admission
import Logging
import Observability
import Reactors

/// Brings an upgrade before the gate, and opens a session for whoever it admits. Reactor thread only.
final class UpgradeHandler {
    private let settings: RelaySettings
    private let record: DecisionRecord
    private let sessions: SessionTable
    private unowned let reactor: Reactor

    init(settings: RelaySettings, record: DecisionRecord, sessions: SessionTable, reactor: Reactor) {
        self.settings = settings
        self.record = record
        self.sessions = sessions
        self.reactor = reactor
    }

    func handle(_ upgrade: UpgradeRequest) -> UpgradeDecision {
        let context = RequestContext(peer: upgrade.peer, reactor: reactor)
        guard RequestPath(upgrade.head.path) == .root else {
            let refusal = Refusal(.notFound, detail: "upgrade of an unknown path")
            record.requestRefused(refusal, context)
            return .refuse(JSONAnswers.refusal(refusal, requestID: context.id))
        }
        let request = AdmissionRequest(upgrade, context)
        switch settings.gate.evaluate(request) {
        case .refused(let refusal):
            record.upgradeRefused(refusal, way: GateWay(attemptedBy: request), context)
            return .refuse(JSONAnswers.refusal(refusal, requestID: context.id))
        case .admitted(let admitted):
            record.upgradeAdmitted(admitted, context)
            return .accept(
                SessionDriver(
                    admitted: admitted, id: context.id, settings: settings, sessions: sessions, reactor: reactor))
        }
    }
}

extension AdmissionRequest {
    fileprivate init(_ upgrade: UpgradeRequest, _ context: RequestContext) {
        let head = upgrade.head
        self.init(
            id: context.id, address: context.address, moment: context.moment,
            handshake: HandshakeFields(
                method: head.method.rawValue, upgrade: head["upgrade"],
                connectionIsUpgrade: Self.list(head["connection"]).contains { $0.lowercased() == "upgrade" },
                version: head["sec-websocket-version"], key: head["sec-websocket-key"],
                offeredSubprotocols: Self.offers(head["sec-websocket-protocol"])),
            origin: head["origin"], host: head["host"], isTLS: upgrade.isTLS,
            assertion: AssertionFields(
                keyID: head["x-app-assert-keyid"], data: head["x-app-assert-data"], nonce: head["x-app-assert-nonce"]),
            certificate: upgrade.certificate.map(ClientCertificate.init))
    }

    /// The subprotocols offered. A list with an empty member is none that libwebsockets could read: it counts as an offer of one
    /// unknown name, so that the gate refuses it before anything is spent.
    private static func offers(_ value: String?) -> [String] {
        guard let value else { return [] }
        let members = list(value)
        return members.count == value.split(separator: ",", omittingEmptySubsequences: false).count ? members : [""]
    }

    /// The members of a comma-separated header value (RFC 9110 §5.6.1), without the empty ones.
    private static func list(_ value: String?) -> [String] {
        (value ?? "").split(separator: ",").map { member in
            String(member.drop(while: \.isBlank).reversed().drop(while: \.isBlank).reversed())
        }.filter { !$0.isEmpty }
    }
}

extension Character {
    fileprivate var isBlank: Bool { self == " " || self == "\t" }
}

extension ClientCertificate {
    fileprivate init(_ certificate: PeerCertificate) {
        self.init(
            isVerified: certificate.isVerified, isResumedSession: certificate.isResumedSession,
            sha256: certificate.sha256, subject: certificate.subject, notAfter: nil)
    }
}
