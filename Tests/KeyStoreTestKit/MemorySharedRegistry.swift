package import KeyStore
import Synchronization

/// The reference implementation of a shared store, used in tests. Nothing here waits.
package final class MemorySharedRegistry: SharedKeyRegistry {
    private struct Name: Hashable {
        let kind: SingleUseMark.Kind
        let bytes: [UInt8]
    }

    private struct State {
        var incarnation: StoreIncarnation
        var began: Int64
        var marks: [Name: Int64] = [:]
        var tickets: [[UInt8]: (ticket: SealedTicket, uses: Int, session: SessionMark?)] = [:]
        /// Next tickets, from the oldest to the newest.
        var sessions: [SessionMark: [[UInt8]]] = [:]
        /// Marks that expired until then were forgotten, and are refused.
        var forgotten = Int64.min
        var isFull = false

        mutating func keep(_ ticket: SealedTicket, uses: Int, in incarnation: StoreIncarnation) -> MarkSpending {
            guard self.incarnation == incarnation else { return .foreign }
            guard ticket.expires > forgotten else { return .expired }
            guard tickets[ticket.hash] == nil else { return .alreadySpent }
            guard !isFull else { return .full }
            tickets[ticket.hash] = (ticket, uses, nil)
            return .spent
        }

        mutating func keep(_ ticket: KeptTicket, in incarnation: StoreIncarnation) -> MarkSpending {
            guard let sealed = SealedTicket(hash: ticket.hash, sealed: ticket.content, expires: ticket.expires) else {
                return .full
            }
            let outcome = keep(sealed, uses: 1, in: incarnation)
            guard outcome == .spent else { return outcome }
            tickets[ticket.hash]?.session = ticket.session
            let known = sessions[ticket.session, default: []]
            for hash in known.dropLast(KeptTicket.perSession - 1) { tickets[hash] = nil }
            sessions[ticket.session] = known.suffix(KeptTicket.perSession - 1) + [ticket.hash]
            return .spent
        }

        mutating func shorten(_ session: SessionMark, to time: Int64) {
            for hash in sessions[session] ?? [] {
                guard let (ticket, uses, _) = tickets[hash],
                    let shorter = SealedTicket(
                        hash: hash, sealed: ticket.sealed, expires: min(ticket.expires, time))
                else { continue }
                tickets[hash] = (shorter, uses, session)
            }
        }

        mutating func discard(_ hash: [UInt8]) {
            guard let session = tickets.removeValue(forKey: hash)?.session else { return }
            sessions[session]?.removeAll { $0 == hash }
        }

        mutating func forgetTickets(expiredAt limit: Int64) {
            tickets = tickets.filter { $0.value.ticket.expires > limit }
            sessions = sessions.compactMapValues { hashes in
                let left = hashes.filter { tickets[$0] != nil }
                return left.isEmpty ? nil : left
            }
        }
    }

    private let keys = MemoryKeyRegistry()
    private let state: Mutex<State>

    /// - Parameter began: Unix milliseconds. The store's clock stands there.
    package init(_ incarnation: StoreIncarnation, began: Int64 = 0) {
        state = Mutex(State(incarnation: incarnation, began: began))
    }

    /// As a crash does that has lost all but the keys.
    package func begin(_ incarnation: StoreIncarnation, at time: Int64 = 0) {
        state.withLock { $0 = State(incarnation: incarnation, began: time) }
    }

    package func present(then: @escaping @Sendable (Result<StorePresent, KeyRegistryError>) -> Void) {
        let state = state.withLock { $0 }
        then(.success(StorePresent(incarnation: state.incarnation, began: state.began, time: state.began)))
    }

    package func standing(
        of id: KeyID, then: @escaping @Sendable (Result<KeyStanding?, KeyRegistryError>) -> Void
    ) { then(.success(keys.standing(of: id))) }

    package func admit(
        _ use: AssertionUse, in incarnation: StoreIncarnation,
        then: @escaping @Sendable (Result<AssertionSpending, KeyRegistryError>) -> Void
    ) {
        let spending = spent(use.mark, in: incarnation)
        guard spending == .spent else { return then(.success(.refused(spending))) }
        let advance = keys.use(use.use, of: use.key, at: use.time)
        then(.success(advance == .advanced ? .admitted : .notAdvanced(advance)))
    }

    package func spend(
        _ mark: SingleUseMark, in incarnation: StoreIncarnation,
        then: @escaping @Sendable (Result<MarkSpending, KeyRegistryError>) -> Void
    ) { then(.success(spent(mark, in: incarnation))) }

    private func spent(_ mark: SingleUseMark, in incarnation: StoreIncarnation) -> MarkSpending {
        state.withLock { state in
            let name = Name(kind: mark.kind, bytes: mark.bytes)
            guard state.incarnation == incarnation else { return .foreign }
            guard mark.expires > state.forgotten else { return .expired }
            guard state.marks[name] == nil else { return .alreadySpent }
            guard !state.isFull else { return .full }
            state.marks[name] = mark.expires
            return .spent
        }
    }

    package func keep(
        _ ticket: SealedTicket, uses: Int, in incarnation: StoreIncarnation,
        then: @escaping @Sendable (Result<MarkSpending, KeyRegistryError>) -> Void
    ) {
        then(.success(state.withLock { $0.keep(ticket, uses: uses, in: incarnation) }))
    }

    package func keep(
        _ ticket: KeptTicket, in incarnation: StoreIncarnation,
        then: @escaping @Sendable (Result<MarkSpending, KeyRegistryError>) -> Void
    ) {
        then(.success(state.withLock { $0.keep(ticket, in: incarnation) }))
    }

    package func shortenTickets(
        ofSession session: SessionMark, to time: Int64,
        then: @escaping @Sendable (Result<Void, KeyRegistryError>) -> Void
    ) {
        state.withLock { $0.shorten(session, to: time) }
        then(.success(()))
    }

    package func giveBack(
        _ ticket: SealedTicket, in incarnation: StoreIncarnation,
        then: @escaping @Sendable (Result<MarkSpending, KeyRegistryError>) -> Void
    ) {
        let outcome = state.withLock { state -> MarkSpending in
            guard state.incarnation == incarnation, state.tickets[ticket.hash] != nil else {
                return state.keep(ticket, uses: 1, in: incarnation)
            }
            state.tickets[ticket.hash]?.uses += 1
            return .spent
        }
        then(.success(outcome))
    }

    package func takeTicket(
        hash: [UInt8], at time: Int64, in incarnation: StoreIncarnation,
        then: @escaping @Sendable (Result<TakenTicket?, KeyRegistryError>) -> Void
    ) {
        let taken = state.withLock { state -> TakenTicket? in
            guard state.incarnation == incarnation, let (ticket, uses, session) = state.tickets[hash] else {
                return nil
            }
            state.tickets[hash] = uses > 1 ? (ticket, uses - 1, session) : nil
            if let session {
                for other in state.sessions.removeValue(forKey: session) ?? [] { state.tickets[other] = nil }
            }
            return ticket.expires > time ? TakenTicket(ticket, remaining: uses - 1) : nil
        }
        then(.success(taken))
    }

    package func discardTicket(hash: [UInt8], then: @escaping @Sendable (Result<Void, KeyRegistryError>) -> Void) {
        state.withLock { $0.discard(hash) }
        then(.success(()))
    }

    package func forgetMarks(expiredAt time: Int64, maximum: Int) {
        state.withLock { state in
            let limit = max(state.forgotten, time)
            state.forgotten = limit
            state.marks = state.marks.filter { $0.value > limit }
            state.forgetTickets(expiredAt: limit)
            state.isFull = state.marks.count + state.tickets.count > maximum
        }
    }
}

// MARK: Keys

extension MemorySharedRegistry {
    package func enrol(_ key: DeviceKey) -> Enrolment { keys.enrol(key) }
    package func key(_ id: KeyID) -> DeviceKey? { keys.key(id) }
    package func standing(of id: KeyID) -> KeyStanding? { keys.standing(of: id) }
    package func advanceCounter(of id: KeyID, to counter: UInt32, at time: Int64) -> CounterAdvance {
        keys.advanceCounter(of: id, to: counter, at: time)
    }
    package func use(_ counter: CounterUse, of id: KeyID, at time: Int64) -> CounterAdvance {
        keys.use(counter, of: id, at: time)
    }
    package func keys(after: KeyID?, limit: Int) -> [DeviceKey] { keys.keys(after: after, limit: limit) }
    package func revoke(_ id: KeyID, reason: String, at time: Int64) -> Bool {
        keys.revoke(id, reason: reason, at: time)
    }
    package func restore(_ id: KeyID) -> Bool { keys.restore(id) }
    package func forget(_ id: KeyID) -> Forgetting { keys.forget(id) }
}
