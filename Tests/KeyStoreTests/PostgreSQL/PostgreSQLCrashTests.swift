import KeyStore
import KeyStorePostgreSQL
import PostgreSQL
import PostgreSQLTestKit
import Synchronization
import Testing

/// What a crash of the database may cost, and what not.
@Suite("A fleet's store after a crash")
struct PostgreSQLCrashTests {
    /// Commits that don't wait for the disk stay in the server's memory until the log's writer comes by: here, ten
    /// seconds.
    private func makeServer(_ settings: [String] = []) async throws -> PostgresServer {
        var options = PostgresServer.Options()
        options.synchronizes = true
        options.settings = ["wal_writer_delay = 10s", "wal_writer_flush_after = 1GB"] + settings
        return try await PostgresServer.launch(options)
    }

    private func restart(_ database: FleetDatabase) async throws {
        try await database.server.crash()
        try await database.server.start()
    }

    @Test func `may have lost counters, and admits no old assertion then`() async throws {
        let server = try await makeServer()
        let database = try await FleetDatabase(on: server)
        let store = database.registry
        let home = try await store.incarnation()
        for key in UInt8(1)...8 { _ = try await store.enrol(.sample(key)) }
        // Assertions under load, until the server is killed.
        let admitted = Admitted()
        let load = Task { await admitted.load(store, home) }
        _ = try await eventually { admitted.all.count > 500 ? true : nil }
        let before = try await store.present()
        try await restart(database)
        await load.value
        let uses = admitted.all
        let highest = Dictionary(uses.map { ($0.key, $0.counter) }, uniquingKeysWith: max)
        var lost = 0
        for (key, counter) in highest {
            let stored = try await eventually { try await store.key(key) }.counter
            if stored < counter { lost += 1 }
        }
        // Otherwise this proves nothing.
        #expect(lost > 0)
        let present = try await eventually { try await store.present() }
        let next = present.incarnation
        #expect(next != home && present.began >= before.time && present.began <= present.time)
        for use in uses { #expect(try await store.admit(use, in: home) == .refused(.foreign)) }
        // A new challenge admits, whatever the counter was.
        let use = AssertionUse(mark: .sample(1), key: .sample(1), counter: 1_000_000, time: 2)
        #expect(try await store.admit(use, in: next) == .admitted)
    }

    @Test(arguments: [[], ["synchronous_commit = off"]])
    func `has every registration, revocation, token and signing key that was confirmed`(
        settings: [String]
    ) async throws {
        let server = try await makeServer(settings)
        let database = try await FleetDatabase(on: server)
        let store = database.registry
        let token = DevelopmentToken.sample()
        let keys = StoredSigningKeys(
            keys: [StoredSigningKey(id: "k", secret: [1, 2, 3], publishedAt: 1, signsFrom: 2)],
            revoked: [.init(id: "old", revokedAt: 9)])
        for round in UInt8(0)..<3 {
            let (kept, revoked) = (DeviceKey.sample(10 + round, counter: 3), DeviceKey.sample(20 + round))
            for key in [kept, revoked] { #expect(try await store.enrol(key) == .enrolled) }
            #expect(try await store.revoke(revoked.id, reason: "lost", at: 5))
            if round == 1 {
                _ = try await store.issue(token)
                _ = try await store.redeem(token.hash, by: [UInt8](repeating: 1, count: 32), at: 1_100)
                _ = try await store.revoke(token.id, at: 1_200)
            }
            if round == 2 { #expect(try store.replaceSigningKeys(StoredSigningKeys(), with: keys)) }
            try await restart(database)
            #expect(try await eventually { try await store.key(kept.id) } == kept)
            #expect(try await store.key(revoked.id)?.revokedAt == 5)
        }
        #expect(try await store.developmentTokens().first?.revokedAt == 1_200)
        #expect(try await store.developmentTokens().first?.devices == 1)
        #expect(try store.signingKeys() == keys)
    }

    @Test func `moves to a standby that lags, and admits no old assertion there`() async throws {
        let primary = try await makeServer()
        var options = PostgresServer.Options()
        options.primary = primary
        let standby = try await PostgresServer.launch(options)
        let database = try await FleetDatabase(on: primary)
        var parameters = database.options.parameters
        parameters["host"] = "\(primary.directory),\(standby.directory)"
        parameters["port"] = "\(primary.port),\(standby.port)"
        let store = try FleetDatabase.registry(.patient(parameters))
        let feed = PostgreSQLRevocations(of: store)
        // What is confirmed now is on the standby, too.
        try primary.session().run("ALTER SYSTEM SET synchronous_standby_names = '*'")
        try primary.session().run("SELECT pg_reload_conf()")
        for key in UInt8(1)...3 { _ = try await store.enrol(.sample(key)) }
        _ = try await store.revoke(.sample(3), reason: "lost", at: 5)
        let home = try await store.incarnation()
        #expect(try await feed.ifChanged()?.keys == [.sample(3)])
        // From now on the standby hears nothing.
        try primary.session().run("ALTER SYSTEM SET synchronous_standby_names = ''")
        try primary.session().run("SELECT pg_reload_conf()")
        try standby.session().run("ALTER SYSTEM SET primary_conninfo = ''")
        try standby.session().run("SELECT pg_reload_conf()")
        _ = try await eventually {
            try standby.session().run("SELECT count(*) FROM pg_stat_wal_receiver", []).only().integer(0) == 0
                ? true : nil
        }
        let uses = (1...20).map { counter in
            AssertionUse(mark: .sample(UInt64(counter)), key: .sample(1), counter: UInt32(counter), time: 1)
        }
        for use in uses { #expect(try await store.admit(use, in: home) == .admitted) }
        _ = try await store.revoke(.sample(2), reason: "not on the standby", at: 6)
        #expect(try await feed.ifChanged()?.keys == [.sample(2), .sample(3)])

        try await primary.crash()
        try standby.session().run("SELECT pg_promote(true)")
        let next = try await eventually { try await store.incarnation() }
        #expect(next != home)
        #expect(try await store.key(.sample(1))?.counter == 0)
        for use in uses { #expect(try await store.admit(use, in: home) == .refused(.foreign)) }
        #expect(try await store.key(.sample(3))?.isRevoked == true)
        // The feed has gone back, and is read as a whole.
        #expect(try await feed.ifChanged()?.keys == [.sample(3)])
        store.close()
    }

    @Test func `is another incarnation, but not after a clean restart`() async throws {
        let database = try await FleetDatabase(on: makeServer())
        let store = database.registry
        let home = try await store.incarnation()
        #expect(try await store.spend(.sample(1), in: home) == .spent)
        try await database.server.stop()
        try await database.server.start()
        #expect(try await eventually { try await store.incarnation() } == home)
        #expect(try await store.spend(.sample(1), in: home) == .alreadySpent)
        // A crash of one server process is one, too: all of them start again, and the unlogged tables are empty.
        try database.session().run("SELECT portcullis.incarnation()", [])
        try await restart(database)
        let next = try await eventually { try await store.incarnation() }
        #expect(next != home)
        #expect(try await store.spend(.sample(1), in: home) == .foreign)
    }

    @Test func `gets one incarnation from many gateways at once`() async throws {
        let database = try await FleetDatabase(on: makeServer())
        let gateways = try (0..<4).map { _ in try database.anotherRegistry() }
        for _ in 0..<3 {
            try await restart(database)
            let found = try await withThrowingTaskGroup(of: StoreIncarnation.self) { group in
                for index in 0..<16 {
                    group.addTask { try await eventually { try await gateways[index % 4].incarnation() } }
                }
                return try await group.reduce(into: Set<StoreIncarnation>()) { $0.insert($1) }
            }
            #expect(found.count == 1)
        }
    }
}

/// Assertions that the store has admitted.
private final class Admitted: Sendable {
    private let uses = Mutex<[AssertionUse]>([])

    var all: [AssertionUse] { uses.withLock { $0 } }

    /// One device after another does not wait for the others. Each ends with its first refusal or error.
    func load(_ store: PostgreSQLKeyRegistry, _ home: StoreIncarnation) async {
        await withTaskGroup(of: Void.self) { group in
            for key in UInt8(1)...8 { group.addTask { await self.load(store, home, key) } }
        }
    }

    private func load(_ store: PostgreSQLKeyRegistry, _ home: StoreIncarnation, _ key: UInt8) async {
        for counter in UInt32(1)... {
            let mark = SingleUseMark.sample(UInt64(key) << 32 | UInt64(counter))
            let use = AssertionUse(mark: mark, key: .sample(key), counter: counter, time: 1)
            guard (try? await store.admit(use, in: home)) == .admitted else { return }
            uses.withLock { $0.append(use) }
        }
    }
}
