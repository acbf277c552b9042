import Foundation
import KeyStore
import KeyStorePostgreSQL
import PostgreSQL
import PostgreSQLTestKit
import Testing

/// Copies of a server that have its system identifier, its database and its timeline: only gateways know that they are
/// older.
@Suite("Families of refresh tokens in an older copy of a server")
struct RefreshCopyTests {
    private let server: PostgresServer
    private let database: FleetDatabase

    init() async throws {
        var options = PostgresServer.Options()
        options.synchronizes = true
        server = try await PostgresServer.launch(options)
        database = try await FleetDatabase(on: server)
        _ = try await database.registry.begin(.sample(1), maximum: 10)
        #expect(try await database.registry.begin(.sample()) == .begun)
        #expect(try await database.registry.use(.sample(0, to: 1)).isRotated)
    }

    /// No test takes as long: no beat follows by itself.
    private let long: Duration = .seconds(86_400)

    private func gateway(in folder: TemporaryDirectory, on server: PostgresServer) throws -> PostgreSQLKeyRegistry {
        let witness = RefreshWitnessKeeper(in: folder.path, pause: long)
        return try FleetDatabase.registry(.patient(server.parameters(database: database.name)), witness: witness)
    }

    private func text(_ expression: String, on server: PostgresServer) throws -> String {
        try server.session(database: database.name).run("SELECT (\(expression))::text", []).only().text(0)
    }

    private func epoch(on server: PostgresServer) throws -> String {
        try text("SELECT epoch FROM portcullis.refresh_home", on: server)
    }

    @Test func `end once with a base backup that is started as it is`() async throws {
        let folders = try (0..<3).map { _ in try TemporaryDirectory() }
        let gateways = try folders.map { try gateway(in: $0, on: server) }
        for gateway in gateways { try await gateway.keepWitness() }
        var options = PostgresServer.Options()
        options.original = server
        let copy = try await PostgresServer.launch(options)
        #expect(try await gateways[0].use(.sample(1, to: 2)).isRotated)
        for gateway in gateways { try await gateway.keepWitness() }
        for place in ["portcullis.home_place(true)", "portcullis.refresh_timeline()"] {
            #expect(try text(place, on: copy) == text(place, on: server))
        }
        // It may have written more than the server since.
        try copy.session().run("CREATE TABLE public.filler AS SELECT generate_series(1, 100000)")
        #expect(try text("pg_current_wal_lsn() > '\(text("pg_current_wal_lsn()", on: server))'", on: copy) == "true")

        // All gateways have been started anew.
        let restarted = try folders.map { try gateway(in: $0, on: copy) }
        #expect(try await restarted[0].use(.sample(1, to: 3)) == .unknown)
        #expect(try await restarted[0].families(of: .sample(1)).isEmpty)
        #expect(try await restarted[0].begin(.sample(2)) == .begun)
        #expect(try await restarted[1].use(.sample(0, to: 1, of: 2)).isRotated)
        for gateway in restarted.reversed() { try await gateway.keepWitness() }
        #expect(try await restarted[2].use(.sample(1, to: 2, of: 2)).isRotated)
        #expect(try epoch(on: copy) == "2")
        // And the server that was left has heard nothing of what happened in the copy.
        let back = try gateway(in: folders[0], on: server)
        #expect(try await back.use(.sample(2, to: 3)) == .unknown)
    }

    @Test func `end with a snapshot that the server is rolled back to, while a gateway runs`() async throws {
        let store = database.registry
        try await store.keepWitness()
        try await server.crash()
        try await server.takeSnapshot()
        try await server.start()
        let later = try await eventually { try await store.use(.sample(1, to: 2)) }
        #expect(later.isRotated || later.repeatedSealed == [2])
        try await store.keepWitness()
        try await server.crash()
        try server.rollBack()
        try await server.start()
        #expect(try await eventually { try await store.use(.sample(1, to: 3)) } == .unknown)
        #expect(try await store.begin(.sample(2)) == .begun)
        try await store.keepWitness()
        #expect(try await store.use(.sample(0, to: 1, of: 2)).isRotated)
        #expect(try epoch(on: server) == "2")
    }

    @Test func `end with a copy of before all families ended for another reason`() async throws {
        let store = database.registry
        try await store.keepWitness()
        try await server.crash()
        try await server.takeSnapshot()
        try await server.start()
        _ = try await eventually { try await store.end(.all, at: 5) }
        try await store.keepWitness()
        try await server.crash()
        try server.rollBack()
        try await server.start()
        #expect(try await eventually { try await store.use(.sample(1, to: 2)) } == .unknown)
    }

    /// Keeps a copy of the files, has the running server do something that the copy lacks, and goes back to it.
    private func goBack(behind lost: () async throws -> Void) async throws {
        try await server.crash()
        try await server.takeSnapshot()
        try await server.start()
        // A driver may need a moment to notice.
        _ = try await eventually { try await database.registry.families(of: .sample(1)) }
        try await lost()
        try await server.crash()
        try server.rollBack()
        try await server.start()
        // It has written more than it lacks.
        try server.session().run("CREATE TABLE public.filler AS SELECT generate_series(1, 100000)")
    }

    @Test func `end with a snapshot that lacks only one use, without a beat`() async throws {
        let store = database.registry
        try await goBack {
            let use = try await eventually { try await store.use(.sample(1, to: 2)) }
            try #require(use.isRotated)
        }
        #expect(try await eventually { try await store.use(.sample(1, to: 3)) } == .unknown)
        #expect(try epoch(on: server) == "2")
        #expect(try await store.begin(.sample(2)) == .begun)
        #expect(try await store.use(.sample(0, to: 1, of: 2)).isRotated)
        #expect(try epoch(on: server) == "2")
    }

