import KeyStore
import KeyStorePostgreSQL
import PostgreSQL
import PostgreSQLTestKit
import Synchronization
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

    @Test func `goes on beside a signing key that can't be read`() async throws {
        let key = StoredSigningKey(id: "good", secret: [1], publishedAt: 1, signsFrom: 1)
        #expect(try other.replaceSigningKeys(StoredSigningKeys(), with: StoredSigningKeys(keys: [key])))
        try database.session().run("INSERT INTO portcullis.signing_key VALUES ('strange', '\\x0102', 1, 1, NULL)")
        _ = try await other.revoke(.sample(1), reason: "lost", at: 1)
        let news = try #require(try await feed.news())
        #expect(news.revocations?.keys == [.sample(1)] && news.unreadableSigningKeys == 1)
        #expect(news.revocations?.signingKeys.keys.map(\.id) == ["good"])
        try database.session().run("SELECT portcullis.note(3, ''::bytea)")
        _ = try await other.revoke(.sample(2), reason: "lost", at: 1)
        let later = try #require(try await feed.news())
        #expect(later.revocations?.keys == [.sample(1), .sample(2)] && later.unreadableSigningKeys == 1)
        try database.session().run("DELETE FROM portcullis.signing_key; SELECT portcullis.note(3, ''::bytea)")
        let last = try #require(try await feed.news())
        #expect(last.unreadableSigningKeys == 0 && last.revocations?.signingKeys.keys.isEmpty == true)
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

    /// The feed of a role that may not read the tokens, and what gives it that right.
    private func limitedFeed() async throws -> (PostgreSQLRevocations, allow: () throws -> Void) {
        let (session, role) = (try database.session(), "limited_\(database.name)")
        // Makes the row of this database, which is a copy.
        _ = try await other.incarnation()
        try session.run(
            """
            CREATE ROLE \(role) LOGIN; GRANT USAGE ON SCHEMA portcullis TO \(role);
            GRANT SELECT ON ALL TABLES IN SCHEMA portcullis TO \(role)
            """)
        var options = database.options
        options.parameters["user"] = role
        let feed = PostgreSQLRevocations(of: try FleetDatabase.registry(options))
        #expect(try await feed.news()?.keys == .some(nil))
        try session.run("REVOKE SELECT ON portcullis.development_token FROM \(role)")
        return (feed, { try session.run("GRANT SELECT ON portcullis.development_token TO \(role)") })
    }

    @Test func `comes with the store's present, also before an error`() async throws {
        let (feed, allow) = try await limitedFeed()
        let before = try await other.present()
        let present = Mutex(StorePresent?.none)
        _ = try await other.issue(.sample(2))
        await #expect(throws: KeyRegistryError.self) {
            try await feed.news { answer in present.withLock { $0 = answer } }
        }
        let answered = try #require(present.withLock { $0 })
        #expect(answered.incarnation == before.incarnation && answered.began == before.began)
        let after = try await other.present()
        #expect((before.time...after.time).contains(answered.time))
        try allow()
        let news = try await feed.news { answer in present.withLock { $0 = answer } }
        #expect(news?.changesTokens == true)
        #expect(present.withLock { $0?.time ?? 0 } >= answered.time)
    }

    @Test func `makes the incarnation if there is none`() async throws {
        _ = try await feed.news()
        let before = try await other.present()
        try database.session().run("TRUNCATE portcullis.home")
        let first = Mutex([StorePresent]())
        // Everything is read again, and then the feed once more; the present is that of the first reading.
        let news = try #require(try await feed.news { answer in first.withLock { $0.append(answer) } })
        #expect(news.keys == nil)
        let answers = first.withLock { $0 }
        let after = try await other.present()
        #expect(answers.count == 1 && answers.first?.incarnation == after.incarnation)
        #expect(answers.first?.began == after.began && after.incarnation != before.incarnation)
        #expect(answers.first.map { $0.began <= $0.time } == true)
    }

    @Test func `is told after an error, without everything being read again`() async throws {
        let token = DevelopmentToken.sample(2)
        _ = try await other.issue(token)
        let (feed, allow) = try await limitedFeed()
        for _ in 0..<600 {
            _ = try await other.revoke(.sample(1), reason: "lost", at: 1)
            _ = try await other.restore(.sample(1))
        }
        // The first thousand can be read.
        _ = try await other.revoke(token.id, at: 5)
        _ = try await other.revoke(.sample(3), reason: "lost", at: 1)
        for _ in 0..<2 { await #expect(throws: KeyRegistryError.self) { try await feed.news() } }
        _ = try await other.revoke(.sample(4), reason: "lost", at: 1)
        try allow()
        let news = try #require(try await feed.news())
        // All keys by name: nil would stand for everything.
        #expect(news.keys == [.sample(1), .sample(3), .sample(4)] && news.changesTokens && !news.changesBlockList)
        #expect(news.revocations?.keys == [.sample(3), .sample(4)])
        #expect(news.revocations?.grants == [token.grant.id])
        #expect(try await feed.ifChanged() == nil)
    }

    @Test func `isn't told by name if there are too many that wait`() throws {
        let several = try (0...StoreNews.maximumKeys).map { number in
            let last = [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]
            return try #require(KeyID(bytes: [UInt8](repeating: 0, count: 30) + last))
        }
        var news = StoreNews(keys: Set(several.dropLast()))
        #expect(news.keys?.count == StoreNews.maximumKeys)
        news.add(StoreNews(keys: Set(several.suffix(1))))
        #expect(news.keys == nil)
        news.add(StoreNews(keys: [.sample(1)]))
        #expect(news.keys == nil)
    }

    @Test func `isn't told of accounts by name if there are too many that wait`() throws {
        var news = StoreNews()
        for number in 0..<StoreNews.maximumKeys {
            let last = [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]
            news.noteAccount(try #require(AccountID(bytes: [UInt8](repeating: 0, count: 14) + last)))
        }
        #expect(news.accounts?.count == StoreNews.maximumKeys && news.keys == [])
        var later = StoreNews()
        later.noteAccount(.sample(9))
        news.add(later)
        #expect(news.accounts == nil && news.keys == [])
        later.add(news)
        #expect(later.accounts == nil)
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

/// A change and its entry in the feed are one transaction: without the entry there is no change.
@Suite("The feed of a fleet's store")
struct PostgreSQLFeedTests {
    private let database: FleetDatabase
    private let store: PostgreSQLKeyRegistry
    private let token = DevelopmentToken.sample()

    init() async throws {
        database = try await FleetDatabase()
        store = database.registry
        for key in UInt8(1)...8 { _ = try await store.enrol(.sample(key)) }
        _ = try await store.revoke(.sample(2), reason: "lost", at: 1)
        _ = try await store.beginErasure(of: .sample(3), at: 1)
        _ = try await store.issue(token)
    }

    /// What an operator's commands do, each on a key of its own.
    private var commands: [(name: String, run: @Sendable () async throws -> Void)] {
        let (store, token) = (store, token)
        return [
            ("revoke", { _ = try await store.revoke(.sample(1), reason: "lost", at: 2) }),
            ("restore", { _ = try await store.restore(.sample(2)) }),
            ("erase, the second step", { _ = try await store.finishErasure(of: .sample(3)) }),
            ("erase, the first step", { _ = try await store.beginErasure(of: .sample(4), at: 2) }),
            ("forget", { _ = try await store.forget(.sample(5)) }),
            ("prune", { _ = try await store.prune([.sample(6), .sample(7)], idleSince: .max) }),
            ("issue", { _ = try await store.issue(.sample(2)) }),
            ("revoke a token", { _ = try await store.revoke(token.id, at: 1_100) }),
            (
                "replace signing keys",
                {
                    let keys = StoredSigningKeys(revoked: [.init(id: "old", revokedAt: 1)])
                    _ = try store.replaceSigningKeys(StoredSigningKeys(), with: keys)
                }
            ),
        ]
    }

    private func content() async throws -> [String] {
        let keys = try await store.keys(after: nil, limit: 99).map { "\($0)" }
        let tokens = try await store.developmentTokens().map { "\($0)" }
        return keys + tokens + ["\(try store.signingKeys())"]
    }

    private func subjects() throws -> [[UInt8]] {
        try database.session().run("SELECT subject FROM portcullis.changes ORDER BY seq", []).map {
            row throws(DatabaseError) in try row.bytes(0)
        }
    }

    @Test func `has an entry of every command's change`() async throws {
        for command in commands {
            let before = try subjects().count
            try await command.run()
            let entries = try subjects().dropFirst(before)
            #expect(entries.count == (command.name == "prune" ? 2 : 1), "\(command.name)")
        }
        let last = [UInt8(6), 7, 8].map { KeyID.sample($0).bytes }
        #expect(try Set(subjects()).intersection(last) == Set(last.prefix(2)))
    }

    @Test func `ends a command that can't be entered, with nothing changed`() async throws {
        let before = try await content()
        try database.session().run("ALTER TABLE portcullis.changes RENAME TO lost")
        for command in commands {
            await #expect(throws: KeyRegistryError.self, "\(command.name)") { try await command.run() }
        }
        #expect(try await content() == before)
    }
}
