import Foundation
import Testing
import WebAuthn

/// The ceremonies in `PORTCULLIS_VECTORS` (default: `../shared/vectors` beside the package). They are third-party data
/// and not part of the package: if they are missing, their tests are skipped with that reason.
enum Vectors {
    static let specification: SpecificationFile? = load("webauthn/w3c-level3.json")
    static let real: RealFile? = load("webauthn/real.json")
    static let skipReason = "the vectors of Web Authentication are absent (PORTCULLIS_VECTORS)"

    private static var folder: URL {
        // <package>/Tests/WebAuthnTests/Vectors.swift
        let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return ProcessInfo.processInfo.environment["PORTCULLIS_VECTORS"].map { URL(filePath: $0) }
            ?? package.appending(path: "../shared/vectors")
    }

    private static func load<File: Decodable>(_ name: String) -> File? {
        let file = folder.appending(path: name).standardizedFileURL
        guard let data = try? Data(contentsOf: file) else {
            print("skipped: \(skipReason); looked for \(file.path)")
            return nil
        }
        do { return try JSONDecoder().decode(File.self, from: data) } catch {
            fatalError("\(file.path) can't be read: \(error)")
        }
    }
}

// MARK: The specification's

/// The pairs of Web Authentication Level 3, "Test Vectors".
struct SpecificationFile: Decodable {
    struct Registration: Decodable {
        let challenge, clientDataJSON, attestationObject: Hex
        let credentialId: Hex
        let aaguid: Hex

        enum CodingKeys: String, CodingKey {
            case challenge, clientDataJSON, attestationObject, aaguid
            case credentialId = "credential_id"
        }
    }

    struct Authentication: Decodable {
        let challenge, clientDataJSON, authenticatorData, signature: Hex
    }

    struct Vector: Decodable, Sendable, CustomTestStringConvertible {
        let anchor: String
        let registration: Registration
        let authentication: Authentication

        var testDescription: String { anchor }
        /// Without the part that all have in common.
        var name: String { String(anchor.dropFirst("sctn-test-vectors-".count)) }
    }

    struct Root: Decodable {
        let attestationCaCert: Hex

        enum CodingKeys: String, CodingKey {
            case attestationCaCert = "attestation_ca_cert"
        }
    }

    let rpId, origin, topOrigin: String
    let attestationRoot: Root
    let vectors: [Vector]

    enum CodingKeys: String, CodingKey {
        case origin, vectors
        case rpId = "rp_id"
        case topOrigin = "top_origin"
        case attestationRoot = "attestation_root"
    }
}

/// Bytes in hexadecimal.
struct Hex: Decodable, Sendable {
    let bytes: [UInt8]

    init(from decoder: any Decoder) throws {
        let digits = try decoder.singleValueContainer().decode(String.self).compactMap(\.hexDigitValue)
        bytes = stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}

// MARK: Real ones

/// Ceremonies out of the tests of public servers.
struct RealFile: Decodable {
    struct Registration: Decodable, Sendable, CustomTestStringConvertible {
        let source, path, fmt: String
        /// Whether the attestation signs the client data.
        let boundBySignature: Bool
        let alg: Int64
        let flags: String
        let rpId, origin: String
        let challengeB64url, clientDataJSON, attestationObject, credentialId, publicKeyCose: Base64URLText
        let backupEligible: Bool

        enum CodingKeys: String, CodingKey {
            case source, path, fmt, alg, flags, origin, clientDataJSON, attestationObject, credentialId
            case boundBySignature = "bound_by_signature"
            case rpId = "rp_id"
            case challengeB64url = "challenge_b64url"
            case publicKeyCose = "publicKey_cose"
            case backupEligible = "backup_eligible"
        }

        var testDescription: String { "\(fmt) \(alg) \(flags) \(source) \(credentialId.text.prefix(12))" }
    }

    struct Authentication: Decodable, Sendable, CustomTestStringConvertible {
        let source, flags: String
        let counter: UInt32
        let rpId, origin: String
        let alg: Int64
        let challengeB64url, publicKeyCose, authenticatorData, clientDataJSON, signature: Base64URLText
        let backupEligible: Bool

        enum CodingKeys: String, CodingKey {
            case source, flags, counter, origin, alg, authenticatorData, clientDataJSON, signature
            case rpId = "rp_id"
            case challengeB64url = "challenge_b64url"
            case publicKeyCose = "publicKey_cose"
            case backupEligible = "backup_eligible"
        }

        var testDescription: String { "\(alg) \(flags) \(source) \(counter) \(signature.text.prefix(12))" }
    }

    let registrations: [Registration]
    let authentications: [Authentication]
}

/// Bytes in base64url without padding.
struct Base64URLText: Decodable, Sendable {
    let text: String
    let bytes: [UInt8]

    init(from decoder: any Decoder) throws {
        text = try decoder.singleValueContainer().decode(String.self)
        let standard = text.replacing("-", with: "+").replacing("_", with: "/")
        let padded = standard + String(repeating: "=", count: (4 - standard.count % 4) % 4)
        bytes = try [UInt8](#require(Data(base64Encoded: padded)))
    }
}
