import KeyStore
import KeyStorePostgreSQL
import KeyStoreSQLite
import Testing

/// What a gateway that admits a device hears of its account.
@Suite("The standing of a device's key")
struct DeviceStandingTests {
    private func store(
        _ kind: AccountStoreKind
    ) async throws -> (store: any AccountStore & KeyRegistry, owner: AnyObject) {
        guard kind == .sqlite else {
            let database = try await FleetDatabase()
            return (database.registry, database)
        }
        let directory = try TemporaryDirectory()
        return (try SQLiteKeyRegistry(path: directory.file("keys.sqlite"), limits: .patient), directory)
    }

    @Test(arguments: [AccountStoreKind.sqlite, .postgresql])
    func `has the account that it has joined, until that ends`(kind: AccountStoreKind) async throws {
        let (store, owner) = try await store(kind)
        for byte in 1...UInt8(2) {
            _ = try await store.enrol(.sample(byte))
            _ = try await store.begin(.sample(byte), maximum: 9)
        }
        func accounts() async throws -> [AccountID?] {
            [try await store.standing(of: .sample(1))?.account, try await store.standing(of: .sample(2))?.account]
        }
        #expect(try await accounts() == [nil, nil])
        for byte in 1...UInt8(2) { _ = try await store.join(.sample(byte), to: .sample(byte)) }
        #expect(try await accounts() == [.sample(1), .sample(2)])
        if let immediate = store as? any ImmediateKeyRegistry {
            #expect(try immediate.standing(of: .sample(2))?.account == .sample(2))
        }
        #expect(try await store.close(.sample(1), at: 5))
        #expect(try await accounts() == [nil, .sample(2)])
        #expect(try await store.remove(device: .sample(2), of: .sample(2), at: 5))
        #expect(try await accounts() == [nil, nil])
        withExtendedLifetime(owner) {}
    }

    /// What gateways remember of keys is forgotten with it.
    @Test func `is told to a fleet as changed when an account is closed or removed`() async throws {
        let database = try await FleetDatabase()
        let (store, feed) = (database.registry, database.registry.makeFeed())
        for byte in 1...UInt8(2) {
            _ = try await store.enrol(.sample(byte))
            _ = try await store.begin(.sample(byte), maximum: 9)
        }
        _ = try await feed.news()
        _ = try await store.join(.sample(1), to: .sample(1))
        #expect(try await feed.news()?.keys == [.sample(1)])
        _ = try await store.join(.sample(2), to: .sample(2))
        _ = try await feed.news()
        _ = try await store.close(.sample(1), at: 5)
        let closed = try #require(try await feed.news())
        #expect(closed.keys == [.sample(1)] && closed.accounts == [.sample(1)])
        #expect(closed.revocations?.accounts == [.sample(1)])
        _ = try await store.forget(.sample(2), at: 5)
        let gone = try #require(try await feed.news())
        #expect(gone.keys == [.sample(2)] && gone.accounts == [.sample(2)])
    }

    @Test func `is told with the account when a passkey is added or removed`() async throws {
        let database = try await FleetDatabase()
        let (store, feed) = (database.registry, database.registry.makeFeed())
        _ = try await store.begin(.sample(1), maximum: 9)
        _ = try await feed.news()
        _ = try await store.add(.sample(11), to: .sample(1))
        #expect(try await feed.news()?.accounts == [.sample(1)])
        _ = try await store.remove(.sample(11), of: .sample(1), at: 5)
        let news = try #require(try await feed.news())
        #expect(news.accounts == [.sample(1)] && news.revocations?.passkeys == [.sample(11)] && news.keys == [])
    }
}
