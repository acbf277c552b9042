import Synchronization

/// The reference: the directory of a fleet whose gateways are in one process. For tests.
package final class MemorySessionDirectory: SharedSessionDirectory {
    private let gateways = Mutex<[SessionMark: String]>([:])

    package init() {}

    package func note(
        _ changes: SessionChanges, of gateway: String,
        then: @escaping @Sendable (Result<Void, KeyRegistryError>) -> Void
    ) {
        gateways.withLock { gateways in
            for mark in changes.ended where gateways[mark] == gateway { gateways[mark] = nil }
            for mark in changes.began { gateways[mark] = gateway }
        }
        then(.success(()))
    }

    package func gateway(
        of mark: SessionMark, then: @escaping @Sendable (Result<String?, KeyRegistryError>) -> Void
    ) {
        then(.success(gateways.withLock { $0[mark] }))
    }

    package func forgetSessions(of gateway: String) async throws(KeyRegistryError) {
        gateways.withLock { $0 = $0.filter { $0.value != gateway } }
    }
}
