import Admission
import Logging
import Observability
import RelayCore

/// The next tickets of a session whose client was admitted by a ticket.
extension Session {
    /// A client that was admitted by a ticket gets its next one, for a reload of the page, for another session after
    /// this one is lost, also with the gateway's process, as long as the proof of its first ticket is valid. The
    /// session itself continues in any case.
    func sendTicket() {
        // The process that takes over wouldn't know it.
        guard client.principal.isByTicket, link?.socket != nil, !settings.drain.isHandingOver,
            case .translated(let translation) = dialect, translation.value.hasNotices
        else { return }
        let gate = sessions.gate
        guard let id else {
            return send(gate.issueTicket(to: client.principal, from: client.address, at: loop.moment))
        }
        let later: LaterDecision<TicketIssue>
        switch gate.nextTicket(for: client.principal, ofSession: id, from: client.address, at: loop.moment) {
        case .decided(let issue): return send(issue)
        case .later(let decision): later = decision
        }
        let bound = LoopBound((session: self, table: sessions), to: loop)
        later.whenDecided { [loop] issue in
            loop.submit {
                let (session, table) = bound.value
                // Meanwhile the session may have moved to another loop, or its client may have left.
                if table.contains(session), session.sendLater(issue) { return }
                if case .issued(let issued) = issue { gate.withdraw(issued) }
            }
        }
    }

    /// - Returns: false if there is nobody to send it to.
    private func sendLater(_ issue: TicketIssue) -> Bool {
        guard link?.socket != nil, !settings.drain.isHandingOver else { return false }
        send(issue)
        return true
    }

    private func send(_ issue: TicketIssue) {
        switch issue {
        case .issued(let issued):
            isTicketRefused = false
            translate { $0.send(ticket: issued.ticket.text, expiresIn: issued.expiresIn, into: &$1) }
            // Half of its life: well before it expires.
            deadlines.nextTicket = loop.now + UInt64(issued.expiresIn) * 500_000_000
        case .full(let seconds): deadlines.nextTicket = loop.now + UInt64(seconds) * 1_000_000_000
        case .refused(let refusal): noteTicketRefused(refusal)
        case .chainEnded: break
        }
    }

    /// Tries again later: a revocation list may be renewed, or the store may answer again. One line is logged.
    private func noteTicketRefused(_ refusal: Refusal) {
        deadlines.nextTicket = loop.now + Self.ticketRetryNanoseconds
        guard !isTicketRefused else { return }
        isTicketRefused = true
        log(
            "no further ticket", [LogKeys.reason: "\(refusal.code.rawValue)", LogKeys.detail: "\(refusal.detail)"])
    }

    private static var ticketRetryNanoseconds: UInt64 { 15_000_000_000 }

    /// Its tickets stay where the client has lost the session without wanting to: with its target, or with this
    /// process.
    func endTickets(_ reason: EndReason) {
        guard client.principal.isByTicket, let id else { return }
        sessions.gate.endTickets(ofSession: id, keepingThem: reason.leavesTickets, at: loop.moment)
    }
}

extension EndReason {
    fileprivate var leavesTickets: Bool {
        switch self {
        case .targetClosed, .targetLost, .targetBroken, .shuttingDown, .gatewayUpgrading, .gatewayLost: true
        default: false
        }
    }
}
