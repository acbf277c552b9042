import Foundation
import Testing
import WireText

@testable import DPoP

@Suite("An access token")
struct AccessTokenTests {
    private let now = TestProof.now
    private let key: SigningKey
    private let claims: AccessTokenClaims

    init() throws {
        key = try #require(SigningKey(rawRepresentation: [UInt8](repeating: 3, count: 32)))
        claims = AccessTokenClaims(
            issuer: "https://gate.example", audience: ["https://gate.example"], subject: "key-1",
            app: "ABCDE12345.com.example.app", admissionMethod: "app_attest", tokenID: "t-1", issuedAt: now,
            expiresAt: now + 300, boundKey: try TestProof().thumbprint)
    }

    private func verifier(issuer: String? = nil, audience: String? = nil, tolerance: Double = 0) -> AccessTokenVerifier
    {
        AccessTokenVerifier(
            issuer: issuer ?? claims.issuer, audience: audience ?? claims.issuer, keys: JWKSet([key.publicKey]),
            clockTolerance: tolerance)
    }

    private func presented(_ text: String) throws -> PresentedToken {
        try #require(try PresentedToken.read(authorization: ["DPoP \(text)"]))
    }

    private func refusal(_ text: String, _ verifier: AccessTokenVerifier? = nil, at offset: Double = 0) throws
        -> AccessTokenRefusal?
    {
        let token = try presented(text)
        do throws(AccessTokenRefusal) {
            _ = try (verifier ?? self.verifier()).verify(token, at: now + offset)
            return nil
        } catch { return error }
    }

