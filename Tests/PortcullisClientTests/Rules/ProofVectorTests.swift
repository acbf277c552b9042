import Crypto
import DPoP
import EdgeTestKit
import Foundation
import Testing

@testable import PortcullisClient

/// What this library signs, against the vectors that a strict verifier has, and against that verifier.
@Suite("Proofs")
struct ProofVectorTests {
    private struct Vectors: Decodable {
        struct Row: Decodable {
            struct Request: Decodable {
                let method, url: String
            }
            let id: String
            let request: Request
            let dpop: [String]?
            let expect: String
        }
        struct Key: Decodable {
            let d, x, y: String
        }
        let now: Int
        let nonce, token, tokenJkt: String
        let key: Key
        let rows: [Row]
    }

    /// Nil without the vectors: they aren't part of the project.
    private static func vectors() throws -> Vectors? {
        let folder =
            ProcessInfo.processInfo.environment["PORTCULLIS_VECTORS"] ?? RepositoryText.root.path + "/../shared/vectors"
        guard let data = FileManager.default.contents(atPath: folder + "/dpop/proofs.json") else {
            print("no vectors at \(folder): set PORTCULLIS_VECTORS")
            return nil
        }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(Vectors.self, from: data)
    }

    private static func signer(_ vectors: Vectors) throws -> ProofSigner {
        let scalar = try #require(BinaryText.bytes(base64: vectors.key.d.utf8))
        return try ProofSigner(try SoftwareDeviceKeys().restoreKey(Data(scalar)))
    }

    @Test func `the key is written as in the vectors`() throws {
        guard let vectors = try Self.vectors() else { return }
        let signer = try Self.signer(vectors)
        let expected = #"{"crv":"P-256","kty":"EC","x":"\#(vectors.key.x)","y":"\#(vectors.key.y)"}"#
        #expect(String(decoding: signer.canonicalJWK, as: UTF8.self) == expected)
        #expect(BinaryText.base64URL(signer.thumbprint) == vectors.tokenJkt)
    }

    /// The rows that an honest client can make: those that are accepted.
    @Test func `every row that a client can make is made, and accepted by the verifier`() throws {
        guard let vectors = try Self.vectors() else { return }
        let signer = try Self.signer(vectors)
        let rows = vectors.rows.filter { $0.expect == "accept" }
        #expect(rows.count >= 4)
        let nonce = vectors.nonce
        let verifier = DPoPVerifier(nonces: .required(accepts: { given, _ in given == nonce }))
        let now = Date(timeIntervalSince1970: TimeInterval(vectors.now))
        let presented = try #require(try PresentedToken.read(authorization: ["DPoP " + vectors.token]))
        let token = BoundToken(presented, boundTo: JWKThumbprint(text: vectors.tokenJkt))
        let replays = MemoryReplayStore()
        for row in rows {
            let proof = try signer.proof(
                .init(
                    method: row.request.method, url: row.request.url, time: vectors.now, identifier: UUID().uuidString,
                    nonce: vectors.nonce, accessToken: vectors.token))
            let request = ProofRequest(proofs: [proof], method: row.request.method, url: row.request.url, token: token)
            _ = try verifier.verify(request, at: now, spending: replays)
            // The same claims as the row's own proof.
            let (ours, theirs) = (try Self.payload(proof), try Self.payload(try #require(row.dpop?.first)))
            for name in ["htm", "ath", "nonce"] {
                #expect(ours[name] as? String == theirs[name] as? String, "\(row.id) \(name)")
            }
        }
    }

    /// The other rows are mistakes that this client can't make: none of its proofs looks like them.
    @Test func `no proof has what the refused rows have`() throws {
        guard let vectors = try Self.vectors() else { return }
        let signer = try Self.signer(vectors)
        for url in ["https://gate.example/api/x?a=1#f", "https://gate.example/api/x"] {
            let proof = try signer.proof(
                .init(
                    method: "GET", url: url, time: vectors.now, identifier: UUID().uuidString, nonce: nil,
                    accessToken: vectors.token))
            let parts = proof.split(separator: ".", omittingEmptySubsequences: false)
            #expect(parts.count == 3)
            #expect(!proof.contains { $0.isWhitespace || $0 == "," || $0 == "=" })
            #expect(BinaryText.bytes(base64: parts[2].utf8)?.count == 64)
            let header = try Self.decoded(parts[0])
            let jwk = try #require(header["jwk"] as? [String: Any])
            #expect(Set(header.keys) == ["alg", "typ", "jwk"] && Set(jwk.keys) == ["crv", "kty", "x", "y"])
            #expect(header["alg"] as? String == "ES256" && header["typ"] as? String == "dpop+jwt")
            for name in ["x", "y"] {
                #expect((jwk[name] as? String).flatMap { BinaryText.bytes(base64: $0.utf8) }?.count == 32)
            }
            let payload = try Self.payload(proof)
            #expect(Set(payload.keys) == ["htm", "htu", "iat", "jti", "ath"])
            #expect(payload["htu"] as? String == "https://gate.example/api/x" && payload["iat"] as? Int == vectors.now)
        }
    }

    private static func payload(_ proof: String) throws -> [String: Any] {
        try decoded(proof.split(separator: ".", omittingEmptySubsequences: false)[1])
    }

    private static func decoded(_ part: Substring) throws -> [String: Any] {
        let bytes = try #require(BinaryText.bytes(base64: part.utf8))
        return try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
    }
}
