import KeyStore
import KeyStorePostgreSQL
import PostgreSQL
import PostgreSQLTestKit
import Testing

/// A crash and a failover lose no family that they need not lose, and keep none whose used tokens may be good again.
@Suite("Families of refresh tokens after a failover")
struct RefreshFailoverTests {
    private func makeServer(
        following primary: PostgresServer? = nil, as name: String? = nil
    ) async throws -> PostgresServer {
        var options = PostgresServer.Options()
        if let name { options.settings = ["cluster_name = '\(name)'"] }
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

    /// What `synchronous_standby_names` of the primary is. The standbys are s1 and s2, and s1 is promoted.
    private static let modes: [(names: String, keeps: Bool)] = [
        ("s1", true), ("FIRST 1 (s1)", true), ("ANY 2 (\"S1\", s2)", true),
        // Nobody was waited for, or perhaps the other one.
        ("", false), ("s2", false), ("s1, s2", false), ("ANY 1 (s1, s2)", false), ("*", false),
    ]

    @Test(arguments: modes)
    func `go on only at a standby that every use had waited for`(names: String, keeps: Bool) async throws {
        let primary = try await makeServer()
        let standbys = [
            try await makeServer(following: primary, as: "s1"), try await makeServer(following: primary, as: "s2"),
        ]
        let (standby, database) = (standbys[0], try await FleetDatabase(on: primary))
        var parameters = database.options.parameters
        parameters["host"] = "\(primary.directory),\(standby.directory)"
        parameters["port"] = "\(primary.port),\(standby.port)"
        let store = try FleetDatabase.registry(.patient(parameters))
        try primary.session().run("ALTER SYSTEM SET synchronous_standby_names = '\(names)'")
        try primary.session().run("SELECT pg_reload_conf()")
        _ = try await eventually {
            try primary.session().run("SHOW synchronous_standby_names", []).only().text(0) == names ? true : nil
        }
        try await fill(store)
        try await store.keepWitness()
        _ = try await eventually {
            let count = try standby.session(database: database.name).run(
                "SELECT count(*) FROM portcullis.refresh_family WHERE last_hash IS NOT NULL", [])
            return try count.only().integer(0) == 1 ? true : nil
        }
        try await primary.crash()
        try standby.session().run("ALTER SYSTEM SET synchronous_standby_names = ''")
        try standby.session().run("SELECT pg_promote(true)")
        try standby.session().run("SELECT pg_reload_conf()")
        // The gateway remembers no more than such a standby has.
        try await eventually { try await store.keepWitness() }
        let outcome = try await eventually { try await store.use(.sample(1, to: 2)) }
        #expect(keeps ? outcome.isRotated || outcome.repeatedSealed == [2] : outcome == .unknown)
        #expect(try await store.families(of: .sample(1)).isEmpty == !keeps)
        #expect(try await store.begin(.sample(2)) == .begun)
        #expect(try await store.use(.sample(0, to: 1, of: 2)).isRotated)
        store.close()
        withExtendedLifetime(standbys) {}
    }
}
