import Admission
import KeyStore
import Logging
import Observability
import Reactors
import RelayCore
import WireText

/// Records each decision: one line in the log, one in the audit log, one count. None of them contains a secret.
/// Repeated refusals and admissions are counted, but not all are written (`RefusalJournal`, `AdmissionJournal`).
struct DecisionRecord: Sendable {
    let audit: AuditLog
    let journal: RefusalJournal
    let metrics: GatewayMetrics
    let logger: Logger
    /// `AUDIT_FULL`
    let whenAuditFails: AuditFull

    private static let auditRetryAfter = 5

    init(_ settings: RelaySettings) {
        audit = settings.audit
        journal = settings.journal
        metrics = settings.metrics
        logger = settings.logger
        whenAuditFails = settings.whenAuditFails
    }

    /// Call this before the 101 is sent.
    func admitted(_ admitted: Admitted, _ context: RequestContext) -> AdmissionLine {
        let line = admit(.upgrade, admitted.principal, context)
        if case .missing = line { return line }
        if let reported = admitted.principal.reported {
            metrics.decided(.reported, by: reported.shownMethod(of: admitted.principal), reason: reported.code)
        } else {
            metrics.decided(.admitted, by: admitted.principal.shown, reason: NoReason.none)
        }
        return line
    }

    /// The client disconnected before the 101. Records that the admission had no effect.
    ///
    /// - Parameter line: the admission's.
    func admissionFailed(_ admitted: Admitted, _ line: AdmissionLine, _ context: RequestContext) {
        let (principal, who) = (admitted.principal, admitted.principal.identity.subject)
        guard line.isWritten else {
            let kind = AdmissionKind(.upgrade, .failed, by: principal.shown, who: who, from: context.address.prefix)
            return journal.admissions.add(kind, RefusalMark(context), at: context.moment.monotonic)
        }
        write(.upgrade, .failed, principal.shown, who: who, detail: "the client had gone before the 101", context)
    }

    func upgradeRefused(_ refusal: Refusal, by method: MethodName, _ context: RequestContext) {
        refused(.upgrade, .upgrade, refusal, method, context)
        metrics.decided(.refused, by: method, reason: refusal.code)
    }

    /// Call this before the ticket is sent.
    ///
    /// - Returns: a refusal if the ticket can't be recorded and therefore isn't allowed.
    func refuseUnwrittenTicket(to principal: Principal, _ context: RequestContext) -> Refusal? {
        admit(.ticket, principal, context).refusal
    }

    func ticketRefused(_ refusal: Refusal, by method: MethodName, _ context: RequestContext) {
        refused(.ticket, .ticket, refusal, method, context)
    }

    /// Call this before the answer to a proxy is sent. Every use of a development token is recorded. A request of an
    /// attested device is only counted: there is one for each call of an HTTP service, and the issue of its access
    /// token is in the audit log.
    ///
    /// - Returns: a refusal if the use can't be recorded and therefore isn't allowed.
    func refuseUnwrittenAuthorization(of request: VerifiedResourceRequest, _ context: RequestContext) -> Refusal? {
        let identity = request.identity
        if let grant = request.grant {
            let refusal = admit(
                .authorization, identity.method, who: identity.subject, detail: "development token \(grant.name)",
                context
            ).refusal
            if let refusal { return refusal }
        }
        metrics.authorized(.admitted, by: identity.method, reason: NoReason.none)
        return nil
    }

    func authorizationRefused(_ refusal: Refusal, _ context: RequestContext) {
        refused(.authorization, .authorization, refusal, AccessTokenMethod.name, context)
        metrics.authorized(.refused, by: AccessTokenMethod.name, reason: refusal.code)
    }

    /// A request of an HTTP service that its device has signed. It is only counted, and by its identity in the audit
    /// log, too: no other line there says that the device was admitted.
    func authorized(_ request: VerifiedSignedRequest, _ context: RequestContext) {
        let identity = request.identity
        let kind = AdmissionKind(
            .authorization, .admitted, by: identity.method, who: identity.subject, from: context.address.prefix)
        journal.admissions.add(kind, RefusalMark(context), at: context.moment.monotonic)
        metrics.authorized(.admitted, by: identity.method, reason: NoReason.none)
    }

    func signedRequestRefused(_ refusal: Refusal, _ context: RequestContext) {
        refused(.authorization, .authorization, refusal, SignedRequestMethod.name, context)
        metrics.authorized(.refused, by: SignedRequestMethod.name, reason: refusal.code)
    }

    /// Call this before a key is forgotten because its device has unregistered itself. If that fails, another line
    /// records the failure.
    ///
    /// - Returns: a refusal if it can't be recorded and therefore isn't allowed.
    func refuseUnwrittenEnd(of key: KeyID, _ context: RequestContext) -> Refusal? {
        admit(.registration, SignedRequestMethod.name, who: key.base64, detail: "unregistered", context).refusal
    }

    /// Call this before the key is stored. If storing fails, another line records the failure.
    ///
    /// - Returns: a refusal if the registration can't be recorded and therefore isn't allowed.
    func refuseUnwritten(_ key: RegisteredKey, _ context: RequestContext) -> Refusal? {
        admit(.registration, AppAttestMethod.name, who: key.id.base64, detail: nil, context).refusal
    }

