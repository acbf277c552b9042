import Admission
import KeyStore
import Logging
import Observability
import Reactors
import Relay
import Settings

/// Handles the requests of the operator's tools to the running gateway.
final class ControlDesk: Sendable {
    private let server: Pinned<ControlServer>

    /// Listens on the first reactor; when it returns, tools are answered.
    ///
    /// - Parameters:
    ///   - relay: tells whether the web client is served.
    ///   - accounts: nil: they are off.
    ///   - page: the web client's origin.
    init(
        path: String, inherited: InheritedListener? = nil, on pool: ReactorPool, server relay: RelayServer,
        tickets: TicketOffice, accounts: (any AccountStore)?, reloads: ReloadQueue, copyovers: CopyoverQueue,
        revocations: RevocationWatcher?, page: String, audit: AuditLog, logger: Logger
    ) throws(GatewayError) {
        let inspection = InspectionDesk(relay)
        let outcome = pool.onFirstReactor { reactor in
            Result { () throws(ReactorError) in
                let server = try ControlServer(path: path, inherited: inherited, on: reactor) { request, peer, reply in
                    switch request {
                    case .ticket where relay.isHandingOver, .accountTicket where relay.isHandingOver:
                        reply(.refused(reason: "an upgrade is under way: try again"))
                    case .ticket(let seconds, let uses):
                        let record = OperatorRecord(audit, relay, logger)
                        let page = relay.servesWebClient ? page : nil
                        let reply = Pinned(reply, to: reactor)
                        Self.ticket(seconds, uses, of: tickets, page: page, at: reactor.moment, record) { answer in
                            reactor.submit { reply.value(answer) }
                        }
                    case .accountTicket(let seconds, let account):
                        let (record, reply) = (OperatorRecord(audit, relay, logger), Pinned(reply, to: reactor))
                        Self.ticket(seconds, for: account, in: accounts, of: tickets, record) { answer in
                            reactor.submit { reply.value(answer) }
                        }
                    case .hasNoticedRevocation(let key):
                        let hasNoticed = KeyID(text: key).flatMap { revocations?.hasNoticed($0) } ?? false
                        reply(.revocation(isNoticed: hasNoticed))
                    case .hasNoticedDevelopmentTokenRevocation(let id):
                        reply(.revocation(isNoticed: revocations?.hasNoticed(grant: id) ?? false))
                    case .hasNoticedSigningKeyRevocation(let key):
                        reply(.revocation(isNoticed: revocations?.hasNoticed(signingKey: key) ?? false))
                    case .hasNoticedEnd(let account):
                        let hasNoticed = AccountID(text: account).flatMap { revocations?.hasNoticed(account: $0) }
                        reply(.revocation(isNoticed: hasNoticed ?? false))
                    case .inspect(let question):
                        let reply = Pinned(reply, to: reactor)
                        inspection.answer(question, from: peer) { answer in reactor.submit { reply.value(answer) } }
                    case .reload:
                        let reply = Pinned(reply, to: reactor)
                        reloads.ask { outcome in reactor.submit { reply.value(ControlAnswer(outcome)) } }
                    case .upgrade(let program):
                        let reply = Pinned(reply, to: reactor)
                        copyovers.ask(program) { outcome in reactor.submit { reply.value(ControlAnswer(outcome)) } }
                    }
                }
                return Pinned(server, to: reactor)
            }
        }
        switch outcome {
        case .success(let server): self.server = server
        case .failure(.bindFailed(let path, let reason)): throw .control("\(path): \(reason)")
        case .failure(let error): throw .control("\(error)")
        }
    }

    /// - Parameter keepsFile: another process goes on with the socket.
    func close(keepsFile: Bool = false) {
        server.reactor.submit { [server] in server.value.close(keepsFile: keepsFile) }
    }

    /// Without accepting, tools wait.
    func setAccepting(_ accepts: Bool) {
        server.reactor.submit { [server] in server.value.setAccepting(accepts) }
    }

    /// Which stays this desk's own: for another process, which gets a copy. Nil once it is closed. Not for a reactor.
    var listeningSocket: Int32? {
        let outcome = BlockingAnswer<Int32?>()
        server.reactor.submit { [server] in outcome.set(server.value.listeningSocket) }
        return outcome.wait()
    }

    private static func ticket(
        _ seconds: Int, _ uses: Int, of tickets: TicketOffice, page: String?, at moment: Moment,
        _ record: OperatorRecord, then: @escaping @Sendable (ControlAnswer) -> Void
    ) {
        guard seconds > 0, uses > 0 else { return then(.refused(reason: "seconds and uses begin at 1")) }
        tickets.issueForOperator(timeToLive: .seconds(seconds), uses: uses, at: moment) { issue in
            then(answer(issue, "\(uses) uses", of: tickets, page: page, record))
        }
    }

    /// - Parameter what: the ticket is for.
    static func answer(
        _ issue: TicketIssue, _ what: String, of tickets: TicketOffice, page: String?, _ record: OperatorRecord
    ) -> ControlAnswer {
        switch issue {
        case .issued(let issued):
            guard record.mayIssue(issued, what) else {
                tickets.withdraw(issued)
                return .refused(reason: "the audit log can't be written, and AUDIT_FULL is refuse")
            }
            return .ticket(issued.ticket.text, page: page.map { "\($0)/#ticket=\(issued.ticket.text)" })
        case .full(let wait):
            return .refused(
                reason: "too many tickets are out: there may be \(TicketOffice.maximumPerHolder) of the operator's at"
                    + " once, and \(TicketOffice.defaultMaximum) tickets in all. The next one ends in \(wait) s")
        case .refused(let refusal): return .refused(reason: "no ticket can be given: \(refusal.detail)")
        case .chainEnded: return .refused(reason: "no ticket can be given")
        }
    }
}

/// Records tickets issued over the control socket. Its user is the operator, who has no address.
struct OperatorRecord: Sendable {
    let audit: AuditLog
    let whenAuditFails: AuditFull
    let logger: Logger

    init(_ audit: AuditLog, _ relay: RelayServer, _ logger: Logger) {
        (self.audit, whenAuditFails, self.logger) = (audit, relay.whenAuditFails, logger)
    }

    /// - Returns: whether it is recorded, or needn't be.
    func mayIssue(_ issued: IssuedTicket, _ what: String) -> Bool {
        let detail = "by the operator: \(what) in \(issued.expiresIn) s"
        let isWritten = audit.record(
            AuditEntry(
                time: .now(), event: .ticket, outcome: .admitted, method: TicketMethod.name.label, who: issued.id.text,
                detail: detail,
                requestID: "-", address: "-"))
        guard isWritten || whenAuditFails == .continue else { return false }
        guard !isWritten || !audit.isBesideLog else { return true }
        logger.notice(
            "operator's ticket issued",
            metadata: [LogKeys.client: "\(issued.id.text)", LogKeys.detail: "\(detail)"])
        return true
    }
}

extension ControlAnswer {
    fileprivate init(_ outcome: ReloadOutcome) {
        switch outcome {
        case .applied(let difference):
            self = .reloaded(changed: difference.applied, needingRestart: difference.needingRestart)
        case .refused(let errors): self = .notReloaded(errors: errors)
        }
    }

    fileprivate init(_ outcome: CopyoverOutcome) {
        switch outcome {
        case .handedOver(let report): self = .upgraded(report)
        case .unchanged(let reason): self = .refused(reason: reason)
        }
    }
}
