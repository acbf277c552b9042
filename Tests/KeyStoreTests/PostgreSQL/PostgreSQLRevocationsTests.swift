import KeyStore
import KeyStorePostgreSQL
import PostgreSQL
import PostgreSQLTestKit
import Testing

@Suite("What other gateways changed in a fleet's store")
struct PostgreSQLRevocationsTests {
    private let database: FleetDatabase
    private let other: PostgreSQLKeyRegistry
    private let feed: PostgreSQLRevocations

    init() async throws {
        database = try await FleetDatabase()
        other = try database.anotherRegistry()
        feed = PostgreSQLRevocations(of: database.registry)
        for number in UInt8(1)...4 { _ = try await other.enrol(.sample(number)) }
    }

    @Test func `is reported once`() async throws {
        #expect(try await feed.ifChanged() == StoreRevocations())
        #expect(try await feed.ifChanged() == nil)
        _ = try await other.revoke(.sample(2), reason: "lost", at: 1)
        #expect(try await feed.ifChanged()?.keys == [.sample(2)])
        #expect(try await feed.ifChanged() == nil)
        _ = try await other.revoke(.sample(3), reason: "lost", at: 0)
        _ = try await other.restore(.sample(2))
        #expect(try await feed.ifChanged()?.keys == [.sample(3)])
        // Counters and registrations are no changes.
        _ = try await other.advanceCounter(of: .sample(1), to: 9, at: 1)
        _ = try await other.enrol(.sample(5))
        #expect(try await feed.ifChanged() == nil)
    }

    @Test func `includes erasures, tokens and signing keys`() async throws {
        _ = try await feed.ifChanged()
        #expect(try await other.beginErasure(of: .sample(1), at: 5))
        #expect(try await feed.ifChanged()?.keys == [.sample(1)])
        #expect(try await other.finishErasure(of: .sample(1)) == Erasure(key: .removed, places: 0))
        #expect(try await feed.ifChanged()?.keys == [])
        let token = DevelopmentToken.sample(2)
        _ = try await other.issue(token)
        #expect(try await feed.ifChanged()?.grants == [])
        _ = try await other.revoke(token.id, at: 5)
        #expect(try await feed.ifChanged()?.grants == [token.grant.id])
        let keys = StoredSigningKeys(keys: [], revoked: [.init(id: "old", revokedAt: 1)])
        #expect(try other.replaceSigningKeys(StoredSigningKeys(), with: keys))
        #expect(try await feed.ifChanged()?.signingKeys == keys)
    }

    @Test func `is complete after more changes than one answer has`() async throws {
        _ = try await feed.ifChanged()
        for _ in 0..<600 {
            _ = try await other.revoke(.sample(1), reason: "lost", at: 1)
            _ = try await other.restore(.sample(1))
        }
        _ = try await other.revoke(.sample(4), reason: "lost", at: 1)
        #expect(try await feed.ifChanged()?.keys == [.sample(4)])
        #expect(try await feed.ifChanged() == nil)
    }

    @Test func `is read again as a whole after entries were forgotten, or the store may have gone back`() async throws {
        _ = try await feed.ifChanged()
        _ = try await other.revoke(.sample(1), reason: "lost", at: 1)
        try database.session().run(
            "DELETE FROM portcullis.changes; UPDATE portcullis.feed SET forgotten_through = 1000")
        #expect(try await feed.ifChanged()?.keys == [.sample(1)])
        #expect(try await feed.ifChanged() == nil)
        // As on a standby that hadn't got the last changes.
        try database.session().run(
            "DELETE FROM portcullis.home; UPDATE portcullis.device_key SET revoked_at = NULL, revocation_reason = NULL")
        #expect(try await feed.ifChanged()?.keys == [])
    }

    @Test func `misses none of many that are committed at once`() async throws {
        for number in UInt8(1)...200 { _ = try await other.enrol(.sample(number)) }
        _ = try await feed.ifChanged()
        let stores = try (0..<4).map { _ in try database.anotherRegistry() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in UInt8(1)...200 {
                group.addTask { _ = try await stores[Int(number) % 4].revoke(.sample(number), reason: "lost", at: 1) }
            }
            var seen: Set<KeyID> = []
            while seen.count < 200 {
                if let changed = try await feed.ifChanged() { seen = changed.keys }
                try Task.checkCancellation()
            }
            try await group.waitForAll()
        }
        #expect(try await feed.ifChanged() == nil)
    }

    @Test func `is announced by a notification`() async throws {
        let notices = Notices()
        var options = database.options
        options.channel = PostgreSQLKeyRegistry.channel
        let listener = try FleetDatabase.registry(options) { if $0 == .notified { notices.add() } }
        _ = try await eventually { notices.count > 0 ? true : nil }
        let before = notices.count
        _ = try await other.revoke(.sample(1), reason: "lost", at: 1)
        _ = try await eventually { notices.count > before ? true : nil }
        withExtendedLifetime(listener) {}
    }
}
