import Admission
import KeyStore
import KeyStoreSQLite

/// The key store that a gateway serves from: a file of its own, or the database of a fleet.
enum GatewayStore: Sendable {
    case file(SQLiteKeyRegistry)
    case fleet(FleetStore)

    var keys: any KeyMaintenance {
        switch self {
        case .file(let store): store
        case .fleet(let store): store.registry
        }
    }

    var devices: DeviceRegistry {
        switch self {
        case .file(let store): .immediate(store)
        case .fleet(let store): .shared(store.fleet)
        }
    }

    /// Its calls block.
    var signingKeys: any SigningKeyStore {
        switch self {
        case .file(let store): store.tokenStore
        case .fleet(let store): store.registry
        }
    }

    var developmentTokens: any DevelopmentTokenStore & ImmediateDevelopmentTokenRegistry {
        switch self {
        case .file(let store): store
        case .fleet(let store): store.grants
        }
    }

    /// Nil: alone.
    var fleet: FleetStore? {
        guard case .fleet(let store) = self else { return nil }
        return store
    }

    func revocations() throws(KeyRegistryError) -> any RevocationSource {
        switch self {
        case .file(let store): try SQLiteRevocations(of: store)
        case .fleet(let store): FleetFeed(store)
        }
    }

    /// Commits a write that changes nothing; durable when it returns.
    func tryWriting() async throws(KeyRegistryError) {
        switch self {
        case .file(let store): try await store.tryWriting()
        case .fleet(let store): try await store.registry.tryWriting()
        }
    }

    /// Regularly: moves the write-ahead log into the file, or has the database forget what has expired.
    func maintain() async throws(KeyRegistryError) {
        switch self {
        case .file(let store): try await store.checkpoint()
        case .fleet(let store): try await store.forgetExpired()
        }
    }

    var queueLengths: [(name: String, count: Int)] {
        switch self {
        case .file(let store): store.queueLengths
        case .fleet(let store): [("postgresql", store.registry.waitingCalls)]
        }
    }

    func failure(_ reason: String) -> GatewayError {
        switch self {
        case .file(let store): .store(path: store.path, reason)
        case .fleet(let store): .fleetStore(store.name, reason)
        }
    }
}
