import KeyStore
import Synchronization

@testable import Admission

/// The next tickets of a gateway alone, in memory; it answers at once, and may fail.
final class FallibleTickets: KeptTicketStore {
    enum Call: CaseIterable { case keep, find, use }

    private struct State {
        var store = MemoryKeptTickets(maximum: 100_000)
        var failures: [Call: KeyRegistryError] = [:]
        var kept: [KeptTicket] = []
    }

    private let state = Mutex(State())

    var count: Int { state.withLock { $0.store.count } }
    /// All that were ever kept.
    var tickets: [KeptTicket] { state.withLock { $0.kept } }

    /// - Parameter call: nil: every call.
    func fail(with error: KeyRegistryError?, at call: Call? = nil) {
        state.withLock { state in
            state.failures = [:]
            for each in call.map({ [$0] }) ?? Call.allCases { state.failures[each] = error }
        }
    }

    /// As somebody who writes to the store.
    func replace(_ ticket: KeptTicket?) {
        let store = MemoryKeptTickets(maximum: 100_000)
        if let ticket { store.keep(ticket) { _ in } }
        state.withLock { $0.store = store }
    }

    private func answer<Value: Sendable>(
        _ call: Call, _ then: @escaping @Sendable (Result<Value, KeyRegistryError>) -> Void,
        _ body: (MemoryKeptTickets) -> Void
    ) {
        let (failure, store) = state.withLock { ($0.failures[call], $0.store) }
        if let failure { return then(.failure(failure)) }
        body(store)
    }

    func keep(_ ticket: KeptTicket, then: @escaping @Sendable (Result<MarkSpending, KeyRegistryError>) -> Void) {
        answer(.keep, then) { store in
            state.withLock { $0.kept.append(ticket) }
            store.keep(ticket, then: then)
        }
    }

    func find(
        hash: [UInt8], at time: Int64, then: @escaping @Sendable (Result<KeptTicket?, KeyRegistryError>) -> Void
    ) { answer(.find, then) { $0.find(hash: hash, at: time, then: then) } }

    func use(hash: [UInt8], then: @escaping @Sendable (Result<Bool, KeyRegistryError>) -> Void) {
        answer(.use, then) { $0.use(hash: hash, then: then) }
    }

    func discard(hash: [UInt8]) { state.withLock { $0.store }.discard(hash: hash) }
    func shorten(ofSession session: SessionMark, to time: Int64) {
        state.withLock { $0.store }.shorten(ofSession: session, to: time)
    }
    func forget(expiredAt time: Int64) { state.withLock { $0.store }.forget(expiredAt: time) }
}

extension PrincipalCarrier {
    /// Of a gate in which nothing is configured.
    static var ofAll: PrincipalCarrier {
        Gate(GateSettings(drain: DrainSwitch(), leases: SessionLeases(maximum: 1), methods: GateSettings.unconfigured))
            .carrier
    }
}
