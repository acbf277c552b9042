import KeyStore
import KeyStorePostgreSQL
import PostgreSQL
import PostgreSQLTestKit
import Testing

/// A crash and a failover lose no family that they need not lose, and keep none whose used tokens may be good again.
@Suite("Families of refresh tokens after a failover")
struct RefreshFailoverTests {
    private func makeServer(following primary: PostgresServer? = nil) async throws -> PostgresServer {
        var options = PostgresServer.Options()
        options.synchronizes = primary == nil
        options.primary = primary
        return try await PostgresServer.launch(options)
    }

    private func fill(_ store: some AccountStore) async throws {
        _ = try await store.begin(.sample(1), maximum: 10)
        #expect(try await store.begin(.sample()) == .begun)
        #expect(try await store.use(.sample(0, to: 1)).isRotated)
    }

    @Test func `go on after a crash, with what was confirmed`() async throws {
        let database = try await FleetDatabase(on: makeServer())
        let store = database.registry
        try await fill(store)
        for token in 1..<4 {
            try await database.server.crash()
            try await database.server.start()
            let outcome = try await eventually { try await store.use(.sample(token, to: token + 1)) }
            #expect(outcome.isRotated || outcome.repeatedSealed == [UInt8(token + 1)])
        }
        #expect(try await store.use(.sample(0, to: 9)) == .reused(.sample(1)))
    }

    @Test(arguments: [true, false])
    func `go on at a synchronous standby alone`(isSynchronous: Bool) async throws {
        let primary = try await makeServer()
        let standby = try await makeServer(following: primary)
        let database = try await FleetDatabase(on: primary)
        var parameters = database.options.parameters
        parameters["host"] = "\(primary.directory),\(standby.directory)"
        parameters["port"] = "\(primary.port),\(standby.port)"
        let store = try FleetDatabase.registry(.patient(parameters))
        if isSynchronous {
            try primary.session().run("ALTER SYSTEM SET synchronous_standby_names = '*'")
            try primary.session().run("SELECT pg_reload_conf()")
            _ = try await eventually {
                try primary.session().run("SHOW synchronous_standby_names", []).only().text(0) == "*" ? true : nil
            }
        }
        try await fill(store)
        _ = try await eventually {
            let count = try standby.session(database: database.name).run(
                "SELECT count(*) FROM portcullis.refresh_family WHERE last_hash IS NOT NULL", [])
            return try count.only().integer(0) == 1 ? true : nil
        }
        try await primary.crash()
        try standby.session().run("SELECT pg_promote(true)")
        let outcome = try await eventually { try await store.use(.sample(1, to: 2)) }
        #expect(isSynchronous ? outcome.isRotated || outcome.repeatedSealed == [2] : outcome == .unknown)
        #expect(try await store.families(of: .sample(1)).isEmpty == !isSynchronous)
        #expect(try await store.begin(.sample(2)) == .begun)
        #expect(try await store.use(.sample(0, to: 1, of: 2)).isRotated)
        store.close()
    }
}
