import DPoP
import DeviceSimulation
import Foundation
import Testing

// docs/LIBRARY.md contains this type unchanged; a test of the documentation compares the two.

struct ProtectedService {
    let tokens: AccessTokenVerifier
    let proofs = DPoPVerifier()
    let replays = MemoryReplayStore()

    /// - Parameter keys: the body of `/.well-known/jwks.json`.
    init?(keys: [UInt8], issuer: String, audience: String) {
        guard let keys = JWKSet(json: keys) else { return nil }
        tokens = AccessTokenVerifier(issuer: issuer, audience: audience, keys: keys, clockTolerance: 60)
    }

    /// - Parameters:
    ///   - url: as the client sees it.
    ///   - authorization: the values of all `Authorization` fields.
    ///   - dpop: the values of all `DPoP` fields.
    /// - Returns: nil without a token. Every other fault is thrown.
    func sender(method: String, url: String, authorization: [String], dpop: [String]) throws -> AccessTokenClaims? {
        guard let presented = try PresentedToken.read(authorization: authorization) else { return nil }
        let token = try tokens.verify(presented, at: Date())
        let request = ProofRequest(proofs: dpop, method: method, url: url, token: BoundToken(token))
        _ = try proofs.verify(request, at: Date(), spending: replays)
        return token.claims
    }
}

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
}
