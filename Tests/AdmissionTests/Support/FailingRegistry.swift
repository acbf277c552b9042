import KeyStore
import KeyStoreTestKit
import Synchronization

/// A store that fails on demand, and records the calls. Otherwise it forwards to the store that it wraps.
final class FailingRegistry: KeyRegistry, ImmediateKeyRegistry {
    enum Operation: Hashable, Sendable { case enrol, look, advance }

    private let registry: MemoryKeyRegistry
    private let failures: [Operation: KeyRegistryError]
    private let asked = Mutex<[Operation]>([])
    /// Runs before a counter is advanced, to simulate a concurrent request.
    private let beforeAdvance: @Sendable () -> Void

    init(
        _ registry: MemoryKeyRegistry, failing failures: [Operation: KeyRegistryError] = [:],
        beforeAdvance: @escaping @Sendable () -> Void = {}
    ) {
        self.registry = registry
        self.failures = failures
        self.beforeAdvance = beforeAdvance
    }

    var operations: [Operation] { asked.withLock { $0 } }

    private func begin(_ operation: Operation) throws(KeyRegistryError) {
        asked.withLock { $0.append(operation) }
        if let failure = failures[operation] { throw failure }
    }

    func enrol(_ key: DeviceKey) throws(KeyRegistryError) -> Enrolment {
        try begin(.enrol)
        return registry.enrol(key)
    }

    func key(_ id: KeyID) throws(KeyRegistryError) -> DeviceKey? {
        try begin(.look)
        return registry.key(id)
    }

    func standing(of id: KeyID) throws(KeyRegistryError) -> KeyStanding? {
        try begin(.look)
        return registry.standing(of: id)
    }

    func advanceCounter(of id: KeyID, to counter: UInt32, at time: Int64) throws(KeyRegistryError) -> CounterAdvance {
        try begin(.advance)
        beforeAdvance()
        return registry.advanceCounter(of: id, to: counter, at: time)
    }

    func use(_ counter: CounterUse, of id: KeyID, at time: Int64) throws(KeyRegistryError) -> CounterAdvance {
        try begin(.advance)
        beforeAdvance()
        return registry.use(counter, of: id, at: time)
    }

    func keys(after: KeyID?, limit: Int) -> [DeviceKey] { registry.keys(after: after, limit: limit) }
    func revoke(_ id: KeyID, reason: String, at time: Int64) -> Bool { registry.revoke(id, reason: reason, at: time) }
    func restore(_ id: KeyID) -> Bool { registry.restore(id) }
    func forget(_ id: KeyID) -> Forgetting { registry.forget(id) }
}
