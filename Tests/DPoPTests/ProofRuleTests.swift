import Foundation
import Testing

@testable import DPoP

/// Each rule with proofs of our own: what passes at the limit, and what doesn't beyond it.
@Suite("A DPoP proof")
struct ProofRuleTests {
    private let verifier = DPoPVerifier()

    private func refusal(_ change: (inout TestProof) throws -> Void) throws -> ProofRefusal? {
        var proof = try TestProof()
        try change(&proof)
        return refusal(of: try proof.request)
    }

    private func refusal(of request: ProofRequest, at time: Date = TestProof.now) -> ProofRefusal? {
        do throws(ProofRefusal) {
            _ = try verifier.verify(request, at: time)
            return nil
        } catch { return error }
    }

    @Test func `is verified and yields what was signed`() throws {
        var proof = try TestProof()
        proof.claims["nonce"] = "\"n\""
        let verified = try verifier.verify(try proof.request)
        #expect(verified.key.thumbprint == (try proof.thumbprint))
        #expect(verified.method == "GET" && verified.uri.text == TestProof.url && verified.nonce == "n")
        #expect(verified.issuedAt == TestProof.now && !verified.isForToken)
    }

    @Test func `is the only one of its request`() throws {
        var request = try TestProof().request
        request.proofs = []
        #expect(refusal(of: request) == .missing)
        request.proofs = [try TestProof().text, try TestProof().text]
        #expect(refusal(of: request) == .severalFields)
    }

    @Test func `has the exact typ and alg, and no critical header`() throws {
        for typ in ["\"DPoP+JWT\"", "\"application/dpop+jwt\"", "1", "null"] {
            #expect(try refusal { $0.header["typ"] = typ } == .malformed(.type), "\(typ)")
        }
        for alg in ["\"none\"", "\"es256\"", "\"ES256K\"", "\"EdDSA\"", "[\"ES256\"]"] {
            #expect(try refusal { $0.header["alg"] = alg } == .malformed(.algorithm), "\(alg)")
        }
        #expect(try refusal { $0.header["crit"] = "[]" } == .malformed(.criticalHeader))
        #expect(try refusal { $0.header["b64"] = "true" } == .malformed(.criticalHeader))
        #expect(try refusal { $0.header["kid"] = "\"elsewhere\"" } == nil)
    }

    @Test func `has a public key on P-256 in its header, and its signature`() throws {
        #expect(try refusal { $0.header["jwk"] = nil } == .jwkMissing)
        #expect(try refusal { $0.header["jwk"] = "\"key\"" } == .jwkMissing)
        let other = try TestProof.key(8)
        #expect(try refusal { $0.header["jwk"] = TestProof.jwk(other) } == .signatureMismatch)
        for member in ["d", "p", "q", "dp", "dq", "qi", "oth", "k"] {
            let refusal = try refusal { $0.header["jwk"] = TestProof.jwk($0.key, also: ",\"\(member)\":1") }
            #expect(refusal == .jwk(.privateMember), "\(member)")
        }
    }

