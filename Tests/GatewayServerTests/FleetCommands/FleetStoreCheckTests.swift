import EdgeTestKit
import Foundation
import KeyStore
import KeyStorePostgreSQL
import PostgreSQL
import PostgreSQLTestKit
import Testing

/// `portcullis store check` and `store backup` on a fleet's database.
@Suite("The check of a fleet's database")
struct FleetStoreCheckTests {
    private func findings(_ output: ChildOutput) throws -> [String: [String: String]] {
        let object = try JSONSerialization.jsonObject(with: Data(output.standardOutput)) as? [String: Any]
        let findings = try #require(object?["findings"] as? [[String: String]])
        #expect(object?["good"] as? Bool == (output.ending == .exited(0)))
        return Dictionary(findings.map { ($0["check"] ?? "", $0) }, uniquingKeysWith: { first, _ in first })
    }

    private func makeServer(_ settings: [String] = []) async throws -> PostgresServer {
        var options = PostgresServer.Options()
        (options.synchronizes, options.settings) = (true, settings)
        return try await PostgresServer.launch(options)
    }

    @Test func `finds nothing wrong with a good one, and names the tools of a backup`() async throws {
        let bench = try await FleetCommandBench(on: makeServer())
        try bench.server.session().run("REVOKE ALL ON DATABASE \(bench.database) FROM PUBLIC")
        try await bench.fill((1...3).map { try FleetCommandBench.key($0) })
        try await bench.expect("signing-keys", "rotate")
        try await bench.expect("keys", "revoke", FleetCommandBench.name(1))
        let session = try bench.server.session(database: bench.database)
        try session.run("DELETE FROM portcullis.home")
        let output = try await bench.expect("store", "check", "--json")
        let found = try findings(output)
        #expect(found.count == 8 && found.values.allSatisfy { $0["state"] == "ok" }, "\(output)")
        #expect(found["records"]?["text"]?.hasPrefix("3 keys, of which 1 are revoked") == true)
        #expect(found["secrets"]?["text"]?.contains("1 signing keys") == true)
        #expect(found["transport"]?["text"] == "no TLS, on this machine")
        #expect(found["incarnation"]?["text"]?.hasPrefix("none yet") == true)
        #expect(found["backup"]?["text"]?.contains("--no-unlogged-table-data") == true)
        let text = try await bench.expect("store", "check").outputText
        #expect(
            text.contains("ok: schema: version \(PostgreSQLSchema.current.version)")
                && text.contains("ok: server: can be written"), "\(text)")
        // It reads only.
        #expect(try session.run("SELECT count(*) FROM portcullis.home", []).only().integer(0) == 0)
        try session.run("SELECT portcullis.incarnation()")
        let later = try findings(try await bench.expect("store", "check", "--json"))
        #expect(later["incarnation"]?["text"] == "the database has one")

        let backup = try await bench.run("store", "backup", bench.directory.file("copy"))
        #expect(backup.ending == .exited(1), "\(backup)")
        for word in ["pg_basebackup", "pg_dump", "incarnation", "spent", "store export"] {
            #expect(backup.errorText.contains(word), "\(backup)")
        }
        #expect(!FileManager.default.fileExists(atPath: bench.directory.file("copy")))
    }

    @Test func `says what the server has switched off`() async throws {
        let bench = try await FleetCommandBench(on: makeServer(["fsync = off", "autovacuum = off"]))
        try await bench.fill([])
        let output = try await bench.run("store", "check", "--json")
        #expect(output.ending == .exited(1))
        let server = try #require(findings(output)["server"])
        #expect(server["state"] == "error" && server["text"] == "switched off: autovacuum, fsync", "\(server)")
    }

    @Test func `warns of a database that every role may connect to`() async throws {
        let bench = try await FleetCommandBench(on: makeServer())
        try await bench.fill([])
        let connection = try #require(findings(try await bench.expect("store", "check", "--json"))["connection"])
        #expect(connection["state"] == "warning" && connection["remedy"]?.contains("postgresql-roles.sql") == true)
    }

    @Test func `finds damaged rows`() async throws {
        let bench = try await FleetCommandBench(on: makeServer())
        try await bench.fill([FleetCommandBench.key(1)])
        try await bench.expect("signing-keys", "rotate")
        let session = try bench.server.session(database: bench.database)
        try session.run("UPDATE portcullis.signing_key SET secret = set_byte(secret, 40, get_byte(secret, 40) # 1)")
        let output = try await bench.run("store", "check", "--json")
        let secrets = try #require(findings(output)["secrets"])
        #expect(secrets["state"] == "error" && secrets["text"]?.contains("damaged") == true, "\(output)")
        try session.run("DELETE FROM portcullis.receipt")
        let again = try await bench.run("store", "check", "--json")
        #expect(try findings(again)["records"]?["state"] == "error", "\(again)")
    }
}
