import KeyStore
import KeyStorePostgreSQL
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

    private func use(_ token: Int, proof: UInt64, in home: StoreIncarnation? = nil) async throws -> RefreshOutcome {
        let mark = SingleUseMark.sample(proof, .tokenProof)
        return try await database.registry.use(.sample(token, to: token + 1), spending: (mark, home ?? self.home))
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

    @Test func `is used up by a use of another key, too`() async throws {
        let mark = SingleUseMark.sample(1, .tokenProof)
        let thief = RefreshUse.sample(0, to: 8, key: tokenHash(77))
        #expect(try await database.registry.use(thief, spending: (mark, home)) == .wrongKey(.sample(1)))
        #expect(try await database.registry.use(thief, spending: (mark, home)) == .refused(.alreadySpent))
        #expect(try await use(0, proof: 2).isRotated)
    }
}
