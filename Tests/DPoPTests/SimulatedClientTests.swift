import AppAttest
import DPoP
import DeviceSimulation
import Foundation
import Testing

/// The simulated client's proofs and its rules of use. Its code shares nothing with the verifier.
@Suite struct SimulatedClientTests {
    private static let time = Date(timeIntervalSince1970: 1_900_000_000)
    private static let url = "https://gate.example/v1/chat/completions?stream=true#part"
    private let key = SimulatedProofKey()

    private func proof(
        method: String = "POST", nonce: String? = nil, accessToken: String? = nil
    ) throws -> String {
        try key.sign(
            SimulatedProof(
                method: method, url: Self.url, time: Self.time, id: "9C5B94B1-35AD-49BB-B118-8E8FC24ABF80",
                nonce: nonce, accessToken: accessToken))
    }

    private func verify(_ proof: String, token: BoundToken? = nil, nonces: NonceRule = .ignored) throws -> VerifiedProof
    {
        try DPoPVerifier(nonces: nonces).verify(
            ProofRequest(proofs: [proof], method: "POST", url: Self.url, token: token), at: Self.time,
            spending: MemoryReplayStore())
    }

    @Test func `the verifier accepts a simulated device's proof, and sees its key`() throws {
        let verified = try verify(try proof())
        #expect(verified.key.canonicalJSON == key.jwk.canonicalJSON)
        #expect(verified.uri.text == "https://gate.example/v1/chat/completions")
    }

    @Test func `the proof binds the method`() throws {
        let proof = try proof(method: "GET")
        #expect(throws: ProofRefusal.methodMismatch) { try verify(proof) }
    }

    @Test func `the proof carries the nonce and the hash of the access token`() throws {
        let thumbprint = try PublicJWK(json: key.jwk.canonicalJSON).thumbprint
        let presented = try #require(try PresentedToken.read(authorization: ["DPoP some.access.token"]))
        let token = BoundToken(presented, boundTo: thumbprint)
        let rule = NonceRule.required { nonce, _ in nonce == "the-nonce" }
        let good = try proof(nonce: "the-nonce", accessToken: "some.access.token")
        #expect(try verify(good, token: token, nonces: rule).isForToken)
        let withoutHash = try proof(nonce: "the-nonce")
        #expect(throws: ProofRefusal.tokenHashMissing) { try verify(withoutHash, token: token, nonces: rule) }
        let withoutNonce = try proof(accessToken: "some.access.token")
        #expect(throws: ProofRefusal.nonceMissing) { try verify(withoutNonce, token: token, nonces: rule) }
    }

    @Test func `slashes are escaped in the payload, as clients' encoders do`() throws {
        let payload = try #require(try proof().split(separator: ".").dropFirst().first)
        let text = String(decoding: try #require(Data(base64URL: String(payload))), as: UTF8.self)
        #expect(text.contains(#""htu":"https:\/\/gate.example\/v1"#))
    }

    @Test(arguments: 0...5)
    func `base64url is read and written without padding, for every remainder`(count: Int) {
        let bytes = Data((0..<count).map { UInt8(0xFB &+ $0) })
        #expect(Data(base64URL: bytes.base64URL) == bytes)
        #expect(!bytes.base64URL.contains { "+/=".contains($0) })
    }

    @Test func `a restored device keeps its key`() throws {
        let app = try #require(AppID(teamID: "ABCDE12345", bundleID: "com.example.mud"))
        let device = SimulatedDevice(app: app)
        let data = try JSONEncoder().encode(device.saved)
        let restored = try SimulatedDevice(restoring: JSONDecoder().decode(SimulatedDevice.Saved.self, from: data))
        #expect(restored.proofKey.jwk == device.proofKey.jwk)
    }

    // MARK: Rules of use

    @Test(arguments: [(239.0, true), (240.0, false), (300.0, false)])
    func `a token is used until 60 s before its end`(seconds: Double, isFresh: Bool) {
        let token = HeldToken(text: "t", lifetime: 300, requestedAt: Self.time)
        #expect(token.isFresh(at: Self.time + seconds) == isFresh)
    }

    @Test func `nonces are kept per server, and an answer without one keeps the last`() {
        var nonces = OriginNonces()
        nonces.note("one", from: "https://a:443")
        nonces.note("two", from: "https://b:443")
        nonces.note(nil, from: "https://a:443")
        #expect(nonces["https://a:443"] == "one")
        #expect(nonces["https://b:443"] == "two")
        #expect(nonces["https://c:443"] == nil)
    }

    @Test func `a 401 is retried once, for a nonce and for an invalid token`() {
        let invalid = #"DPoP algs="ES256", error="invalid_token""#
        let demand = #"DPoP algs="ES256", error="use_dpop_nonce""#
        func answer(_ status: Int, _ nonce: String?, _ scheme: String?, _ tried: Set<ProofAnswer> = []) -> ProofAnswer {
            ProofAnswer.of(status: status, nonce: nonce, authenticate: scheme, tried: tried)
        }
        #expect(answer(401, "n", demand) == .retryWithNonce)
        #expect(answer(401, "n", demand, [.retryWithNonce]) == .final)
        #expect(answer(401, nil, demand) == .final)
        #expect(answer(400, "n", demand) == .final)
        #expect(answer(200, "n", nil) == .final)
        #expect(answer(401, nil, invalid) == .retryWithToken)
        #expect(answer(401, "n", demand, [.retryWithToken]) == .retryWithNonce)
        #expect(answer(401, nil, invalid, [.retryWithToken]) == .final)
    }
}
