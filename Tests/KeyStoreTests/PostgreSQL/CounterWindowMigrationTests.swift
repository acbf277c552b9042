import KeyStore
import PostgreSQL
import PostgreSQLTestKit
import Testing

@testable import KeyStorePostgreSQL

/// What becomes of the counters of a fleet that is upgraded gateway by gateway.
@Suite("The migration to windows of counters")
struct CounterWindowMigrationTests {
    private let server: PostgresServer
    private let name: String
    private let session: PostgreSQLConnection
    private let key = DeviceKey.sample()

    init() async throws {
        server = try await PostgresServer.shared()
        name = try await server.makeDatabase()
        session = try server.session(database: name)
        let before = PostgreSQLSchema(migrations: [
            .first, .members, .sessions, .blockList, .holdings, .rowLocks, .alive, .tickets, .housekeeping,
            .nextTickets,
        ])
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

    /// As programs of before do.
    private func advance(to counter: Int64) throws {
        _ = try session.run(
            "SELECT outcome FROM portcullis.advance($1::bytea, $2::int8, 1::int8)",
            [.bytes(key.id.bytes), .integer(counter)])
    }

    @Test func `counters of before count as used, and those from then on have a window`() async throws {
        let old = try registry()
        defer { old.close() }
        #expect(try await old.enrol(key) == .enrolled)
        try advance(to: 20)
        _ = try PostgreSQLSchema.current.migrate(session)
        let new = try registry()
        defer { new.close() }
        for counter in UInt32(1)...20 {
            #expect(try await new.use(use(counter), of: key.id, at: 1) == .notHigher(stored: 20))
        }
        #expect(try await new.use(use(25), of: key.id, at: 2) == .advanced)
        for counter in UInt32(21)...24 {
            #expect(try await new.use(use(counter), of: key.id, at: 3) == .advanced)
            #expect(try await new.use(use(counter), of: key.id, at: 4) == .notHigher(stored: 25))
        }
    }

    @Test func `a gateway of before that raises a counter beside new ones leaves nothing open below it`() async throws {
        _ = try PostgreSQLSchema.current.migrate(session)
        let new = try registry()
        defer { new.close() }
        #expect(try await new.enrol(key) == .enrolled)
        #expect(try await new.use(use(10), of: key.id, at: 1) == .advanced)
        try advance(to: 12)
        for counter in UInt32(1)...12 {
            #expect(try await new.use(use(counter), of: key.id, at: 2) == .notHigher(stored: 12))
        }
        #expect(try await new.use(use(14), of: key.id, at: 3) == .advanced)
        #expect(try await new.use(use(13), of: key.id, at: 4) == .advanced)
    }

    /// Gateways of the new version may start before the script of the roles is run again.
    @Test func `a gateway whose rights are those of before uses counters`() async throws {
        let role = "raiser_of_\(name)"
        try session.run(
            """
            CREATE ROLE \(role) LOGIN; GRANT USAGE ON SCHEMA portcullis TO \(role);
            GRANT SELECT ON ALL TABLES IN SCHEMA portcullis TO \(role);
            GRANT UPDATE (counter, last_used_at) ON portcullis.device_key TO \(role)
            """)
        _ = try PostgreSQLSchema.current.migrate(session)
        let owner = try registry()
        defer { owner.close() }
        #expect(try await owner.enrol(key) == .enrolled)
        let gateway = try registry(role)
        defer { gateway.close() }
        try gateway.putInForce(try #require(CounterWindow(size: 32)), after: nil)
        #expect(try await gateway.use(use(5), of: key.id, at: 1) == .advanced)
        #expect(try await gateway.use(use(4), of: key.id, at: 1) == .advanced)
        for size in [0, 32] { try gateway.putInForce(try #require(CounterWindow(size: size)), after: nil) }
        #expect(try await gateway.use(use(3), of: key.id, at: 1) == .notHigher(stored: 5))
    }
}
