import FoundationEssentials
import KeyStore
import KeyStorePostgreSQL
import PostgreSQL
import PostgreSQLTestKit
import Testing

/// The database's clock is stepped, and those of the gateways aren't.
@Suite(
    "Families of refresh tokens while the database's clock is wrong",
    .enabled(if: PostgresServer.canHaveClock, "needs a C compiler"))
struct RefreshClockTests {
    @Test(arguments: [3_600, -3_600])
    func `go on, and an end is told`(seconds: Int) async throws {
        var options = PostgresServer.Options()
        options.hasOwnClock = true
        let database = try await FleetDatabase(on: PostgresServer.launch(options))
        let (store, now) = (database.registry, Int64(Date().timeIntervalSince1970 * 1_000))
        let feed = PostgreSQLRevocations(of: try database.anotherRegistry())
        _ = try await store.begin(.sample(1), maximum: 10)
        for number in 1...3 { #expect(try await store.begin(.sample(number, at: now)) == .begun) }
        #expect(try await store.use(.sample(0, to: 1, at: now)).isRotated)
        _ = try await feed.news()
        try database.server.stepClock(to: seconds)
        #expect(abs(try clock(of: database) - (now + Int64(seconds) * 1_000)) < 1_800_000)
        #expect(try await store.use(.sample(0, to: 9, at: now + 1_000)).repeatedSealed == [1])
        #expect(try await store.use(.sample(1, to: 2, at: now + 2_000)).isRotated)
        // Each lives by the clock by which it lives longer.
        #expect(try await store.expireFamilies(at: now + 3_000) == 0)
        #expect(try await store.end(.family(.sample(2)), at: now) == 1)
        #expect(try await feed.news()?.revocations?.families == [.sample(2)])
        #expect(try await store.use(.sample(0, to: 1, of: 2, at: now + 3_000)) == .unknown)
        try database.server.stepClock(to: 0)
        #expect(try await store.expireFamilies(at: now + 3_600_000) == 0)
        #expect(try await store.use(.sample(1, to: 9, at: now + 4_000)).repeatedSealed == [2])
        #expect(try await store.use(.sample(2, to: 3, at: now + 5_000)).isRotated)
        #expect(try await store.end(.family(.sample(3)), at: now) == 1)
        #expect(try await feed.news()?.revocations?.families == [.sample(2), .sample(3)])
        #expect(try await store.families(of: .sample(1)).map(\.id) == [.sample(1)])
    }

    /// Unix milliseconds.
    private func clock(of database: FleetDatabase) throws -> Int64 {
        try database.session().run("SELECT portcullis.milliseconds(clock_timestamp())", []).only().integer(0)
    }
}