    /// Counts a registration, and records a refused one.
    func registered(_ outcome: RegistrationOutcome, _ context: RequestContext) {
        switch outcome {
        case .registered:
            metrics.registered(.admitted, reason: NoReason.none)
        case .refused(let refusal):
            refused(.registration, .registration, refusal, AppAttestMethod.name, context)
            metrics.registered(.refused, reason: refusal.code)
        case .unstored(let refusal):
            // Always written in full: it corrects an earlier line. The limit of registrations per minute bounds these.
            write(
                .registration, refusal.auditOutcome, AppAttestMethod.name, who: refusal.signer, refusal: refusal,
                context)
            metrics.registered(.refused, reason: refusal.code)
        }
    }

    /// Call this before the token is sent; it writes to the audit log.
    ///
    /// - Returns: the outcome, or a refusal if the token can't be recorded and therefore isn't allowed.
    func orUnwritten(_ outcome: TokenOutcome, _ context: RequestContext) -> TokenOutcome {
        guard case .issued(let token) = outcome else { return outcome }
        let detail = "token \(token.id), \(token.detail)"
        let line = admit(.token, token.identity.method, who: token.identity.subject, detail: detail, context)
        return line.refusal.map { .refused($0.forTokenClient()) } ?? outcome
    }

    /// Counts a request for a token, and records a refused one.
    func tokenRequested(_ outcome: TokenOutcome, _ context: RequestContext) {
        switch outcome {
        case .issued: metrics.tokenRequested(.admitted, reason: NoReason.none)
        case .refused(let refusal):
            // A demand for a nonce is no decision about the client: every client without one gets it.
            if refusal.code != .useNonce { refused(.token, .token, refusal, AccessTokenMethod.name, context) }
            metrics.tokenRequested(.refused, reason: refusal.code)
        }
    }

    /// Records the end of a session, whether or not it reached a target. The log has a separate line with more details.
    /// If the admission was only counted, so is the end.
    ///
    /// - Parameter remark: what the operator can do about it.
    func ended(_ client: ClientIdentity, _ reason: EndReason, _ remark: String? = nil, at moment: Moment) {
        guard client.isRecorded else {
            let kind = AdmissionKind(.session, .ended, of: client)
            return journal.admissions.add(kind, RefusalMark(client, moment), at: moment.monotonic)
        }
        let entry = AuditEntry(
            time: Timestamp(unixMilliseconds: moment.unixMilliseconds), event: .session, outcome: .ended,
            method: client.principal.shown.label, who: client.principal.identity.subject, reason: reason.rawValue,
            detail: remark, requestID: client.session, address: client.address.text)
        if !audit.record(entry) { metrics.auditLineLost() }
    }

    /// Whether a line about a client's session goes into the log: one client doesn't fill that either.
    func isLogged(_ client: ClientIdentity, at moment: Moment) -> Bool {
        journal.admissions.isLogged(
            AdmissionKind(.session, .admitted, of: client), from: client.address, RefusalMark(client, moment),
            at: moment.monotonic)
    }

    /// Records that an operator closes a session; a line about its end follows.
    func closedByOperator(_ client: ClientIdentity, _ detail: String, at moment: Moment) {
        let entry = AuditEntry(
            time: Timestamp(unixMilliseconds: moment.unixMilliseconds), event: .operation, outcome: .done,
            method: client.principal.shown.label, who: client.principal.identity.subject,
            reason: EndReason.closedByOperator.rawValue, detail: detail, requestID: client.session,
            address: client.address.text)
        if !audit.record(entry) { metrics.auditLineLost() }
    }

    /// A request refused before the gate: for its framing, its path or its rate.
    func requestRefused(_ refusal: Refusal, _ context: RequestContext) {
        metrics.requestRefused(reason: refusal.code)
        guard journal.isInFull(.request, refusal.code, context), logger.logLevel <= .info else { return }
        logger.info(
            "request refused",
            metadata: [
                LogKeys.requestID: "\(context.id)", LogKeys.address: "\(context.address.text)",
                LogKeys.reason: "\(refusal.code.rawValue)", LogKeys.detail: "\(refusal.detail)",
            ])
    }

    private func admit(
        _ event: AuditEntry.Event, _ principal: Principal, _ context: RequestContext
    ) -> AdmissionLine {
        guard let reported = principal.reported else {
            return admit(
                event, principal.shown, who: principal.identity.subject, detail: principal.secretDetail, context)
        }
        let method = reported.shownMethod(of: principal)
        guard isInFull(event, .reported, method, nil, reason: reported.code, context) else { return .counted }
        return line(write(event, .reported, method, who: nil, refusal: reported, context))
    }

    func admit(
        _ event: AuditEntry.Event, _ method: MethodName, who: String?, detail: String?, _ context: RequestContext
    ) -> AdmissionLine {
        guard isInFull(event, .admitted, method, who, context) else { return .counted }
        return line(write(event, .admitted, method, who: who, detail: detail, context))
    }