    /// A token with the key's signature over claims of any kind. nil removes one; values are raw JSON.
    private func token(_ changes: [String: String?] = [:], header: String? = nil) throws -> String {
        let object = try #require(try JSONSerialization.jsonObject(with: Data(claims.json)) as? [String: Any])
        var members: [String: String] = [:]
        for (name, value) in object {
            let json = try JSONSerialization.data(withJSONObject: value, options: [.fragmentsAllowed])
            members[name] = String(decoding: json, as: UTF8.self)
        }
        for (name, value) in changes { members[name] = value }
        let payload = "{" + members.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
        return try TestProof.sign(
            header: header ?? #"{"typ":"at+jwt","alg":"ES256","kid":"\#(key.keyID)"}"#, payload: payload, by: key.key)
    }

    @Test func `has the claims of RFC 9068 and 9449`() throws {
        for isDevelopment in [false, true] {
            var claims = claims
            claims.isDevelopment = isDevelopment
            claims.audience = isDevelopment ? ["https://other.example", claims.issuer] : claims.audience
            let text = try claims.sign(with: key)
            let verified = try verifier().verify(try presented(text), at: now)
            #expect(verified.claims == claims && verified.keyID == key.keyID)
            let parts = text.split(separator: ".").compactMap { Base64URL.decode(String($0)) }
            let header = try JSONSerialization.jsonObject(with: Data(parts[0])) as? [String: String]
            #expect(header == ["typ": "at+jwt", "alg": "ES256", "kid": key.keyID])
            let payload = try #require(try JSONSerialization.jsonObject(with: Data(parts[1])) as? [String: Any])
            #expect(payload["mode"] as? String == (isDevelopment ? "dev" : nil))
            #expect((payload["cnf"] as? [String: String]) == ["jkt": claims.boundKey.text])
            #expect(payload["client_id"] as? String == claims.app && payload["amr"] as? [String] == ["app_attest"])
            #expect(payload["iat"] as? Int == 1_900_000_000 && payload["exp"] as? Int == 1_900_000_300)
            #expect(isDevelopment == (payload["aud"] is [String]))
        }
    }

    @Test func `is valid from its issue until it expires, within the clock tolerance`() throws {
        let text = try claims.sign(with: key)
        #expect(try refusal(text, at: 299) == nil && refusal(text, at: 300) == .expired)
        #expect(try refusal(text, at: -1) == .notYetValid)
        let tolerant = verifier(tolerance: 5)
        #expect(try refusal(text, tolerant, at: 304) == nil && refusal(text, tolerant, at: 305) == .expired)
        #expect(try refusal(text, tolerant, at: -5) == nil && refusal(text, tolerant, at: -6) == .notYetValid)
        #expect(try refusal(token(["nbf": "1900000000"])) == nil)
        #expect(try refusal(token(["nbf": "1900000001"])) == .notYetValid)
        #expect(try refusal(token(["nbf": "\"1\""])) == .notYetValid)
    }

    @Test func `is valid only for its issuer and audience`() throws {
        let text = try claims.sign(with: key)
        #expect(try refusal(text, verifier(issuer: "https://other.example")) == .wrongIssuer)
        #expect(try refusal(text, verifier(audience: "https://other.example")) == .wrongAudience)
        #expect(try refusal(token(["aud": #"["a","https://gate.example"]"#])) == nil)
    }

    @Test func `is signed by a key of the set`() throws {
        let other = try #require(SigningKey(rawRepresentation: [UInt8](repeating: 4, count: 32)))
        #expect(try refusal(claims.sign(with: other)) == .unknownKey)
        let header = #"{"typ":"at+jwt","alg":"ES256","kid":"\#(other.keyID)"}"#
        let both = AccessTokenVerifier(
            issuer: claims.issuer, audience: claims.issuer, keys: JWKSet([key.publicKey, other.publicKey]))
        #expect(try refusal(token(header: header), both) == .signatureMismatch)
        #expect(try refusal(token(header: #"{"typ":"at+jwt","alg":"ES256"}"#)) == .unknownKey)
        let none = AccessTokenVerifier(issuer: claims.issuer, audience: claims.issuer, keys: JWKSet([]))
        #expect(try refusal(claims.sign(with: key), none) == .unknownKey)
    }

    @Test func `has its own typ, so that no proof and no other JWT is accepted as one`() throws {
        let kid = key.keyID
        #expect(try refusal(token(header: #"{"typ":"application/at+jwt","alg":"ES256","kid":"\#(kid)"}"#)) == nil)
        for typ in ["JWT", "dpop+jwt", "AT+JWT"] {
            let text = try token(header: #"{"typ":"\#(typ)","alg":"ES256","kid":"\#(kid)"}"#)
            #expect(try refusal(text) == .malformed(.type))
        }
        let none = try token(header: #"{"typ":"at+jwt","alg":"none","kid":"\#(kid)"}"#)
        #expect(try refusal(none) == .malformed(.algorithm))
        #expect(try refusal(TestProof().text) == .malformed(.type))
        #expect(try refusal("opaque") == .malformed(.partCount))
    }

    @Test(arguments: AccessTokenClaim.allCases)
    func `has every claim, of its type`(claim: AccessTokenClaim) throws {
        for value in ["null", "1e99", "true", "[]", "{}", "\"\""] {
            let refusal = try refusal(token([claim.rawValue: value]))
            #expect(refusal == .claim(claim), "\(value)")
        }
        guard claim != .mode, claim != .passkey else { return }
        #expect(try refusal(token([claim.rawValue: nil])) == (claim == .confirmation ? .notBound : .claim(claim)))
        #expect(AccessTokenRefusal.notBound.code == .invalidToken)
    }

    @Test func `has no claim twice, and one admission method`() throws {
        let payload = String(decoding: claims.json.dropLast(), as: UTF8.self) + #","sub":"another"}"#
        let text = try TestProof.sign(
            header: #"{"typ":"at+jwt","alg":"ES256","kid":"\#(key.keyID)"}"#, payload: payload, by: key.key)
        guard case .malformed(.malformedJSON(.payload, .duplicateMember)) = try refusal(text) else {
            Issue.record("a claim came twice")
            return
        }
        #expect(try refusal(token(["amr": #"["a","b"]"#])) == .claim(.admissionMethod))
        #expect(try refusal(token(["aud": #"["https://gate.example",1]"#])) == .claim(.audience))
        #expect(try refusal(token(["amr": "\"app_attest\""])) == .claim(.admissionMethod))
        #expect(try refusal(token(["mode": "\"prod\""])) == .claim(.mode))
    }

    @Test func `authorizes a request together with a proof of its key`() throws {
        let text = try claims.sign(with: key)
        let verified = try verifier().verify(try presented(text), at: now)
        var proof = try TestProof()
        proof.claims["ath"] = TestProof.hash(of: text)
        var request = try proof.request
        request.token = BoundToken(verified)
        #expect(try DPoPVerifier().verify(request).isForToken)
        request.proofs = [try TestProof(scalar: 8).text]
        #expect(throws: ProofRefusal.tokenHashMissing) { try DPoPVerifier().verify(request) }
        var stolen = try TestProof(scalar: 8)
        stolen.claims["ath"] = TestProof.hash(of: text)
        request.proofs = [try stolen.text]
        #expect(throws: ProofRefusal.keyMismatch) { try DPoPVerifier().verify(request) }
        request.proofs = []
        #expect(throws: ProofRefusal.tokenWithoutProof) { try DPoPVerifier().verify(request) }
    }
}
