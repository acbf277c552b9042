import DPoP
import DeviceSimulation
import Foundation
import Testing

@testable import LibraryExample

@Suite struct GuideExampleTests {
    @Test func `the guide's service accepts a request with a token and a proof, and accepts it once`() throws {
        let url = "https://api.example/hello"
        let device = SimulatedProofKey()
        let key = try #require(SigningKey(rawRepresentation: [UInt8](repeating: 9, count: 32)))
        let service = try #require(
            ProtectedService(
                keys: JWKSet([key.publicKey]).json, issuer: "https://gate.example", audience: "https://gate.example"))
        let claims = AccessTokenClaims(
            issuer: "https://gate.example", audience: ["https://gate.example"], subject: "device", app: "app",
            admissionMethod: "app_attest", tokenID: "1", issuedAt: Date(), expiresAt: Date() + 300,
            boundKey: try PublicJWK(json: device.jwk.canonicalJSON).thumbprint)
        let token = try claims.sign(with: key)
        let proof = try device.sign(
            SimulatedProof(method: "GET", url: url, time: Date(), id: UUID().uuidString, accessToken: token))
        func send() throws -> AccessTokenClaims? {
            try service.sender(method: "GET", url: url, authorization: ["DPoP \(token)"], dpop: [proof])
        }
        #expect(try send()?.subject == "device")
        #expect(throws: ProofRefusal.replayed) { try send() }
        #expect(throws: ProofRefusal.tokenWithoutProof) {
            try service.sender(method: "GET", url: url, authorization: ["DPoP \(token)"], dpop: [])
        }
        #expect(try service.sender(method: "GET", url: url, authorization: [], dpop: []) == nil)
    }

    /// Like a database.
    private actor Table: SharedTable {
        private var keys: Set<String> = []
        private(set) var longest: Int64 = 0
        private let isReachable: Bool

        init(isReachable: Bool = true) { self.isReachable = isReachable }

        func insert(_ key: String, seconds: Int64) throws -> Bool {
            guard isReachable else { throw CancellationError() }
            longest = max(longest, seconds)
            return keys.insert(key).inserted
        }
    }

    @Test func `the guide's shared store accepts a proof once, and knows what it doesn't know`() async throws {
        let (time, url) = (Date(timeIntervalSince1970: 1_760_000_000), "https://api.example/hello")
        func request(_ id: String) throws -> ProofRequest {
            let proof = SimulatedProof(method: "GET", url: url, time: time, id: id)
            return ProofRequest(proofs: [try SimulatedProofKey().sign(proof)], method: "GET", url: url)
        }
        let table = Table()
        let shared = SharedReplays(table: table, life: ReplayLife(began: time - 3_600))
        let first = try request("1")
        #expect(try await DPoPVerifier().verify(first, at: time, spending: shared).method == "GET")
        await #expect(throws: ProofRefusal.replayed) {
            try await DPoPVerifier().verify(first, at: time, spending: shared)
        }
        #expect(await table.longest >= 35)
        let (second, third) = (try request("2"), try request("3"))
        let begun = SharedReplays(table: Table(), life: ReplayLife(began: time))
        await #expect(throws: ProofRefusal.perhapsInEarlierLife) {
            try await DPoPVerifier().verify(second, at: time, spending: begun)
        }
        let cut = SharedReplays(table: Table(isReachable: false), life: ReplayLife(began: nil))
        await #expect(throws: ProofRefusal.storeUnavailable) {
            try await DPoPVerifier().verify(third, at: time, spending: cut)
        }
        let late = try DPoPVerifier().check(request("4"), at: time)
        await #expect(throws: ProofRefusal.undecidable) { try await late.spend(in: shared, at: time + 31) }
    }
}