    @Test func `has no member twice, in header and payload`() throws {
        let key = try TestProof.key(7)
        let genuine = try TestProof()
        func refusal(header: String = "", payload: String = "") throws -> ProofRefusal? {
            let text = try TestProof.sign(
                header: #"{"typ":"dpop+jwt","alg":"ES256","jwk":\#(TestProof.jwk(key))\#(header)}"#,
                payload: #"{"jti":"a","htm":"GET","htu":"\#(TestProof.url)","iat":1900000000\#(payload)}"#, by: key)
            var request = try genuine.request
            request.proofs = [text]
            return self.refusal(of: request)
        }
        #expect(try refusal() == nil)
        for (header, payload) in [(#","typ":"dpop+jwt""#, ""), ("", #","htm":"GET""#), ("", #","\u0068tm":"PUT""#)] {
            guard case .malformed(.malformedJSON(_, .duplicateMember)) = try refusal(header: header, payload: payload)
            else {
                Issue.record("\(header)\(payload)")
                continue
            }
        }
    }

    @Test func `has a jti of one to 256 bytes`() throws {
        #expect(try refusal { $0.claims["jti"] = "\"\"" } == .claim(.jti))
        #expect(try refusal { $0.claims["jti"] = "\"\(String(repeating: "a", count: 256))\"" } == nil)
        #expect(try refusal { $0.claims["jti"] = "\"\(String(repeating: "a", count: 257))\"" } == .claim(.jti))
    }

    @Test(arguments: ProofClaim.allCases)
    func `has claims of the right type`(claim: ProofClaim) throws {
        for value in ["null", "true", "[]", "{}", "\"\"", "-1e400", "1e17"] {
            guard let refusal = try refusal({ $0.claims[claim.rawValue] = value }) else {
                // An empty text is a text.
                #expect(value == "\"\"" && [.ath, .nonce].contains(claim))
                continue
            }
            let isText = [.htm, .htu].contains(claim) && value == "\"\""
            #expect(isText || refusal == .claim(claim), "\(value): \(refusal)")
        }
    }

    @Test func `is valid only for its method, and methods are case-sensitive`() throws {
        for method in ["POST", "get", "GET ", "", "ＧＥＴ"] {
            #expect(try refusal { $0.claims["htm"] = "\"\(method)\"" } == .methodMismatch, "\(method)")
        }
    }

    @Test func `is valid only for its URI, also for a WebSocket`() throws {
        for uri in ["wss://gate.example/api/x", "https://gate.example/api/x?a=b#c", "https://gate.example/api/./%78"] {
            #expect(try refusal { $0.claims["htu"] = "\"\(uri)\"" } == nil, "\(uri)")
        }
        for uri in ["ws://gate.example/api/x", "https://gate.example/", "https://gate.example", ""] {
            #expect(try refusal { $0.claims["htu"] = "\"\(uri)\"" } == .uriMismatch, "\(uri)")
        }
        var request = try TestProof(url: "").request
        request.url = ""
        #expect(refusal(of: request) == .uriMismatch)
    }

    @Test func `is valid for 30 seconds before and after its time, and the refusal has the clock's error`() throws {
        let request = try TestProof().request
        for offset in [-30.0, -29.5, 0, 30] { #expect(refusal(of: request, at: TestProof.now + offset) == nil) }
        #expect(refusal(of: request, at: TestProof.now + 30.5) == .clockSkew(seconds: -31))
        #expect(refusal(of: request, at: TestProof.now + 31) == .clockSkew(seconds: -31))
        #expect(refusal(of: request, at: TestProof.now - 31) == .clockSkew(seconds: 31))
        #expect(refusal(of: request, at: Date(timeIntervalSince1970: .nan))?.code == .clockSkew)
        #expect(try refusal { $0.claims["iat"] = "9007199254740992" }?.code == .clockSkew)
        #expect(try refusal { $0.claims["iat"] = "-1" }?.code == .clockSkew)
        #expect(try refusal { $0.claims["iat"] = "9007199254740994" } == .claim(.iat))
    }

    @Test func `keeps to its own exp and nbf, with the same tolerance`() throws {
        #expect(try refusal { $0.claims["exp"] = "1899999971" } == nil)
        #expect(try refusal { $0.claims["exp"] = "1899999970" } == .outsideItsValidity)
        #expect(try refusal { $0.claims["nbf"] = "1900000030" } == nil)
        #expect(try refusal { $0.claims["nbf"] = "1900000031" } == .outsideItsValidity)
    }

    @Test func `has the server's nonce where one is required`() throws {
        let nonces = try #require(ServerNonces(secret: [UInt8](repeating: 1, count: 32)))
        let verifier = DPoPVerifier(nonces: .required(nonces))
        var proof = try TestProof()
        #expect(throws: ProofRefusal.nonceMissing) { try verifier.verify(try proof.request) }
        proof.claims["nonce"] = "\"another\""
        #expect(throws: ProofRefusal.nonceUnknown) { try verifier.verify(try proof.request) }
        #expect(ProofRefusal.nonceMissing.code == .useNonce && ProofRefusal.nonceUnknown.code == .useNonce)
        proof.claims["nonce"] = "\"\(nonces.nonce(at: TestProof.now))\""
        #expect(try verifier.verify(try proof.request).nonce == nonces.nonce(at: TestProof.now))
        #expect(try refusal { $0.claims["nonce"] = "\"\(String(repeating: "n", count: 257))\"" } == .claim(.nonce))
    }

    @Test func `shows by its nonce in which life of the replay store it was made`() throws {
        let nonces = try #require(ServerNonces(secret: [UInt8](repeating: 1, count: 32)))
        let (life, former) = (ReplayLife(began: TestProof.now), ReplayLife(began: nil))
        var proof = try TestProof()
        func verify(_ rule: NonceRule) throws -> ProofRefusal? {
            let (request, replays) = (try proof.request, MemoryReplayStore(life: life))
            do throws(ProofRefusal) {
                _ = try DPoPVerifier(nonces: rule).verify(request, at: TestProof.now, spending: replays)
                return nil
            } catch { return error }
        }
        let bound = nonces.bound(to: life)
        #expect(try verify(.recognised(bound)) == .perhapsInEarlierLife)
        #expect(ProofRefusal.perhapsInEarlierLife.code == .useNonce)
        for other in [nonces.nonce(at: TestProof.now), nonces.bound(to: former).nonce(at: TestProof.now), "another"] {
            proof.claims["nonce"] = "\"\(other)\""
            #expect(try verify(.recognised(bound)) == .perhapsInEarlierLife)
            #expect(try verify(.required(bound)) == .nonceUnknown)
        }
        proof.claims["nonce"] = "\"\(bound.nonce(at: TestProof.now))\""
        #expect(try verify(.recognised(bound)) == nil && verify(.required(bound)) == nil)
        // Where nobody looks at it, or where it is bound to nothing, it shows nothing.
        #expect(try verify(.ignored) == .perhapsInEarlierLife)
        #expect(try verify(.required(accepts: { _, _ in true })) == .perhapsInEarlierLife)
        proof.claims["nonce"] = "\"\(nonces.nonce(at: TestProof.now))\""
        #expect(try verify(.required(nonces)) == .perhapsInEarlierLife)
    }

    @Test func `has ath where the scheme is DPoP; with Bearer it may be absent, but not wrong`() throws {
        var proof = try TestProof()
        #expect(refusal(of: try proof.request("DPoP")) == .tokenHashMissing)
        #expect(refusal(of: try proof.request("Bearer")) == nil)
        proof.claims["ath"] = TestProof.hash(of: "another")
        #expect(refusal(of: try proof.request("DPoP")) == .tokenHashMismatch)
        #expect(refusal(of: try proof.request("Bearer")) == .tokenHashMismatch)
        #expect(refusal(of: try proof.request) == nil)
        proof.claims["ath"] = TestProof.hash(of: TestProof.token)
        #expect(try verifier.verify(try proof.request("DPoP")).isForToken)
        #expect(refusal(of: try proof.request("Bearer")) == nil)
    }

    @Test func `is signed by the key that the token is bound to, and a bound token needs one`() throws {
        var request = try TestProof().request("Bearer")
        let presented = try #require(try PresentedToken.read(authorization: ["Bearer \(TestProof.token)"]))
        request.token = BoundToken(presented, boundTo: try TestProof(scalar: 8).thumbprint)
        #expect(refusal(of: request) == .keyMismatch)
        request.token = BoundToken(presented, boundTo: nil)
        #expect(refusal(of: request) == .tokenNotBound)
        request = try TestProof().request("Bearer")
        request.proofs = []
        #expect(refusal(of: request) == .tokenWithoutProof)
        #expect(ProofRefusal.tokenWithoutProof.code == .invalidToken)
    }

    @Test func `is accepted once, and not spent by a refusal`() throws {
        let replays = MemoryReplayStore()
        let request = try TestProof().request
        var wrong = request
        wrong.method = "PUT"
        #expect(throws: ProofRefusal.methodMismatch) {
            try verifier.verify(wrong, at: TestProof.now, spending: replays)
        }
        #expect(replays.count == 0)
        _ = try verifier.verify(request, at: TestProof.now, spending: replays)
        for offset in [-30.0, 0, 30] {
            #expect(throws: ProofRefusal.replayed) {
                try verifier.verify(request, at: TestProof.now + offset, spending: replays)
            }
        }
        // Another signature over the same claims is the same proof.
        let again = try TestProof().request
        #expect(throws: ProofRefusal.replayed) { try verifier.verify(again, at: TestProof.now, spending: replays) }
        // Another key, and another URI, have identifiers of their own.
        let other = try TestProof(scalar: 8).request
        _ = try verifier.verify(other, at: TestProof.now, spending: replays)
        var elsewhere = try TestProof(url: "https://gate.example/y").request
        elsewhere.url = "https://gate.example/y"
        _ = try verifier.verify(elsewhere, at: TestProof.now, spending: replays)
        #expect(replays.count == 3)
    }

    @Test func `is accepted once when many threads present it at the same time`() throws {
        let verifier = verifier
        for round in 0..<20 {
            let replays = MemoryReplayStore()
            let request = try TestProof(id: "race-\(round)").request
            let outcomes = DPoPTests.race(16) { _ -> ProofRefusal? in
                do throws(ProofRefusal) {
                    _ = try verifier.verify(request, at: TestProof.now, spending: replays)
                    return nil
                } catch { return error }
            }
            #expect(outcomes.filter { $0 == nil }.count == 1)
            #expect(outcomes.filter { $0 == .replayed }.count == 15)
        }
    }

    @Test func `has a documented code for every refusal`() {
        #expect(ProofRefusal.clockSkew(seconds: 1).code.rawValue == "clock_skew")
        #expect(ProofRefusal.replayed.code.rawValue == "invalid_dpop_proof")
        #expect(ProofRefusal.storeFull.code.rawValue == "rate_limited")
        #expect(ProofRefusal.keyLimit.code.rawValue == "rate_limited")
        #expect(ProofRefusal.undecidable.code.rawValue == "invalid_dpop_proof")
        #expect(ProofRefusal.keyMismatch.code.rawValue == "invalid_token")
        #expect(ProofRefusal.nonceMissing.code.rawValue == "use_dpop_nonce")
        #expect(AuthorizationRefusal.severalFields.code.rawValue == "invalid_request")
    }
}
