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
    private func session() throws -> PostgreSQLSession { try server.session(database: name) }

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
        #expect(found.sorted() == [0, 1, 1, 1])
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
