import Admission
import KeyStore
import Logging
import Observability
import Reactors

/// Writes each decision down: one line in the log, one in the audit log, one count. None of them carries a secret.
struct DecisionRecord: Sendable {
    let audit: AuditLog
    let metrics: GatewayMetrics
    let logger: Logger

    func upgradeAdmitted(_ admitted: Admitted, _ context: RequestContext) {
        let way = GateWay(admitted.principal)
        write(
            .upgrade, .admitted, way, who: admitted.principal.identity, detail: admitted.principal.secretDetail, context
        )
        metrics.decided(.admitted, by: way, reason: NoReason.none)
    }

    func upgradeRefused(_ refusal: Refusal, way: GateWay, _ context: RequestContext) {
        write(.upgrade, refusal.auditOutcome, way, who: nil, refusal: refusal, context)
        metrics.decided(.refused, by: way, reason: refusal.code)
    }

    func ticketIssued(to principal: Principal, _ context: RequestContext) {
        write(
            .ticket, .admitted, GateWay(principal), who: principal.identity, detail: principal.secretDetail, context)
    }

    func ticketRefused(_ refusal: Refusal, way: GateWay, _ context: RequestContext) {
        write(.ticket, refusal.auditOutcome, way, who: nil, refusal: refusal, context)
    }

    func registered(_ outcome: RegistrationOutcome, _ context: RequestContext) {
        switch outcome {
        case .registered(let key):
            write(.registration, .admitted, .appAttest, who: key.id.base64, context)
            metrics.registered(.admitted, reason: NoReason.none)
        case .refused(let refusal):
            write(.registration, refusal.auditOutcome, .appAttest, who: nil, refusal: refusal, context)
            metrics.registered(.refused, reason: refusal.code)
        }
    }

    /// A request that no rule of the gate has seen: its framing or its path was wrong, or it came too often.
    func requestRefused(_ refusal: Refusal, _ context: RequestContext) {
        logger.info(
            "request refused",
            metadata: [
                LogKeys.requestID: "\(context.id)", LogKeys.address: "\(context.address.text)",
                LogKeys.reason: "\(refusal.code.rawValue)", LogKeys.detail: "\(refusal.detail)",
            ])
    }

    private func write(
        _ event: AuditEntry.Event, _ outcome: AuditEntry.Outcome, _ way: GateWay, who: String?,
        refusal: Refusal? = nil, detail: String? = nil, _ context: RequestContext
    ) {
        let detail = refusal?.detail ?? detail
        audit.record(
            AuditEntry(
                time: Timestamp(unixMilliseconds: context.moment.unixMilliseconds), event: event, outcome: outcome,
                way: way, who: who, reason: refusal?.code.rawValue, detail: detail, requestID: context.id,
                address: context.address.text))
        // Where nobody reads the line its dictionary and texts are not made: there is one for each connection.
        guard logger.logLevel <= .info else { return }
        var metadata: Logger.Metadata = [
            LogKeys.requestID: "\(context.id)", LogKeys.address: "\(context.address.text)",
            LogKeys.way: "\(way.rawValue)", LogKeys.outcome: "\(outcome.rawValue)",
        ]
        metadata[LogKeys.principal] = who.map { "\($0)" }
        metadata[LogKeys.reason] = refusal.map { "\($0.code.rawValue)" }
        metadata[LogKeys.detail] = detail.map { "\($0)" }
        logger.info("\(event.rawValue)", metadata: metadata)
    }
}

extension RefusalCode: MetricLabel {}

extension Refusal {
    /// 5xx is trouble of ours, not a judgement on the client.
    fileprivate var auditOutcome: AuditEntry.Outcome { status >= 500 ? .failed : .refused }
}

extension Principal {
    /// Which of the shared secrets was shown: its name.
    fileprivate var secretDetail: String? { secretName.map { "secret \($0)" } }
}

extension GateWay {
    init(_ principal: Principal) {
        switch principal.way {
        case _ where principal.isByTicket: self = .ticket
        case .operatorTicket: self = .ticket
        case .appAttest: self = .appAttest
        case .debugCertificate: self = .debugCertificate
        case .anonymous: self = .anonymous
        }
    }

    /// By which way a client tried that was not admitted.
    init(attemptedBy request: AdmissionRequest) {
        if request.ticket != nil {
            self = .ticket
        } else if request.assertion.arePresent {
            self = .appAttest
        } else if request.certificate != nil {
            self = .debugCertificate
        } else {
            self = .none
        }
    }
}