    /// Whether an admission has a line of its own.
    private func isInFull(
        _ event: AuditEntry.Event, _ outcome: AdmissionOutcome, _ method: MethodName, _ who: String?,
        reason: RefusalCode? = nil, _ context: RequestContext
    ) -> Bool {
        guard let admitted = AdmittedEvent(rawValue: event.rawValue) else { return true }
        let prefix = context.address.prefix
        let kind = AdmissionKind(admitted, outcome, by: method, who: who, from: prefix, reason: reason)
        return journal.admissions.isInFull(
            kind, from: context.address, RefusalMark(context), at: context.moment.monotonic)
    }

    func line(_ isWritten: Bool) -> AdmissionLine {
        guard !isWritten, whenAuditFails == .refuse else { return .written }
        return .missing(
            Refusal(
                .auditUnavailable, detail: "the audit log can't be written (AUDIT_FULL=refuse)",
                retryAfter: Self.auditRetryAfter))
    }

    func refused(
        _ event: AuditEntry.Event, _ counted: RefusedEvent, _ refusal: Refusal, _ method: MethodName,
        _ context: RequestContext
    ) {
        guard journal.isInFull(counted, refusal.code, context) else { return }
        write(event, refusal.auditOutcome, method, who: refusal.signer, refusal: refusal, context)
    }

    /// - Returns: whether the line is in the audit log.
    @discardableResult
    func write(
        _ event: AuditEntry.Event, _ outcome: AuditEntry.Outcome, _ method: MethodName, who: String?,
        refusal: Refusal? = nil, detail: String? = nil, _ context: RequestContext
    ) -> Bool {
        var entry = AuditEntry(
            time: Timestamp(unixMilliseconds: context.moment.unixMilliseconds), event: event, outcome: outcome,
            method: method.label, who: who, reason: refusal?.code.rawValue, detail: refusal?.detail ?? detail,
            requestID: context.id, address: context.address.text)
        if let failed = refusal?.failed {
            entry.check = failed.check.rawValue
            (entry.expected, entry.received) = failed.texts
        }
        let isWritten = audit.record(entry)
        if !isWritten { metrics.auditLineLost() }
        guard !isWritten || !audit.isBesideLog else { return true }
        // If an admission requires its audit line, an admission without one isn't logged either.
        let isAdmission = outcome == .admitted || outcome == .reported
        if isWritten || !isAdmission || whenAuditFails == .continue { log(entry) }
        return isWritten
    }

    /// If the log level suppresses the line, its dictionary and texts aren't built: this runs for each connection.
    private func log(_ entry: AuditEntry) {
        guard logger.logLevel <= .info else { return }
        var metadata: Logger.Metadata = [
            LogKeys.requestID: "\(entry.requestID)", LogKeys.address: "\(entry.address)",
            LogKeys.admission: "\(entry.method)", LogKeys.outcome: "\(entry.outcome.rawValue)",
        ]
        metadata[LogKeys.client] = entry.who.map { "\($0)" }
        metadata[LogKeys.reason] = entry.reason.map { "\($0)" }
        metadata[LogKeys.detail] = entry.detail.map { "\($0)" }
        logger.info("\(entry.event.rawValue)", metadata: metadata)
    }
}

/// What the audit log has of an admission.
enum AdmissionLine {
    /// A line of its own; with `AUDIT_FULL=continue` also one that couldn't be written.
    case written
    /// It is counted together with others (`AdmissionJournal`).
    case counted
    /// Nothing, and so it isn't allowed.
    case missing(Refusal)

    var isWritten: Bool { if case .written = self { true } else { false } }
    var refusal: Refusal? { if case .missing(let refusal) = self { refusal } else { nil } }
}

extension AdmissionKind {
    fileprivate init(_ event: AdmittedEvent, _ outcome: AdmissionOutcome, of client: ClientIdentity) {
        self.init(
            event, outcome, by: client.principal.shown, who: client.principal.identity.subject,
            from: client.address.prefix)
    }
}

extension RefusalMark {
    fileprivate init(_ context: RequestContext) {
        self.init(requestID: context.id, unixMilliseconds: context.moment.unixMilliseconds)
    }

    fileprivate init(_ client: ClientIdentity, _ moment: Moment) {
        self.init(requestID: client.session, unixMilliseconds: moment.unixMilliseconds)
    }
}

extension RefusalCode: MetricLabel {}
extension EndReason: MetricLabel {}

extension MethodName: MetricLabel {
    package var rawValue: String { label }
}

extension Refusal {
    /// 5xx is a failure of the gateway, not a decision about the client.
    fileprivate var auditOutcome: AuditEntry.Outcome { status >= 500 ? .failed : .refused }
}

extension Refusal {
    /// The method that a reported client tried; of a ticket or a session's token that it got as such that one.
    fileprivate func shownMethod(of principal: Principal) -> MethodName {
        principal.isByTicket || principal.isByToken ? principal.shown : method
    }
}

extension Principal {
    /// The name of the shared secret that was presented.
    fileprivate var secretDetail: String? { secretName.map { "secret \($0)" } }
}
