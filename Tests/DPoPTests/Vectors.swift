import DPoP
import Foundation
import Testing

/// The vectors in the folder `dpop` of `PORTCULLIS_VECTORS` (default `../shared/vectors` beside the package): those of
/// the RFCs, and proofs by fixed keys. They are no part of the package: where they are absent, their tests say so and
/// are skipped.
enum Vectors {
    static let jose: JOSEVectors? = load("jose.json")
    static let proofs: ProofVectors? = load("proofs.json")
    static var areAvailable: Bool { jose != nil && proofs != nil }
    static let skipReason = "the DPoP vectors are absent (PORTCULLIS_VECTORS)"

    private static func load<File: Decodable>(_ name: String) -> File? {
        let configured = ProcessInfo.processInfo.environment["PORTCULLIS_VECTORS"]
        // <package>/Tests/DPoPTests/Vectors.swift
        let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let folder = configured.map { URL(filePath: $0) } ?? package.appending(path: "../shared/vectors")
        let file = folder.appending(path: "dpop/\(name)").standardizedFileURL
        guard let data = try? Data(contentsOf: file) else {
            print("skipped: \(skipReason); looked for \(file.path)")
            return nil
        }
        do { return try JSONDecoder().decode(File.self, from: data) } catch {
            fatalError("\(file.path) can't be read: \(error)")
        }
    }
}

struct JOSEVectors: Decodable, Sendable {
    struct Key: Decodable, Sendable {
        let kty: String
        let crv, x, y, n, e: String?
    }
    struct DPoPKey: Decodable, Sendable {
        let jwk: Key
        let jkt: String
    }
    struct Payload: Decodable, Sendable {
        let jti: String
        let iat: Double
    }
    struct Proof: Decodable, Sendable, CustomTestStringConvertible {
        let `where`, htm, htu, jwt: String
        let accessToken: String?
        let payload: Payload
        var testDescription: String { `where` }

        enum CodingKeys: String, CodingKey {
            case `where`, htm, htu, jwt, payload
            case accessToken = "access_token"
        }
    }
    struct Signature: Decodable, Sendable {
        let jwk: Key
        let jwt: String
    }
    struct Thumbprint: Decodable, Sendable {
        let jwk: Key
        let sha256: String
    }

    let dpopKey: DPoPKey
    let dpopProofs: [Proof]
    let es256JWS: Signature
    let thumbprints: [Thumbprint]

    enum CodingKeys: String, CodingKey {
        case thumbprints
        case dpopKey = "dpop_key"
        case dpopProofs = "dpop_proofs"
        case es256JWS = "es256_jws"
    }
}

struct ProofVectors: Decodable, Sendable {
    struct Request: Decodable, Sendable {
        let method, url: String
        /// The values of all fields; in the file one text, or a list.
        let authorization: [String]

        enum CodingKeys: String, CodingKey { case method, url, authorization }

        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            method = try values.decode(String.self, forKey: .method)
            url = try values.decode(String.self, forKey: .url)
            if let one = try? values.decode(String.self, forKey: .authorization) {
                authorization = one.isEmpty ? [] : [one]
            } else {
                authorization = try values.decode([String].self, forKey: .authorization)
            }
        }
    }
    struct Row: Decodable, Sendable, CustomTestStringConvertible {
        let id, expect: String
        let request: Request
        let dpop: [String]
        var testDescription: String { id }
    }

    let now, window: Double
    let nonce, token, tokenKey: String
    let rows: [Row]

    enum CodingKeys: String, CodingKey {
        case now, nonce, token, rows
        case window = "window_s"
        case tokenKey = "token_jkt"
    }
}
