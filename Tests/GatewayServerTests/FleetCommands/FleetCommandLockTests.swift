import EdgeTestKit
import KeyStore
import PostgreSQL
import PostgreSQLTestKit
import Testing

/// Who can hold up the operator's commands by a lock, and for how long.
@Suite("The locks of a fleet's database")
struct FleetCommandLockTests {
    private static let key: UInt8 = 1

    /// Each needs the lock of the feed.
    private static func changes() throws -> [[String]] {
        let id = try FleetCommandBench.name(key)
        return [
            ["keys", "revoke", id], ["keys", "restore", id], ["block-list", "add", "address", "203.0.113.0/24"],
            ["block-list", "remove", "address", "203.0.113.0/24"], ["dev-tokens", "issue", "--name", "ci"],
            ["signing-keys", "rotate"],
        ]
    }

    private func session(_ bench: FleetCommandBench, as role: String) throws -> PostgreSQLConnection {
        var parameters = bench.server.parameters(database: bench.database)
        parameters["user"] = role
        return try PostgreSQLConnection(DriverOptions(parameters: parameters))
    }

    @Test func `are no concern of a role that may only connect`() async throws {
        let bench = try await FleetCommandBench()
        let role = "stranger_of_\(bench.database)"
        try bench.server.session().run("CREATE ROLE \(role) LOGIN")
        let stranger = try session(bench, as: role)
        try stranger.run("SELECT pg_advisory_lock(1346587474, key) FROM generate_series(0, 64) key")
        try await bench.fill([FleetCommandBench.key(Self.key)])
        for arguments in try Self.changes() {
            let output = try await GatewayProcess.run(arguments, bench.fleet)
            #expect(output.ending == .exited(0), "\(arguments): \(output)")
        }
        try await bench.expect("store", "import", bench.path)
        try await bench.expect("store", "migrate")
        let held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
        #expect(try stranger.run(held, []).only().integer(0) == 65)
        for table in ["feed", "home", "schema", "changes"] {
            for lock in ["SELECT 1 FROM portcullis.\(table) FOR UPDATE", "LOCK TABLE portcullis.\(table)"] {
                #expect(throws: DatabaseError.self, "\(lock)") { try stranger.run(lock) }
            }
        }
    }

    @Test func `end a command in time, if a role that has the right holds one, and nothing is done`() async throws {
        let bench = try await FleetCommandBench()
        try await bench.fill([FleetCommandBench.key(Self.key)])
        let holder = try bench.server.session(database: bench.database)
        try holder.run("BEGIN; SELECT 1 FROM portcullis.feed FOR UPDATE")
        try await expectLocked(bench, Self.changes().filter { $0[1] != "remove" })
        try holder.run("ROLLBACK")
        #expect(try await bench.expect("keys", "list").outputText.contains("active"))
        #expect(try await bench.expect("block-list", "list").outputText.isEmpty)
        try holder.run("BEGIN; LOCK TABLE portcullis.schema")
        try await expectLocked(bench, [["store", "migrate"]])
        try holder.run("ROLLBACK")
        try await bench.expect("store", "migrate")
    }

    private func expectLocked(_ bench: FleetCommandBench, _ commands: [[String]]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for arguments in commands {
                group.addTask {
                    let output = try await GatewayProcess.run(arguments, bench.fleet)
                    #expect(output.ending == .exited(1), "\(arguments): \(output)")
                    #expect(output.errorText.contains("holds a lock"), "\(arguments): \(output)")
                }
            }
            try await group.waitForAll()
        }
    }
}
