import Admission
import Logging
import Observability
import Reactors

/// What the operator's tools may ask of the running gateway, and what it answers.
final class ControlDesk: Sendable {
    private let server: Pinned<ControlServer>

    /// Listens on the first reactor; when it returns, tools are answered.
    ///
    /// - Parameter page: the gateway's address, where it serves the web client.
    init(
        path: String, on pool: ReactorPool, tickets: TicketOffice?, page: String?, logger: Logger
    ) throws(GatewayError) {
        let outcome = pool.onFirstReactor { reactor in
            Result { () throws(ReactorError) in
                let server = try ControlServer(path: path, on: reactor) { request in
                    Self.answer(request, tickets, page: page, at: reactor.now, logger)
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

    private static func answer(
        _ request: ControlRequest, _ tickets: TicketOffice?, page: String?, at time: UInt64, _ logger: Logger
    ) -> ControlAnswer {
        switch request {
        case .ticket(let seconds, let uses):
            guard let tickets else { return .refused(reason: "this gateway issues no tickets") }
            guard seconds > 0, uses > 0 else { return .refused(reason: "seconds and uses begin at 1") }
            let issue = tickets.issueForOperator(
                timeToLive: .seconds(seconds), uses: uses, at: MonotonicTime(nanoseconds: time))
            guard case .issued(let issued) = issue else { return .refused(reason: "too many tickets are out") }
            logger.notice("operator's ticket issued", metadata: [LogKeys.principal: "\(issued.id.text)"])
            return .ticket(issued.ticket.text, page: page.map { "\($0)/#ticket=\(issued.ticket.text)" })
        }
    }
}
