import KeyStore
import KeyStorePostgreSQL
import PostgreSQL
import PostgreSQLTestKit
import Testing

/// The store of a fleet spends the proof of a use in the same step.
@Suite("The proof of a use of a refresh token")
struct RefreshProofTests {
    private let database: FleetDatabase
    private let home: StoreIncarnation

    init() async throws {
        database = try await FleetDatabase()
        home = try await database.registry.incarnation()
        _ = try await database.registry.begin(.sample(1), maximum: 10)
        #expect(try await database.registry.begin(.sample()) == .begun)
    }

    private func mark(_ proof: UInt64) -> SingleUseMark {
        .sample(proof, .tokenProof, expires: .now + 60_000)
    }

    /// How long a gateway waits for an answer.
    private var limit: Int64 { Int64(database.options.statementMilliseconds) }

    private func asked(_ token: Int, ago milliseconds: Int64) -> RefreshUse {
        var use = RefreshUse.sample(token, to: token + 1)
        use.askedAt = Int64.now - milliseconds
        return use
    }

    private func use(_ token: Int, proof: UInt64, in home: StoreIncarnation? = nil) async throws -> RefreshOutcome {
        try await database.registry.use(
            .sample(token, to: token + 1), spending: (mark(proof), home ?? self.home))
    }

    /// Who has seen a request sends it again after its successor was used: without the proof's mark that would end the
    /// family.
    @Test func `is used once, and one that is sent again ends nothing`() async throws {
        #expect(try await use(0, proof: 1).isRotated)
        #expect(try await use(1, proof: 2).isRotated)
        #expect(try await use(0, proof: 1) == .refused(.alreadySpent))
        #expect(try await database.registry.families(of: .sample(1)).count == 1)
        #expect(try await use(2, proof: 3).isRotated)
        #expect(try await use(0, proof: 4) == .reused(.sample(1)))
    }

    @Test func `of another incarnation changes nothing`() async throws {
        let other = try #require(StoreIncarnation(bytes: [UInt8](repeating: 9, count: home.bytes.count)))
        #expect(try await use(0, proof: 1, in: other) == .refused(.foreign))
        #expect(try await use(0, proof: 1).isRotated)
    }

    /// The statement of a gateway that has given up, or a frozen database: its client may have used two tokens since.
    @Test func `that comes after its gateway has given it up changes nothing`() async throws {
        #expect(try await use(0, proof: 1).isRotated)
        #expect(try await use(1, proof: 2).isRotated)
        func ask(_ token: Int, ago milliseconds: Int64) async throws -> RefreshOutcome {
            let use = asked(token, ago: milliseconds)
            return try await database.registry.use(use, spending: (mark(10), home))
        }
        for token in 0...2 {
            await #expect(throws: KeyRegistryError.busy) { try await ask(token, ago: limit + 2_000) }
        }
        // The proof is unused.
        #expect(try await ask(2, ago: limit - 30_000).isRotated)
    }

    @Test func `that has waited too long for the family changes nothing`() async throws {
        let holder = try database.session()
        try holder.run("BEGIN; SELECT 1 FROM portcullis.refresh_family FOR UPDATE")
        let end = Int64.now + 5_000
        let late = asked(0, ago: limit - 5_000)
        let (store, proof) = (database.registry, mark(1))
        let incarnation = home
        let outcome = Task { try await store.use(late, spending: (proof, incarnation)) }
        let watcher = try database.session()
        // It hasn't been refused at its start.
        let isWaiting = """
            SELECT EXISTS (SELECT 1 FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event_type = 'Lock')
            """
        _ = try await eventually { try watcher.run(isWaiting, []).only().boolean(0) ? true : nil }
        let isLate = "SELECT portcullis.milliseconds(clock_timestamp()) > \(end + 1_000)"
        _ = try await eventually { try watcher.run(isLate, []).only().boolean(0) ? true : nil }
        try holder.run("COMMIT")
        await #expect(throws: KeyRegistryError.busy) { try await outcome.value }
        #expect(try await use(0, proof: 2).isRotated)
    }

    @Test func `is used up by a use of another key, too`() async throws {
        let mark = self.mark(1)
        let thief = RefreshUse.sample(0, to: 8, key: tokenHash(77))
        #expect(try await database.registry.use(thief, spending: (mark, home)) == .wrongKey(.sample(1)))
        #expect(try await database.registry.use(thief, spending: (mark, home)) == .refused(.alreadySpent))
        #expect(try await use(0, proof: 2).isRotated)
    }
}
