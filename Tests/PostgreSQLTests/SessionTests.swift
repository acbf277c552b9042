import Glibc
import PostgreSQL
import PostgreSQLTestKit
import Testing

/// The connection of tools.
@Suite("A session with a limit")
struct SessionTests {
    private func session(_ server: PostgresServer, within milliseconds: Int?) throws -> PostgreSQLConnection {
        try PostgreSQLConnection(DriverOptions(parameters: server.parameters()), within: milliseconds)
    }

    @Test(arguments: [nil, 60_000])
    func `answers as without one`(milliseconds: Int?) async throws {
        let session = try await session(PostgresServer.shared(), within: milliseconds)
        try session.run("SELECT 1::int8; SELECT 2::int8")
        let long = String(repeating: "x", count: 3_000_000)
        #expect(try session.run("SELECT $1::text", [.text(long)]).only().bytes(0) == Array(long.utf8))
        #expect(try session.run("SELECT g::int8 FROM generate_series(1, 1000) g", []).count == 1_000)
        #expect(throws: DatabaseError.self) { try session.run("SELECT 1; SELECT nothing") }
        #expect(try session.run("SELECT true", []).only().boolean(0))
        let sum = try session.transaction { () throws(DatabaseError) in
            try session.run("CREATE TEMPORARY TABLE t (n int8); INSERT INTO t VALUES (3), (4)")
            return try session.run("SELECT sum(n)::int8 FROM t", []).only().integer(0)
        }
        #expect(sum == 7)
    }

    @Test func `ends a statement that isn't answered in time, and with it the session`() async throws {
        let session = try await session(PostgresServer.shared(), within: 50)
        #expect(throws: DatabaseError.unknown("it did not come in time")) { try session.run("SELECT pg_sleep(60)") }
        #expect(throws: DatabaseError.self) { try session.run("SELECT 1") }
    }

    @Test(arguments: [nil, 60_000])
    func `waits for nothing without a limit`(milliseconds: Int?) async throws {
        let session = try await session(PostgresServer.shared(), within: milliseconds)
        for name in ["lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout"] {
            let setting = try session.run("SELECT setting::int8 FROM pg_settings WHERE name = $1::text", [.text(name)])
            let value = try setting.only().integer(0)
            #expect((1...65_000).contains(value), "\(name)")
        }
    }

    @Test func `says that another session holds a lock`() async throws {
        let server = try await PostgresServer.shared()
        let name = try await server.makeDatabase()
        let holder = try server.session(database: name)
        try holder.run("CREATE TABLE public.locked (n int8)")
        try holder.run("BEGIN; LOCK TABLE public.locked")
        var options = DriverOptions(parameters: server.parameters(database: name))
        options.lockMilliseconds = 50
        let session = try PostgreSQLConnection(options)
        let error = #expect(throws: DatabaseError.self) { try session.run("SELECT n FROM public.locked") }
        guard case .refused(let state, _)? = error else { throw PostgresTestError("\(String(describing: error))") }
        #expect(state.kind == .locked && "\(DatabaseError.refused(state, ""))".contains("holds a lock"))
        // It goes on.
        #expect(try session.run("SELECT true", []).only().boolean(0))
    }

    @Test func `isn't held up by a server that is frozen, also while sending`() async throws {
        let server = try await PostgresServer.launch()
        let sessions = try [session(server, within: 50), session(server, within: 50)]
        server.signal(SIGSTOP)
        // A stopped process survives the end of its server.
        defer { server.signal(SIGCONT) }
        #expect(throws: DatabaseError.self) { try sessions[0].run("SELECT 1") }
        let long = String(repeating: "x", count: 20_000_000)
        #expect(throws: DatabaseError.self) { try sessions[1].run("SELECT $1::text", [.text(long)]) }
    }
}
