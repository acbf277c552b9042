import EdgeTestKit
import Foundation
import Glibc
import KeyStore
import PostgreSQL
import PostgreSQLTestKit
import Testing

/// What a command says, and how it ends, when the database of a fleet can't be used.
@Suite("The operator's commands without their database")
struct FleetCommandFaultTests {
    private static let commands: [[String]] = [
        ["keys", "list"], ["keys", "prune", "--idle", "90d"], ["dev-tokens", "list"],
        ["dev-tokens", "issue", "--name", "ci"], ["signing-keys", "list"], ["signing-keys", "rotate"],
        ["store", "check"],
    ]

    /// Expects that no command can do anything, that each names the database, and says why.
    private func expectFailures(
        _ bench: FleetCommandBench, _ reasons: String..., settings: GatewaySettings? = nil,
        commands: [[String]] = commands, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        for arguments in commands {
            let output = try await GatewayProcess.run(arguments, settings ?? bench.fleet)
            let text = output.outputText + output.errorText
            #expect(output.ending == .exited(1), "\(arguments): \(output)", sourceLocation: sourceLocation)
            for reason in reasons {
                #expect(text.contains(reason), "\(arguments): \(output)", sourceLocation: sourceLocation)
            }
        }
    }

    @Test func `nobody listens`() async throws {
        let server = try await PostgresServer.launch()
        let bench = try await FleetCommandBench(on: server)
        try await bench.fill([FleetCommandBench.key(1)])
        try await server.stop()
        try await expectFailures(bench, "can't be reached", "connection to server")
        let output = try await bench.run("keys", "list")
        let reason = "error: \(bench.database) on \(server.directory):5432 can't be used"
        #expect(output.errorText.contains(reason) && output.errorText.contains("hint: "), "\(output)")
    }

    /// Not even the kernel of the server's machine says that nobody is there.
    @Test func `the server is frozen`() async throws {
        let server = try await PostgresServer.launch()
        let bench = try await FleetCommandBench(on: server)
        try await bench.fill([FleetCommandBench.key(1)])
        server.signal(SIGSTOP)
        try await expectFailures(
            bench, "can't be reached", commands: [["keys", "list"], ["signing-keys", "rotate"], ["store", "check"]])
        server.signal(SIGCONT)
        try await bench.expect("keys", "list")
    }

    /// The command has its connections already.
    @Test func `a lock isn't free in time`() async throws {
        let bench = try await FleetCommandBench()
        try await bench.fill([FleetCommandBench.key(1)])
        let session = try bench.server.session(database: bench.database)
        try session.run("BEGIN; LOCK TABLE portcullis.device_key")
        let id = try FleetCommandBench.name(1)
        let output = try await bench.run("keys", "revoke", id)
        #expect(output.ending == .exited(1) && output.errorText.contains("holds a lock"), "\(output)")
        try session.run("ROLLBACK")
        #expect(try await bench.run("keys", "show", id).outputText.contains("revoked") == false)
    }

    @Test func `the tables are missing, or of another version`() async throws {
        let bench = try await FleetCommandBench()
        try await expectFailures(bench, "no schema portcullis", "portcullis store migrate")
        try await bench.expect("store", "migrate")
        let session = try bench.server.session(database: bench.database)
        try session.run("UPDATE portcullis.schema SET version = 99, oldest = 98")
        try await expectFailures(bench, "version 99", "install a newer one")
        try session.run("UPDATE portcullis.schema SET version = 0, oldest = 0")
        try await expectFailures(bench, "portcullis store migrate")
    }

    @Test func `a standby only reads`() async throws {
        let bench = try await FleetCommandBench()
        try await bench.fill([FleetCommandBench.key(1)])
        try bench.server.session().run("ALTER DATABASE \(bench.database) SET default_transaction_read_only = on")
        try await expectFailures(bench, "read", commands: [["keys", "list"], ["store", "check"]])
    }

    @Test func `the role has no rights`() async throws {
        let bench = try await FleetCommandBench()
        try await bench.fill([FleetCommandBench.key(1)])
        try bench.server.session().run("CREATE ROLE nobody_of_\(bench.database) LOGIN")
        let url = "postgresql://nobody_of_\(bench.database)@/\(bench.database)?host=\(bench.server.directory)"
        try await expectFailures(bench, "permission denied", settings: bench.fleet.setting("STORE_URL", url))
    }

    @Test func `the file of the keys is missing, or has other keys`() async throws {
        let bench = try await FleetCommandBench()
        try await bench.fill([FleetCommandBench.key(1)])
        for settings in [
            bench.fleet.removing("STORE_SECRETS_KEY_PATH"),
            bench.fleet.setting("STORE_SECRETS_KEY_PATH", bench.directory.file("nothing")),
            bench.fleet.setting("ATTESTED_KEYS_PATH", bench.path),
        ] {
            for arguments in Self.commands {
                let output = try await GatewayProcess.run(arguments, settings)
                #expect(output.ending == .exited(78), "\(arguments): \(output)")
                #expect(output.errorText.contains("STORE_"), "\(output)")
            }
        }
        try await bench.expect("signing-keys", "rotate")
        let others = try bench.directory.write(String(repeating: "77", count: 32) + "\n", to: "others")
        try await expectFailures(
            bench, "STORE_SECRETS_KEY_PATH", settings: bench.fleet.setting("STORE_SECRETS_KEY_PATH", others),
            commands: [
                ["signing-keys", "list"], ["signing-keys", "rotate"], ["signing-keys", "revoke", "x"],
                ["store", "check"],
            ])
        #expect(try await bench.expect("signing-keys", "list").outputLines.count == 1)
    }
}
