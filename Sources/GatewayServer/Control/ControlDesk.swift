import Admission
import KeyStore
import Logging
import Observability
import Reactors
import Relay

/// What the operator's tools may ask of the running gateway, and what it answers.
final class ControlDesk: Sendable {
    private let server: Pinned<ControlServer>

    /// Listens on the first reactor; when it returns, tools are answered.
    ///
    /// - Parameters:
    ///   - relay: says whether the web client is served.
    ///   - address: the gateway's own, as a URL.
    init(
        path: String, on pool: ReactorPool, server relay: RelayServer, tickets: TicketOffice, reloads: ReloadQueue,
        revocations: RevocationWatcher?, address: String, logger: Logger
    ) throws(GatewayError) {
        let outcome = pool.onFirstReactor { reactor in
            Result { () throws(ReactorError) in
                let server = try ControlServer(path: path, on: reactor) { request, reply in
                    switch request {
                    case .ticket(let seconds, let uses):
                        let page = relay.servesWebClient ? address : nil
                        reply(Self.ticket(seconds, uses, of: tickets, page: page, at: reactor.now, logger))
                    case .hasNoticedRevocation(let key):
                        let hasNoticed = KeyID(text: key).flatMap { revocations?.hasNoticed($0) } ?? false
                        reply(.revocation(isNoticed: hasNoticed))
                    case .reload:
                        let reply = Pinned(reply, to: reactor)
                        reloads.ask { outcome in reactor.submit { reply.value(ControlAnswer(outcome)) } }
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

    func close() {
        server.reactor.submit { [server] in server.value.close() }
    }

    private static func ticket(
        _ seconds: Int, _ uses: Int, of tickets: TicketOffice, page: String?, at time: UInt64, _ logger: Logger
    ) -> ControlAnswer {
        guard seconds > 0, uses > 0 else { return .refused(reason: "seconds and uses begin at 1") }
        let issue = tickets.issueForOperator(
            timeToLive: .seconds(seconds), uses: uses, at: MonotonicTime(nanoseconds: time))
        guard case .issued(let issued) = issue else { return .refused(reason: "too many tickets are out") }
        logger.notice("operator's ticket issued", metadata: [LogKeys.principal: "\(issued.id.text)"])
        return .ticket(issued.ticket.text, page: page.map { "\($0)/#ticket=\(issued.ticket.text)" })
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
}
