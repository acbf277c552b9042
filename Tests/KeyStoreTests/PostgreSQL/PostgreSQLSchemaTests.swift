import KeyStore
import PostgreSQL
import PostgreSQLTestKit
import Testing

@testable import KeyStorePostgreSQL

@Suite("The schema of a fleet's store")
struct PostgreSQLSchemaTests {
    private let server: PostgresServer
    private let name: String

    init() async throws {
        server = try await PostgresServer.shared()
        name = try await server.makeDatabase()
    }

    private func driver() -> PostgreSQLDriver { PostgreSQLDriver(.patient(server.parameters(database: name))) }
    private func session() throws -> PostgreSQLConnection { try server.session(database: name) }

    private let second = PostgreSQLSchema.Migration(oldest: 1, script: "CREATE TABLE portcullis.second (id int8)")
    private let third = PostgreSQLSchema.Migration(
        oldest: 3, script: "ALTER TABLE portcullis.second ADD COLUMN more int8; CREATE TABLE portcullis.third (id int8)"
    )
    private let broken = PostgreSQLSchema.Migration(
        oldest: 1, script: "CREATE TABLE portcullis.half (id int8); CREATE TABLE portcullis.second (id int8)")

    @Test func `is missing at first, and created by the migration`() async throws {
        let driver = driver()
        await #expect(throws: PostgreSQLSchemaError.other(.missing)) {
            try await PostgreSQLSchema.current.check(driver)
        }
        #expect(try PostgreSQLSchema.current.migrate(session()) == 0)
        try await PostgreSQLSchema.current.check(driver)
        #expect(try PostgreSQLSchema.current.migrate(session()) == PostgreSQLSchema.current.version)
    }

    @Test func `is upgraded from every older version, step by step`() async throws {
        let all = [PostgreSQLSchema.Migration.first, second, third]
        for start in 0..<all.count {
            let name = try await server.makeDatabase()
            let session = try server.session(database: name)
            if start > 0 { _ = try PostgreSQLSchema(migrations: Array(all.prefix(start))).migrate(session) }
            let driver = PostgreSQLDriver(.patient(server.parameters(database: name)))
            let newest = PostgreSQLSchema(migrations: all)
            await #expect(throws: PostgreSQLSchemaError.self) { try await newest.check(driver) }
            #expect(try newest.migrate(session) == Int64(start))
            try await newest.check(driver)
        }
    }

    @Test func `admits neighbouring program versions that it names, and no others`() async throws {
        let (one, two, three) = (
            PostgreSQLSchema(migrations: [.first]), PostgreSQLSchema(migrations: [.first, second]),
            PostgreSQLSchema(migrations: [.first, second, third])
        )
        let (driver, session) = (driver(), try session())
        _ = try two.migrate(session)
        try await one.check(driver)
        await #expect(throws: PostgreSQLSchemaError.other(.older(found: 2, needed: 3))) {
            try await three.check(driver)
        }
        _ = try three.migrate(session)
        await #expect(throws: PostgreSQLSchemaError.other(.newer(found: 3, known: 2))) { try await two.check(driver) }
        #expect(throws: PostgreSQLSchemaError.other(.newer(found: 3, known: 1))) { try one.migrate(session) }
    }

    /// As a program of version 1 does.
    private func admitAsVersion1(
        _ mark: SingleUseMark, counter: Int64, in home: StoreIncarnation, _ session: PostgreSQLConnection
    ) throws -> Bool {
        let rows = try session.run(
            """
            SELECT spending = 0 AND outcome = 0
            FROM portcullis.admit($1::bytea, $2::int8, $3::bytea, $4::int8, $5::bytea, $6::int8, 1::int8)
            """,
            [
                .bytes(home.bytes), .integer(mark.kind.rawValue), .bytes(mark.bytes), .integer(mark.expires),
                .bytes(DeviceKey.sample().id.bytes), .integer(counter),
            ])
        return try rows.first?.boolean(0) == true
    }

    /// The other statements of a program of version 1 are a part of this program's.
    @Test func `is upgraded with all that is in it while gateways of version 1 go on`() async throws {
        let session = try session()
        let first = PostgreSQLSchema(migrations: [.first])
        _ = try first.migrate(session)
        let old = try FleetDatabase.registry(.patient(server.parameters(database: name)))
        defer { old.close() }
        let home = try await old.incarnation()
        #expect(try await old.enrol(.sample()) == .enrolled)
        #expect(try admitAsVersion1(.sample(1), counter: 7, in: home, session))

        #expect(try PostgreSQLSchema.current.migrate(session) == 1)

        try await first.check(old.driver)
        #expect(try await old.incarnation() == home)
        #expect(try await old.key(.sample(1))?.counter == 7)
        #expect(try !admitAsVersion1(.sample(1), counter: 7, in: home, session))
        #expect(try admitAsVersion1(.sample(2), counter: 8, in: home, session))
        let new = try FleetDatabase.registry(.patient(server.parameters(database: name)))
        defer { new.close() }
        try await new.checkSchema()
        let member = PostgreSQLKeyRegistry.Membership(id: "a", name: "mud1:6200", version: "1")
        #expect(try await new.beat(member, uptime: 0, .init()).members.map(\.id) == ["a"])
        #expect(try await new.key(.sample(1))?.counter == 8)
    }

    /// An advisory lock is anybody's who may connect.
    @Test func `has no lock that needs no right`() async throws {
        let session = try session()
        _ = try PostgreSQLSchema.current.migrate(session)
        let advisory = """
            SELECT p.proname::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
            WHERE n.nspname = 'portcullis' AND p.prosrc LIKE '%advisory%'
            """
        let names = try session.run(advisory, []).map { row throws(DatabaseError) in try row.text(0) }
        #expect(names.isEmpty)
    }

    /// The transaction has the lock of before, and takes its number after the migration.
    @Test func `orders changes also while its locks are replaced`() async throws {
        let before = PostgreSQLSchema(migrations: [.first, .members, .sessions, .blockList, .holdings])
        let (session, old) = (try session(), try session())
        _ = try before.migrate(session)
        try old.run("BEGIN; SELECT pg_advisory_xact_lock(1346587474, 2)")
        #expect(try PostgreSQLSchema.current.migrate(session) == before.version)
        try old.run("INSERT INTO portcullis.changes (kind, subject) VALUES (1, '\\x01')")
        var options = DriverOptions(parameters: server.parameters(database: name))
        options.lockMilliseconds = 50
        let new = try PostgreSQLConnection(options)
        let change = "SELECT portcullis.note(1, '\\x02')"
        let error = #expect(throws: DatabaseError.self) { try new.run(change) }
        guard case .refused(let state, _)? = error else { throw PostgresTestError("\(String(describing: error))") }
        #expect(state.kind == .locked)
        try old.run("COMMIT")
        try new.run(change)
        let subjects = try session.run("SELECT subject FROM portcullis.changes ORDER BY seq", []).map {
            row throws(DatabaseError) in try row.bytes(0)
        }
        #expect(subjects == [[1], [2]])
    }

    @Test func `is as before after a failed step`() async throws {
        let session = try session()
        _ = try PostgreSQLSchema(migrations: [.first, second]).migrate(session)
        let failing = PostgreSQLSchema(migrations: [.first, second, broken])
        #expect(throws: PostgreSQLSchemaError.self) { try failing.migrate(session) }
        #expect(try session.run("SELECT to_regclass('portcullis.half') IS NULL", []).only().boolean(0))
        #expect(try PostgreSQLSchema(migrations: [.first, second]).migrate(session) == 2)
    }

    @Test func `is created once by many tools at once`() async throws {
        let (server, name) = (server, name)
        let found = try await withThrowingTaskGroup(of: Int64.self) { group in
            for _ in 0..<4 {
                group.addTask { try PostgreSQLSchema.current.migrate(server.session(database: name)) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        // A tool may have found the steps of another one half done.
        #expect(
            found.count { $0 == 0 } == 1 && found.allSatisfy { (0...PostgreSQLSchema.current.version).contains($0) })
        try await PostgreSQLSchema.current.check(driver())
    }

    @Test func `can be used by a role without other rights`() async throws {
        _ = try PostgreSQLSchema.current.migrate(session())
        let role = "gateway_\(name)"
        try session().run(
            """
            CREATE ROLE \(role) LOGIN;
            GRANT USAGE ON SCHEMA portcullis TO \(role);
            GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA portcullis TO \(role);
            """)
        var parameters = server.parameters(database: name)
        parameters["user"] = role
        let store = try FleetDatabase.registry(.patient(parameters))
        try await store.checkSchema()
        let home = try await store.incarnation()
        #expect(try await store.enrol(.sample()) == .enrolled)
        let use = AssertionUse(mark: .sample(1), key: .sample(1), counter: 1, time: 1)
        #expect(try await store.admit(use, in: home) == .admitted)
        #expect(try await store.revoke(.sample(1), reason: "lost", at: 1))
        #expect(try await PostgreSQLRevocations(of: store).ifChanged()?.keys == [.sample(1)])
        try await store.tryWriting()
    }
}