    @Test func `end with such a snapshot for a gateway that is started anew`() async throws {
        let folder = try TemporaryDirectory()
        let before = try gateway(in: folder, on: server)
        try await goBack {
            let use = try await eventually { try await before.use(.sample(1, to: 2)) }
            try #require(use.isRotated)
            try await before.leave(GatewayMembership(id: "1", name: "1", version: "1"), within: 60_000)
        }
        before.close()
        #expect(try await gateway(in: folder, on: server).use(.sample(1, to: 3)) == .unknown)
        #expect(try epoch(on: server) == "2")
    }

    /// Then the copy can't tell how far it came.
    @Test func `end with a snapshot that was stopped before a gateway asks, soon after the use that it lacks`()
        async throws
    {
        let folder = try TemporaryDirectory()
        let keeper = RefreshWitnessKeeper(in: folder.path)
        let options = DriverOptions.patient(server.parameters(database: database.name))
        let store = try FleetDatabase.registry(options, witness: keeper)
        try await store.keepWitness()
        try await goBack {
            let use = try await eventually { try await store.use(.sample(1, to: 2)) }
            try #require(use.isRotated)
            _ = try await eventually { keeper.present.beats > 1 ? true : nil }
            store.close()
        }
        try await server.stop()
        try await server.start()
        #expect(try text("coalesce(pg_last_wal_replay_lsn()::text, 'none')", on: server) == "none")
        let restarted = try FleetDatabase.registry(options, witness: keeper)
        #expect(try await restarted.use(.sample(1, to: 3)) == .unknown)
        #expect(try epoch(on: server) == "2")
    }

    /// Such a copy recovers nothing, and has no beat less: it is behind in the log alone.
    @Test func `end with a copy of a stopped server that has written less than it lacks, without a beat`() async throws
    {
        let store = try gateway(in: try TemporaryDirectory(), on: server)
        try await store.keepWitness()
        try await server.stop()
        try await server.takeSnapshot()
        try await server.start()
        _ = try await eventually { try await store.families(of: .sample(1)) }
        try server.session().run("CREATE TABLE public.filler AS SELECT generate_series(1, 1000)")
        let use = try await eventually { try await store.use(.sample(1, to: 2)) }
        try #require(use.isRotated)
        try await server.stop()
        try server.rollBack()
        try await server.start()
        #expect(try await eventually { try await store.use(.sample(1, to: 3)) } == .unknown)
        #expect(try text("coalesce(pg_last_wal_replay_lsn()::text, 'none')", on: server) == "none")
        #expect(try epoch(on: server) == "2")
    }

    @Test func `end with a snapshot that lacks a log-out`() async throws {
        let store = database.registry
        try await goBack {
            let count = try await eventually { try await store.end(.family(.sample(1)), at: 5) }
            try #require(count == 1)
        }
        #expect(try await eventually { try await store.use(.sample(1, to: 2)) } == .unknown)
        #expect(try epoch(on: server) == "2")
    }

    @Test func `end though a log-out is the first that the copy hears of`() async throws {
        let store = database.registry
        #expect(try await store.begin(.sample(2)) == .begun)
        try await goBack {
            let use = try await eventually { try await store.use(.sample(1, to: 2)) }
            try #require(use.isRotated)
        }
        _ = try await eventually { try await store.end(.family(.sample(2)), at: 5) }
        #expect(try await store.use(.sample(1, to: 3)) == .unknown)
        #expect(try epoch(on: server) == "2")
    }

    /// Each token once, with a repetition and a refusal.
    private static func use(_ family: Int, untilAway store: PostgreSQLKeyRegistry) async {
        var token = 0
        while (try? await store.use(.sample(token, to: token + 1, of: family))) != nil {
            _ = try? await store.use(.sample(token, to: 99, of: family))
            _ = try? await store.use(.sample(0, to: 1, of: 999))
            token += 1
        }
    }

    @Test func `go on after crashes amid uses, repetitions and refusals`() async throws {
        let store = database.registry
        for round in 1..<5 {
            let families = (round * 10)..<(round * 10 + 5)
            for family in families {
                #expect(try await eventually { try await store.begin(.sample(family)) } == .begun)
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for family in families { group.addTask { await Self.use(family, untilAway: store) } }
                group.addTask { [server] in
                    for _ in 0..<20 { _ = try? await store.use(.sample(0, to: 99)) }
                    try await server.crash()
                }
                try await group.waitForAll()
            }
            try await server.start()
            try await eventually { try await store.keepWitness() }
            #expect(try epoch(on: server) == "1")
        }
        #expect(try await eventually { try await store.families(of: .sample(1)) }.count == 21)
    }

    @Test func `go on after crashes`() async throws {
        let folder = try TemporaryDirectory()
        let gateways = [database.registry, try gateway(in: folder, on: server)]
        for token in 1..<4 {
            for gateway in gateways { try await eventually { try await gateway.keepWitness() } }
            try await server.crash()
            try await server.start()
            let outcome = try await eventually { try await gateways[token % 2].use(.sample(token, to: token + 1)) }
            #expect(outcome.isRotated || outcome.repeatedSealed == [UInt8(token + 1)])
        }
        #expect(try epoch(on: server) == "1")
    }
}
