import FoundationEssentials
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

    /// - Parameter seconds: until the proof expires.
    private func mark(_ proof: UInt64, for seconds: Double = 60) -> SingleUseMark {
        let end = Date(timeIntervalSinceNow: seconds).timeIntervalSince1970
        return .sample(proof, .tokenProof, expires: Int64(end * 1_000))
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
    @Test func `that has expired on its way changes nothing`() async throws {
        #expect(try await use(0, proof: 1).isRotated)
        #expect(try await use(1, proof: 2).isRotated)
        for (number, token) in [0, 1, 2].enumerated() {
            let late = self.mark(10 + UInt64(number), for: -30)
            let outcome = try await database.registry.use(.sample(token, to: 9), spending: (late, home))
            #expect(outcome == .refused(.expired))
        }
        #expect(try await use(2, proof: 3).isRotated)
    }

    @Test func `is used up by a use of another key, too`() async throws {
        let mark = self.mark(1)
        let thief = RefreshUse.sample(0, to: 8, key: tokenHash(77))
        #expect(try await database.registry.use(thief, spending: (mark, home)) == .wrongKey(.sample(1)))
        #expect(try await database.registry.use(thief, spending: (mark, home)) == .refused(.alreadySpent))
        #expect(try await use(0, proof: 2).isRotated)
    }
}
