import Crypto
import Foundation
import StrictJSON
import Testing

@testable import DPoP

@Suite("The vectors of RFC 7515, 7638 and 9449", .enabled(if: Vectors.areAvailable, "\(Vectors.skipReason)"))
struct RFCVectorTests {
    private func vectors() throws -> JOSEVectors { try #require(Vectors.jose) }

    private func key(_ key: JOSEVectors.Key) throws -> PublicJWK {
        try PublicJWK(x: try #require(key.x), y: try #require(key.y))
    }

    @Test func `RFC 7515 A.3: the ES256 signature verifies, and its payload is JSON with line breaks`() throws {
        let vector = try vectors().es256JWS
        let jws = try CompactJWS(vector.jwt)
        try jws.requireES256(types: nil)
        #expect(jws.isSigned(by: try key(vector.jwk).key))
        #expect(try jws.claims()["http://example.com/is_root"] == .bool(true))
        #expect(try !jws.isSigned(by: key(vectors().dpopKey.jwk).key))
    }

    @Test func `RFC 7638 section 3.1 and RFC 9449 section 6.1: thumbprints`() throws {
        for vector in try vectors().thumbprints {
            if let n = vector.jwk.n, let e = vector.jwk.e {
                let members = Array(#"{"e":"\#(e)","kty":"RSA","n":"\#(n)"}"#.utf8)
                #expect(JWKThumbprint(hashing: members).text == vector.sha256)
            } else {
                #expect(try key(vector.jwk).thumbprint.text == vector.sha256)
            }
        }
        #expect(try vectors().thumbprints.count == 2)
        #expect(try key(vectors().dpopKey.jwk).thumbprint.text == vectors().dpopKey.jkt)
    }

    @Test(arguments: Vectors.jose?.dpopProofs ?? [])
    func `RFC 9449: every proof verifies in its request`(vector: JOSEVectors.Proof) throws {
        var request = ProofRequest(proofs: [vector.jwt], method: vector.htm, url: vector.htu)
        let thumbprint = try #require(JWKThumbprint(text: try vectors().dpopKey.jkt))
        if let token = vector.accessToken {
            let presented = try #require(try PresentedToken.read(authorization: ["DPoP \(token)"]))
            request.token = BoundToken(presented, boundTo: thumbprint)
        }
        let verified = try DPoPVerifier().verify(request, at: Date(timeIntervalSince1970: vector.payload.iat))
        #expect(verified.key.thumbprint == thumbprint)
        #expect(verified.uri.text == vector.htu && verified.isForToken == (vector.accessToken != nil))
    }
}

/// The outcome that the file expects is an error code; the table below says for which reason we give it.
@Suite("The proofs by fixed keys", .enabled(if: Vectors.areAvailable, "\(Vectors.skipReason)"))
struct ProofVectorTests {
    private static let rows = Vectors.proofs?.rows ?? []

    @Test func `the file has the 60 rows that the table below knows`() {
        #expect(Self.rows.count == 60 && Set(Self.rows.map(\.id)) == Set(Self.reasons.keys))
    }

    @Test(arguments: rows)
    func `has the outcome that the file expects, for our reason`(row: ProofVectors.Row) throws {
        let vectors = try #require(Vectors.proofs)
        let (outcome, reason) = try judge(row, vectors)
        switch row.expect {
        case "accept-or-refuse-but-say-so": #expect(outcome == "accept")
        default: #expect(row.expect.components(separatedBy: " or ").contains(outcome), "\(outcome): \(reason)")
        }
        #expect(reason == Self.reasons[row.id])
    }

    private func judge(_ row: ProofVectors.Row, _ vectors: ProofVectors) throws -> (outcome: String, reason: String) {
        let nonce = vectors.nonce
        let verifier = DPoPVerifier(nonces: .required { presented, _ in presented == nonce }, window: vectors.window)
        do {
            let presented = try PresentedToken.read(authorization: row.request.authorization)
            let bound = presented?.text == vectors.token ? JWKThumbprint(text: vectors.tokenKey) : nil
            let request = ProofRequest(
                proofs: row.dpop, method: row.request.method, url: row.request.url,
                token: presented.map { BoundToken($0, boundTo: bound) })
            _ = try verifier.verify(request, at: Date(timeIntervalSince1970: vectors.now))
            return ("accept", "")
        } catch let refusal as ProofRefusal {
            return (refusal.code.rawValue, "\(refusal)")
        } catch let refusal as AuthorizationRefusal {
            return (refusal.code.rawValue, "\(refusal)")
        }
    }

    private static let reasons = reasons(
        accepted: ["ok", "ok-query", "ok-htu-case", "ok-escaped-slash", "iat-fraction", "ath-at-token"],
        refused: [
            (.tokenWithoutProof, ["none", "bearer-bound"]),
            (.severalFields, ["two"]),
            (.malformed(.partCount), ["empty", "joined", "two-parts", "five-parts"]),
            (.malformed(.malformedBase64URL(.signature)), ["trailing-space"]),
            (.malformed(.malformedBase64URL(.header)), ["pad"]),
            (.malformed(.type), ["typ-missing", "typ-jwt"]),
            (.malformed(.signatureLength), ["alg-hs256", "sig-65"]),
            (.malformed(.algorithm), ["alg-missing", "alg-mismatch", "alg-rs256"]),
            (.malformed(.criticalHeader), ["crit"]),
            (.jwk(.privateMember), ["jwk-private", "jwk-symmetric"]),
            (.jwk(.notOnCurve), ["jwk-not-on-curve"]),
            (.jwk(.coordinate), ["jwk-short-x", "jwk-long-x"]),
            (.signatureMismatch, ["sig-zero", "sig-n"]),
            (.methodMismatch, ["payload-changed", "htm-lower"]),
            (.claim(.jti), ["jti-missing", "jti-number", "jti-huge"]),
            (.claim(.htm), ["htm-missing"]),
            (.claim(.htu), ["htu-number"]),
            (.claim(.iat), ["iat-missing", "iat-text", "iat-huge"]),
            (.claim(.nonce), ["nonce-number"]),
            (
                .uriMismatch,
                [
                    "htu-path", "htu-host", "htu-port", "htu-http", "htu-path-case", "htu-slash", "htu-userinfo",
                    "htu-relative", "htu-scheme",
                ]
            ),
            (.clockSkew(seconds: 31), ["iat-future"]),
            (.clockSkew(seconds: 1_798_200_000_000), ["iat-ms"]),
            (.outsideItsValidity, ["exp-past", "nbf-future"]),
            (.nonceMissing, ["nonce-missing"]),
            (.tokenHashMismatch, ["ath-wrong"]),
            (.keyMismatch, ["jkt"]),
            (.tokenNotBound, ["unbound-token"]),
        ],
        unread: [(.severalFields, ["two-authorizations"]), (.malformedToken, ["malformed-token"])])

    private static func reasons(
        accepted: [String], refused: [(ProofRefusal, [String])], unread: [(AuthorizationRefusal, [String])]
    ) -> [String: String] {
        var reasons = Dictionary(uniqueKeysWithValues: accepted.map { ($0, "") })
        for (refusal, ids) in refused { for id in ids { reasons[id] = "\(refusal)" } }
        for (refusal, ids) in unread { for id in ids { reasons[id] = "\(refusal)" } }
        return reasons
    }
}
