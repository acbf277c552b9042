import KeyStore
import PostgreSQL
import PostgreSQLTestKit
import Testing

@testable import KeyStorePostgreSQL

/// Tickets whose uses the store counts, and those of programs that count in the ticket's content.
@Suite("A ticket in a fleet's store")
struct PostgreSQLTicketTests {
    private let ticket: SealedTicket
    private let hash = [UInt8](repeating: 1, count: 32)

    init() throws { ticket = try #require(SealedTicket(hash: hash, sealed: [9], expires: 10_000)) }

    private func keep(_ home: StoreIncarnation) -> [SQLValue] {
        [.bytes(home.bytes), .bytes(hash), .bytes(ticket.sealed), .integer(ticket.expires)]
    }

    /// As programs before the counting row do it.
    private func oldKeep(_ session: PostgreSQLConnection, _ home: StoreIncarnation) throws -> Int64 {
        try session.run("SELECT portcullis.keep_ticket($1::bytea, $2::bytea, $3::bytea, $4::int8)", keep(home)).only()
            .integer(0)
    }

    private func oldTake(_ session: PostgreSQLConnection, _ home: StoreIncarnation) throws -> [UInt8]? {
        let row = try session.run(
            "SELECT sealed, expires FROM portcullis.take_ticket($1::bytea, $2::bytea)",
            [.bytes(home.bytes), .bytes(hash)]
        ).only()
        return try row.isNull(0) ? nil : row.bytes(0)
    }

    @Test func `is counted down by programs that know nothing of it, too`() async throws {
        let database = try await FleetDatabase()
        let (store, session) = (database.registry, try database.session())
        let home = try await store.incarnation()
        #expect(try await store.keep(ticket, uses: 3, in: home) == .spent)
        #expect(try oldTake(session, home) == ticket.sealed)
        // Its route has refused it.
        #expect(try oldKeep(session, home) == 0)
        for remaining in [2, 1] {
            #expect(
                try await store.takeTicket(hash: hash, at: 1, in: home) == TakenTicket(ticket, remaining: remaining))
        }
        #expect(try oldTake(session, home) == ticket.sealed)
        #expect(try oldTake(session, home) == nil)
        #expect(try await store.takeTicket(hash: hash, at: 1, in: home) == nil)
        #expect(try oldKeep(session, home) == 0)
        #expect(try await store.takeTicket(hash: hash, at: 1, in: home) == TakenTicket(ticket, remaining: 0))
    }

    @Test func `can be taken during an upgrade, before the rights are given again`() async throws {
        let server = try await PostgresServer.shared()
        let name = try await server.makeDatabase()
        let (session, role) = (try server.session(database: name), "taker_of_\(name)")
        let before = PostgreSQLSchema(migrations: [.first, .members, .sessions, .blockList, .holdings, .rowLocks])
        _ = try before.migrate(session)
        try session.run(
            """
            CREATE ROLE \(role) LOGIN; GRANT USAGE ON SCHEMA portcullis TO \(role);
            GRANT SELECT ON ALL TABLES IN SCHEMA portcullis TO \(role);
            GRANT INSERT, DELETE ON portcullis.ticket TO \(role)
            """)
        var parameters = server.parameters(database: name)
        parameters["user"] = role
        let gateway = try PostgreSQLConnection(DriverOptions(parameters: parameters))
        let home = try gateway.run("SELECT incarnation FROM portcullis.home", []).only().incarnation(0)
        #expect(try oldKeep(gateway, home) == 0)
        #expect(try PostgreSQLSchema.current.migrate(session) == before.version)
        #expect(try oldTake(gateway, home) == ticket.sealed)
        #expect(try oldKeep(gateway, home) == 0)
        #expect(try oldTake(gateway, home) == ticket.sealed)
    }

    @Test func `loses one use with a lost answer, and keeps the rest`() async throws {
        var options = PostgresServer.Options()
        options.listens = true
        let server = try await PostgresServer.launch(options)
        let database = try await FleetDatabase(on: server)
        let home = try await database.registry.incarnation()
        #expect(try await database.registry.keep(ticket, uses: 3, in: home) == .spent)
        let relay = try TCPRelay(to: server.port)
        let far = try FleetDatabase.registry(
            .patient(server.networkParameters(database: database.name, port: relay.port)))
        defer { far.close() }
        #expect(try await far.incarnation() == home)

        let (holder, watcher) = (try database.session(), try database.session())
        try holder.run("BEGIN; SELECT 1 FROM portcullis.ticket FOR UPDATE")
        let answer = Task { [hash] in try await far.takeTicket(hash: hash, at: 1, in: home) }
        let waiting = """
            SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
            """
        _ = try await eventually { try watcher.run(waiting, []).only().integer(0) == 1 ? true : nil }
        relay.silence(true)
        try holder.run("COMMIT")
        _ = try await eventually {
            try watcher.run("SELECT uses FROM portcullis.ticket", []).only().integer(0) == 2 ? true : nil
        }
        relay.cut()
        relay.silence(false)
        await #expect(throws: KeyRegistryError.self) { try await answer.value }
        for remaining in [1, 0] {
            let taken = try await database.registry.takeTicket(hash: hash, at: 1, in: home)
            #expect(taken?.remaining == remaining)
        }
        #expect(try await database.registry.takeTicket(hash: hash, at: 1, in: home) == nil)
    }
}
