import Synchronization

/// The reference implementation, for tests, and for a gateway without a store: there tickets end with the process.
/// Nothing here waits.
package final class MemoryKeptTickets: KeptTicketStore {
    /// Of all tickets, in bytes.
    package static let maximumBytes = 33_554_432
    private struct State {
        var tickets: [[UInt8]: KeptTicket] = [:]
        /// From the oldest to the newest.
        var sessions: [SessionMark: [[UInt8]]] = [:]
        var bytes = 0

        mutating func remove(_ session: SessionMark) {
            for hash in sessions.removeValue(forKey: session) ?? [] { take(hash) }
        }

        mutating func take(_ hash: [UInt8]) {
            if let ticket = tickets.removeValue(forKey: hash) { bytes -= size(of: ticket) }
        }

        mutating func remove(_ ticket: KeptTicket) {
            take(ticket.hash)
            sessions[ticket.session]?.removeAll { $0 == ticket.hash }
            if sessions[ticket.session]?.isEmpty == true { sessions[ticket.session] = nil }
        }
    }

    private let maximum: Int
    private let state = Mutex(State())

    /// - Parameter maximum: tickets at once.
    package init(maximum: Int) { self.maximum = maximum }

    package func keep(
        _ ticket: KeptTicket, then: @escaping @Sendable (Result<MarkSpending, KeyRegistryError>) -> Void
    ) { then(.success(state.withLock { keep(ticket, in: &$0) })) }

    private func keep(_ ticket: KeptTicket, in state: inout State) -> MarkSpending {
        guard state.tickets[ticket.hash] == nil else { return .alreadySpent }
        let known = state.sessions[ticket.session, default: []]
        let older = known.dropLast(KeptTicket.perSession - 1)
        let bytes = size(of: ticket) - older.reduce(0) { $0 + (state.tickets[$1].map(size) ?? 0) }
        guard state.tickets.count - older.count < maximum, state.bytes + bytes <= Self.maximumBytes else {
            return .full
        }
        for hash in older { state.take(hash) }
        state.bytes += size(of: ticket)
        state.sessions[ticket.session] = known.suffix(KeptTicket.perSession - 1) + [ticket.hash]
        state.tickets[ticket.hash] = ticket
        return .spent
    }

    package func find(
        hash: [UInt8], at time: Int64, then: @escaping @Sendable (Result<KeptTicket?, KeyRegistryError>) -> Void
    ) {
        let found = state.withLock { $0.tickets[hash] }
        then(.success(found.flatMap { $0.expires > time ? $0 : nil }))
    }

    package func use(hash: [UInt8], then: @escaping @Sendable (Result<Bool, KeyRegistryError>) -> Void) {
        let isUsed = state.withLock { state in
            guard let ticket = state.tickets[hash] else { return false }
            state.remove(ticket.session)
            return true
        }
        then(.success(isUsed))
    }

    package func discard(hash: [UInt8]) {
        state.withLock { state in
            if let ticket = state.tickets[hash] { state.remove(ticket) }
        }
    }

    package func shorten(ofSession session: SessionMark, to time: Int64) {
        state.withLock { state in
            for hash in state.sessions[session] ?? [] { state.tickets[hash] = state.tickets[hash]?.shortened(to: time) }
        }
    }

    package func forget(expiredAt time: Int64) {
        state.withLock { state in
            for ticket in state.tickets.values where ticket.expires <= time { state.remove(ticket) }
        }
    }

    package var volatileTickets: [KeptTicket] {
        state.withLock { state in state.sessions.values.compactMap { $0.last.flatMap { state.tickets[$0] } } }
    }

    package var count: Int { state.withLock { $0.tickets.count } }
}

/// What a ticket takes beside its content, in bytes.
private let overheadBytes = 1_024

private func size(of ticket: KeptTicket) -> Int { ticket.content.count + overheadBytes }
