import KeyStore
import PostgreSQL
import PostgreSQLTestKit
import Testing

@testable import KeyStorePostgreSQL

@Suite("A session's next tickets in a fleet's store")
struct PostgreSQLNextTicketTests {
    private let one = KeptTicket.sample(1)
    private let two = KeptTicket.sample(2)

    private func rows(_ session: PostgreSQLConnection) throws -> Int64 {
        try session.run("SELECT count(*) FROM portcullis.ticket", []).only().integer(0)
    }

    @Test func `are of another incarnation foreign, and kept apart from first tickets`() async throws {
        let database = try await FleetDatabase()
        let home = try await database.registry.incarnation()
        #expect(try await database.registry.keep(one, in: .sample(0xEE)) == .foreign)
        let first = try #require(SealedTicket(hash: two.hash, sealed: [1], expires: 1_000))
        #expect(try await database.registry.keep(first, uses: 2, in: home) == .spent)
        #expect(try await database.registry.keep(two, in: home) == .alreadySpent)
        #expect(try await database.registry.keep(one, in: home) == .spent)
        #expect(try await database.registry.takeTicket(hash: one.hash, at: 1, in: home) != nil)
        #expect(try await database.registry.takeTicket(hash: two.hash, at: 1, in: home)?.remaining == 1)
        #expect(try await database.registry.takeTicket(hash: one.hash, at: 1, in: .sample(0xEE)) == nil)
    }

    @Test func `are refused while the store has too many marks`() async throws {
        let database = try await FleetDatabase()
        let home = try await database.registry.incarnation()
        #expect(try await database.registry.keep(one, in: home) == .spent)
        try await database.registry.forgetMarks(expiredAt: 0, maximum: 0)
        #expect(try await database.registry.keep(two, in: home) == .full)
        #expect(try await database.registry.takeTicket(hash: one.hash, at: 1, in: home) != nil)
    }

    @Test func `are removed with their client`() async throws {
        let database = try await FleetDatabase()
        let home = try await database.registry.incarnation()
        for byte in UInt8(1)...4 {
            let ticket = KeptTicket.sample(byte, session: byte, holder: byte % 2)
            #expect(try await database.registry.keep(ticket, in: home) == .spent)
        }
        let erasure = try await database.registry.finishErasure(of: .sample(1), holders: [.sample(0), .sample(7)])
        #expect(erasure == Erasure(key: .unknown, places: 0))
        #expect(try rows(database.session()) == 2)
        #expect(try await database.registry.takeTicket(hash: one.hash, at: 1, in: home) != nil)
        #expect(try await database.registry.takeTicket(hash: two.hash, at: 1, in: home) == nil)
    }

    /// A program of before knows `take_ticket`, or `use_ticket` without sessions.
    @Test(arguments: ["take_ticket", "use_ticket"])
    func `are used by programs that know nothing of sessions, all at once`(function: String) async throws {
        let database = try await FleetDatabase()
        let (home, session) = (try await database.registry.incarnation(), try database.session())
        for ticket in [one, two] { #expect(try await database.registry.keep(ticket, in: home) == .spent) }
        let row = try session.run(
            "SELECT sealed FROM portcullis.\(function)($1::bytea, $2::bytea)", [.bytes(home.bytes), .bytes(one.hash)]
        ).only()
        #expect(try row.bytes(0) == one.content)
        #expect(try rows(session) == 0)
    }

    /// Gateways of the new version may start before the script of the roles is run again.
    @Test func `can be kept, used and ended by a gateway whose rights are those of before`() async throws {
        let server = try await PostgresServer.shared()
        let name = try await server.makeDatabase()
        let (session, role) = (try server.session(database: name), "keeper_of_\(name)")
        let before = PostgreSQLSchema(migrations: [
            .first, .members, .sessions, .blockList, .holdings, .rowLocks, .alive, .tickets, .housekeeping,
        ])
        _ = try before.migrate(session)
        try session.run(
            """
            CREATE ROLE \(role) LOGIN; GRANT USAGE ON SCHEMA portcullis TO \(role);
            GRANT SELECT ON ALL TABLES IN SCHEMA portcullis TO \(role);
            GRANT INSERT, DELETE ON portcullis.home, portcullis.ticket TO \(role);
            GRANT UPDATE (uses) ON portcullis.ticket TO \(role)
            """)
        #expect(try PostgreSQLSchema.current.migrate(session) == before.version)
        var parameters = server.parameters(database: name)
        parameters["user"] = role
        let gateway = try FleetDatabase.registry(.patient(parameters))
        defer { gateway.close() }
        let home = try await gateway.incarnation()
        for ticket in [one, two] { #expect(try await gateway.keep(ticket, in: home) == .spent) }
        try await gateway.shortenTickets(ofSession: one.session, to: 500)
        #expect(try await gateway.takeTicket(hash: two.hash, at: 1, in: home)?.ticket.expires == 500)
        #expect(try rows(session) == 0)
    }

    /// They admit nobody: a reader of the database, or of its dump, finds neither a ticket nor a client's name.
    @Test func `are hashes and sealed bytes`() async throws {
        let database = try await FleetDatabase()
        let columns = try database.session().run(
            """
            SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute
            WHERE attrelid = 'portcullis.ticket'::regclass AND attnum > 0
            """, []
        ).only().text(0)
        #expect(columns == "hash sealed expires uses session holder kept")
        let persistence = try database.session().run(
            "SELECT relpersistence::text FROM pg_class WHERE oid = 'portcullis.ticket'::regclass", []
        ).only().text(0)
        #expect(persistence == "u", "it is emptied with the incarnation")
    }
}
