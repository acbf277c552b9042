import KeyStore
import PostgreSQL
import PostgreSQLTestKit
import Synchronization
import Testing

@testable import KeyStorePostgreSQL

@Suite("The calls of a fleet's store")
struct PostgreSQLObserverTests {
    private final class Heard: Sendable {
        let calls = Mutex<[(operation: StoreObserver.Operation, error: KeyRegistryError?)]>([])

        func take(_ operation: StoreObserver.Operation, _ error: KeyRegistryError?) {
            calls.withLock { $0.append((operation, error)) }
        }

        /// And forgets them.
        func all() -> [StoreObserver.Operation] {
            calls.withLock { calls in
                defer { calls = [] }
                return calls.map(\.operation)
            }
        }
    }

    @Test func `are told with their ends`() async throws {
        let database = try await FleetDatabase()
        let heard = Heard()
        let sealing = try #require(SealedSecrets(keys: [FleetDatabase.secretKey]))
        let store = PostgreSQLKeyRegistry(
            PostgreSQLDriver(database.options), sealing: sealing,
            observer: StoreObserver(now: { 7 }) { operation, nanoseconds, error in
                #expect(nanoseconds == 0)
                heard.take(operation, error)
            })
        let home = try await store.incarnation()
        #expect(heard.all() == [.gate])
        #expect(try await store.spend(.sample(2, .tokenProof), in: home) == .spent)
        #expect(heard.all() == [.gate])
        #expect(try await store.enrol(.sample(1)) == .enrolled)
        #expect(heard.all() == [.administer])
        _ = try await store.revokedGrants()
        #expect(heard.all() == [.read])
        #expect(try store.signingKeys() == StoredSigningKeys())
        #expect(heard.all() == [.read])
        #expect(heard.calls.withLock { $0.isEmpty })
        store.close()
        await #expect(throws: KeyRegistryError.self) { try await store.incarnation() }
        #expect(heard.calls.withLock { $0.map(\.error) } == [.busy])
    }
}
