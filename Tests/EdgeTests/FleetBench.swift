import EdgeTestKit
import Foundation
import PostgreSQL
import PostgreSQLTestKit

/// A database with its tables, and what the gateways of a fleet have in common.
struct FleetBench: Sendable {
    let apple: SimulatedApple
    let server: PostgresServer
    let database: String
    let target: TargetServer
    private let directory: TemporaryDirectory
    /// Of the gateways.
    private let url: String

    /// - Parameters:
    ///   - server: nil: one that other tests use too.
    ///   - ports: through these ports of the loopback interface, each of which leads to a server; nil: through the
    ///     server's own socket.
    ///   - authority: a file, which has signed the server's certificate for `localhost`; nil: without TLS.
    ///   - migrates: whether the tables are made.
    ///   - kind: of the target.
    init(
        on server: PostgresServer? = nil, through ports: [Int]? = nil, authority: String? = nil, migrates: Bool = true,
        target kind: TargetServer.Manner = .echo
    ) async throws {
        apple = try SimulatedApple()
        if let server { self.server = server } else { self.server = try await .shared() }
        database = try await self.server.makeDatabase()
        let own = "postgresql://portcullis@/\(database)?host=\(self.server.directory)&port=\(self.server.port)"
        let host = authority == nil ? "127.0.0.1" : "localhost"
        let hosts = ports.map { $0.map { "\(host):\($0)" }.joined(separator: ",") }
        let tls = authority.map { "verify-full&sslrootcert=\($0)" } ?? "disable"
        url = hosts.map { [database] in "postgresql://portcullis@\($0)/\(database)?sslmode=\(tls)" } ?? own
        target = try await TargetServer.start(kind)
        directory = try TemporaryDirectory()
        _ = try directory.write(String(repeating: "5c", count: 32) + "\n", to: "store.key")
        if migrates { try await migrate() }
    }

    /// - Parameter program: nil: the one that was built.
    func migrate(by program: String? = nil) async throws {
        let output = try await GatewayProcess.run(["store", "migrate"], storeSettings, program: program)
        guard output.ending == .exited(0) else { throw EdgeTestError("not migrated: \(output)") }
    }

    /// Where the store is, for commands.
    var storeSettings: GatewaySettings {
        var settings = GatewaySettings(targetPort: target.port)
        settings.values = [
            "STORE_URL": url,
            "STORE_SECRETS_KEY_PATH": directory.file("store.key"),
        ]
        return settings
    }

    /// Of each gateway.
    var settings: GatewaySettings {
        var settings = GatewaySettings(targetPort: target.port).appAttest(apple).setting(
            "PUBLIC_ORIGIN", "http://localhost"
        ).setting("FAILED_UPGRADES_PER_MINUTE", "100000").setting("CHALLENGES_PER_MINUTE", "100000")
        settings.values.merge(storeSettings.values) { $1 }
        return settings
    }

    func gateway(_ change: (GatewaySettings) -> GatewaySettings = { $0 }) async throws -> GatewayProcess {
        try await GatewayProcess.start(change(settings))
    }

    func gateways(_ count: Int) async throws -> [GatewayProcess] {
        var gateways: [GatewayProcess] = []
        for _ in 0..<count { gateways.append(try await gateway()) }
        return gateways
    }

    /// As an operator's tool does it on another machine.
    func change(_ statement: String, _ key: String) throws {
        let hex = Data(base64Encoded: key)?.map { String(format: "%02x", $0) }.joined() ?? ""
        try server.session(database: database).run("SELECT \(statement.replacing("KEY", with: "'\\x\(hex)'::bytea"))")
    }
}

extension FleetBench {
    /// Where one of the gateways listens for the others.
    func portForGateways() throws -> Int {
        let address = try server.session(database: database).run("SELECT address FROM portcullis.gateway LIMIT 1", [])
            .only().text(0)
        guard let port = address.split(separator: ":").last.flatMap({ Int($0) }) else { throw EdgeTestError(address) }
        return port
    }

    /// Waits until the gateways have noted so many sessions of their clients.
    func eventuallyCounts(_ sessions: Int64, _ column: String = "sessions") async throws {
        let sum = "SELECT coalesce(sum(\(column)), 0)::int8 FROM portcullis.holding"
        try await Poll.untilTrue("the count of sessions") {
            try server.session(database: database).run(sum, []).only().integer(0) == sessions
        }
    }
}

extension FleetBench {
    /// The window of counters that is recorded.
    func window() throws -> (size: Int64, epoch: Int64) {
        let row = try server.session(database: database).run("SELECT size, epoch FROM portcullis.counter_window", [])
            .only()
        return (try row.integer(0), try row.integer(1))
    }

    /// Waits until so many gateways have sent a heartbeat in the last second.
    func eventuallyBeat(_ gateways: Int64) async throws {
        let beating =
            "SELECT count(*) FROM portcullis.gateway WHERE heartbeat > clock_timestamp() - interval '1 second'"
        try await Poll.untilTrue("the gateways' heartbeats") {
            try server.session(database: database).run(beating, []).only().integer(0) == gateways
        }
    }
}

extension GatewayProcess {
    /// Tries until the gateway admits, or refuses, as `isExpected` demands.
    func eventually(
        _ what: String, within limit: Duration = .seconds(20),
        _ attempt: () async throws -> Bool
    ) async throws {
        try await Poll.untilTrue(what, within: limit, attempt)
    }
}
