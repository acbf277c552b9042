import KeyStore
import PostgreSQL
import PostgreSQLTestKit
import Testing

@testable import KeyStorePostgreSQL

/// What becomes of the counters of a fleet of release 0.2.0, whose functions knew no window in force.
@Suite("The migration to the window in force")
struct WindowInForceMigrationTests {
    private let server: PostgresServer
    private let name: String
    private let session: PostgreSQLConnection
    private let key = DeviceKey.sample()
    private let before = PostgreSQLSchema(migrations: [
        .first, .members, .sessions, .blockList, .holdings, .rowLocks, .alive, .tickets, .housekeeping, .nextTickets,
        .counterWindows,
    ])

    init() async throws {
        server = try await PostgresServer.shared()
        name = try await server.makeDatabase()
        session = try server.session(database: name)
        _ = try before.migrate(session)
    }

    private func use(_ counter: UInt32) throws -> CounterUse {
        CounterUse(counter, in: try #require(CounterWindow(size: 32)), admitsLower: true)
    }

    private func registry(_ user: String? = nil) throws -> PostgreSQLKeyRegistry {
        var parameters = server.parameters(database: name)
        if let user { parameters["user"] = user }
        return try FleetDatabase.registry(.patient(parameters))
    }

    /// Counters 18 and 20 are used.
    private func fill(_ old: PostgreSQLKeyRegistry) async throws {
        #expect(try await old.enrol(key) == .enrolled)
        for counter in [UInt32(20), 18] { #expect(try await old.use(use(counter), of: key.id, at: 1) == .advanced) }
    }

    @Test func `keys stay, and their lower counters count as used until the highest rises`() async throws {
        let old = try registry()
        defer { old.close() }
        try await fill(old)
        #expect(try PostgreSQLSchema.current.migrate(session) == before.version)
        let new = try registry()
        defer { new.close() }
        try new.putInForce(try #require(CounterWindow(size: 32)), after: nil)
        #expect(try await new.key(key.id)?.counter == 20)
        for counter in UInt32(1)...20 {
            for gateway in [old, new] {
                #expect(try await gateway.use(use(counter), of: key.id, at: 2) == .notHigher(stored: 20))
            }
        }
        #expect(try await new.use(use(25), of: key.id, at: 3) == .advanced)
        for counter in UInt32(21)...24 {
            #expect(try await new.use(use(counter), of: key.id, at: 4) == .advanced)
            #expect(try await new.use(use(counter), of: key.id, at: 5) == .notHigher(stored: 25))
        }
        for counter in UInt32(1)...20 {
            #expect(try await new.use(use(counter), of: key.id, at: 6) == .notHigher(stored: 25))
        }
    }

    /// Its connection stays, with the statements that it has prepared. A right may be that of the whole table, too.
    @Test(arguments: ["UPDATE (counter, window_top, window_seen, last_used_at)", "UPDATE"])
    func `a gateway of before goes on beside new ones, in the epoch, with its rights`(right: String) async throws {
        let role = "raiser_of_\(name)"
        try session.run(
            """
            CREATE ROLE \(role) LOGIN; GRANT USAGE ON SCHEMA portcullis TO \(role);
            GRANT SELECT ON ALL TABLES IN SCHEMA portcullis TO \(role);
            GRANT \(right) ON portcullis.device_key TO \(role)
            """)
        let (owner, old) = (try registry(), try registry(role))
        defer { for store in [owner, old] { store.close() } }
        #expect(try await owner.enrol(key) == .enrolled)
        #expect(try await old.use(use(20), of: key.id, at: 1) == .advanced)
        #expect(try PostgreSQLSchema.current.migrate(session) == before.version)
        try await before.check(old.driver)
        let new = try registry(role)
        defer { new.close() }
        try new.putInForce(try #require(CounterWindow(size: 32)), after: nil)
        #expect(try await old.use(use(30), of: key.id, at: 2) == .advanced)
        #expect(try await new.use(use(29), of: key.id, at: 2) == .advanced)
        #expect(try await old.use(use(29), of: key.id, at: 2) == .notHigher(stored: 30))
        #expect(try await old.use(use(28), of: key.id, at: 2) == .advanced)
        for size in [0, 32] { try new.putInForce(try #require(CounterWindow(size: size)), after: nil) }
        #expect(try await old.use(use(27), of: key.id, at: 3) == .notHigher(stored: 30))
        #expect(try await old.use(use(32), of: key.id, at: 4) == .advanced)
        #expect(try await new.use(use(31), of: key.id, at: 4) == .advanced)
    }

    @Test func `an erasure leaves nothing of the counters`() async throws {
        let old = try registry()
        defer { old.close() }
        try await fill(old)
        #expect(try PostgreSQLSchema.current.migrate(session) == before.version)
        #expect(try await old.use(use(21), of: key.id, at: 2) == .advanced)
        let left = "SELECT num_nonnulls(window_top, window_seen, window_epoch)::int8 FROM portcullis.device_key"
        #expect(try session.run(left, []).only().integer(0) == 3)
        _ = try await old.revoke(key.id, reason: "lost", at: 3)
        _ = try session.run("SELECT key FROM portcullis.finish_erasure($1::bytea)", [.bytes(key.id.bytes)])
        #expect(try session.run(left, []).only().integer(0) == 0)
    }
}
