import KeyStore
import KeyStoreTestKit
import Synchronization

@testable import Admission

/// The store of a fleet, in memory: it does everything at once, but may fail, or answer later, or crash.
final class SharedStore: SharedKeyRegistry {
    enum Operation: Hashable, Sendable, CaseIterable { case incarnation, look, admit, spend, keep, take }

    private struct State {
        var store: MemorySharedRegistry
        var failures: [Operation: KeyRegistryError] = [:]
        /// These are done, but answered only when ``answer()`` is called.
        var held: Set<Operation> = []
        var answers: [@Sendable () -> Void] = []
        var asked: [Operation] = []
    }

    private let state: Mutex<State>

    init() { state = Mutex(State(store: MemorySharedRegistry(Self.incarnation(1)))) }

    /// What a gateway learns: an incarnation that has begun at `moment`, which is the present.
    static func present(_ number: UInt8, at moment: Moment = start) -> StorePresent {
        StorePresent(
            incarnation: incarnation(number), began: moment.unixMilliseconds, time: moment.unixMilliseconds)
    }

    static func incarnation(_ number: UInt8) -> StoreIncarnation {
        guard let incarnation = StoreIncarnation(bytes: [UInt8](repeating: number, count: 32)) else {
            fatalError("32 bytes are an incarnation")
        }
        return incarnation
    }

    var asked: [Operation] { state.withLock { $0.asked } }
    private var store: MemorySharedRegistry { state.withLock { $0.store } }

    func fail(_ operations: [Operation], with error: KeyRegistryError?) {
        state.withLock { state in for operation in operations { state.failures[operation] = error } }
    }

    func hold(_ operations: Set<Operation>) { state.withLock { $0.held = operations } }

    /// Answers what is held, and holds what the answers cause.
    func answer() {
        let answers = state.withLock { state in
            defer { state.answers = [] }
            return state.answers
        }
        for answer in answers { answer() }
    }

    /// Begins another incarnation without marks and tickets, and with the counters of an earlier moment.
    func crash(_ incarnation: StoreIncarnation, at moment: Moment = start, counters: [KeyID: UInt32] = [:]) {
        let next = MemorySharedRegistry(incarnation, began: moment.unixMilliseconds)
        for var key in store.keys(after: nil, limit: .max) {
            key.counter = counters[key.id] ?? key.counter
            _ = next.enrol(key)
        }
        state.withLock { $0.store = next }
    }

    private func perform<Value: Sendable>(
        _ operation: Operation, then: @escaping @Sendable (Result<Value, KeyRegistryError>) -> Void,
        _ call: (MemorySharedRegistry, @escaping @Sendable (Result<Value, KeyRegistryError>) -> Void) -> Void
    ) {
        let (store, failure) = state.withLock { state in
            state.asked.append(operation)
            return (state.store, state.failures[operation])
        }
        if let failure { return deliver(operation) { then(.failure(failure)) } }
        call(store) { result in self.deliver(operation) { then(result) } }
    }

    private func deliver(_ operation: Operation, _ answer: @escaping @Sendable () -> Void) {
        let isHeld = state.withLock { state in
            guard state.held.contains(operation) else { return false }
            state.answers.append(answer)
            return true
        }
        if !isHeld { answer() }
    }
}

extension SharedStore {
    func present(then: @escaping @Sendable (Result<StorePresent, KeyRegistryError>) -> Void) {
        perform(.incarnation, then: then) { $0.present(then: $1) }
    }

    func standing(of id: KeyID, then: @escaping @Sendable (Result<KeyStanding?, KeyRegistryError>) -> Void) {
        perform(.look, then: then) { $0.standing(of: id, then: $1) }
    }

    func admit(
        _ use: AssertionUse, in incarnation: StoreIncarnation,
        then: @escaping @Sendable (Result<AssertionSpending, KeyRegistryError>) -> Void
    ) { perform(.admit, then: then) { $0.admit(use, in: incarnation, then: $1) } }

    func spend(
        _ mark: SingleUseMark, in incarnation: StoreIncarnation,
        then: @escaping @Sendable (Result<MarkSpending, KeyRegistryError>) -> Void
    ) { perform(.spend, then: then) { $0.spend(mark, in: incarnation, then: $1) } }

    func keep(
        _ ticket: SealedTicket, uses: Int, in incarnation: StoreIncarnation,
        then: @escaping @Sendable (Result<MarkSpending, KeyRegistryError>) -> Void
    ) { perform(.keep, then: then) { $0.keep(ticket, uses: uses, in: incarnation, then: $1) } }

    func keep(
        _ ticket: KeptTicket, in incarnation: StoreIncarnation,
        then: @escaping @Sendable (Result<MarkSpending, KeyRegistryError>) -> Void
    ) { perform(.keep, then: then) { $0.keep(ticket, in: incarnation, then: $1) } }

    func shortenTickets(
        ofSession session: SessionMark, to time: Int64,
        then: @escaping @Sendable (Result<Void, KeyRegistryError>) -> Void
    ) { perform(.keep, then: then) { $0.shortenTickets(ofSession: session, to: time, then: $1) } }

    func giveBack(
        _ ticket: SealedTicket, in incarnation: StoreIncarnation,
        then: @escaping @Sendable (Result<MarkSpending, KeyRegistryError>) -> Void
    ) { perform(.keep, then: then) { $0.giveBack(ticket, in: incarnation, then: $1) } }

    func discardTicket(hash: [UInt8], then: @escaping @Sendable (Result<Void, KeyRegistryError>) -> Void) {
        perform(.take, then: then) { $0.discardTicket(hash: hash, then: $1) }
    }

    func takeTicket(
        hash: [UInt8], at time: Int64, in incarnation: StoreIncarnation,
        then: @escaping @Sendable (Result<TakenTicket?, KeyRegistryError>) -> Void
    ) { perform(.take, then: then) { $0.takeTicket(hash: hash, at: time, in: incarnation, then: $1) } }

    func forgetMarks(expiredAt time: Int64, maximum: Int) { store.forgetMarks(expiredAt: time, maximum: maximum) }

    func standing(of id: KeyID) async throws(KeyRegistryError) -> KeyStanding? {
        if let failure = state.withLock({ $0.failures[.look] }) { throw failure }
        return store.standing(of: id)
    }
    func advanceCounter(of id: KeyID, to counter: UInt32, at time: Int64) -> CounterAdvance {
        store.advanceCounter(of: id, to: counter, at: time)
    }
    func use(_ counter: CounterUse, of id: KeyID, at time: Int64) -> CounterAdvance {
        store.use(counter, of: id, at: time)
    }
    func enrol(_ key: DeviceKey) -> Enrolment { store.enrol(key) }
    func key(_ id: KeyID) -> DeviceKey? { store.key(id) }
    func keys(after: KeyID?, limit: Int) -> [DeviceKey] { store.keys(after: after, limit: limit) }
    func revoke(_ id: KeyID, reason: String, at time: Int64) -> Bool { store.revoke(id, reason: reason, at: time) }
    func restore(_ id: KeyID) -> Bool { store.restore(id) }
    func forget(_ id: KeyID) -> Forgetting { store.forget(id) }
}
