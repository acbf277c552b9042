package import AppAttest
import FoundationEssentials
package import KeyStore
import WireText

/// The dialects of `POST /attest/register`, distinguished by their members: `keyId`, or `device_key_jwk`. A body with both is malformed; one
/// with neither is refused for its missing `keyId`.
enum RegistrationDialect {
    case guide, token, both

    private struct Members: Decodable {
        var keyId: Anything?
        var deviceKey: Anything?

        private enum CodingKeys: String, CodingKey {
            case keyId
            case deviceKey = "device_key_jwk"
        }
    }

    private struct Anything: Decodable {
        init(from decoder: any Decoder) {}
    }

    /// A body that is no object or is too large counts as the guide's dialect, which refuses it.
    init(of body: [UInt8], maximumBytes: Int) {
        let members = body.count <= maximumBytes ? try? JSONDecoder().decode(Members.self, from: Data(body)) : nil
        switch (members?.keyId, members?.deviceKey) {
        case (_?, _?): self = .both
        case (nil, _?): self = .token
        default: self = .guide
        }
    }
}

/// The parsed body of `POST /attest/register` in the guide's dialect.
///
/// ```json
/// {"keyId":"<base64, 32 bytes>","attestation":"<base64>","nonce":"<64 hexadecimal digits>"}
/// ```
struct RegistrationRequest {
    let keyID: KeyID
    let attestation: [UInt8]
    /// As sent; ``Challenges`` decides whether it is authentic.
    let nonce: String

    private struct Fields: Decodable {
        var keyId: String?
        var attestation: String?
        var nonce: String?
    }

    /// Unknown fields are ignored. `null` and the empty string count as missing.
    static func read(_ body: [UInt8], maximumBytes: Int) -> Result<RegistrationRequest, UnreadableRegistration> {
        guard body.count <= maximumBytes else { return .failure(.tooLarge) }
        guard let fields = try? JSONDecoder().decode(Fields.self, from: Data(body)) else {
            return .failure(.malformed("body is not an object of strings"))
        }
        guard let keyText = fields.keyId, let attestationText = fields.attestation, let nonce = fields.nonce,
            !keyText.isEmpty, !attestationText.isEmpty, !nonce.isEmpty
        else { return .failure(.missingField) }
        guard let keyID = KeyID(text: keyText) else { return .failure(.malformed("keyId is not base64 of 32 bytes")) }
        guard let attestation = Base64.decode(attestationText, maximumBytes: maximumBytes) else {
            return .failure(.malformed("attestation is not base64"))
        }
        return .success(RegistrationRequest(keyID: keyID, attestation: attestation, nonce: nonce))
    }
}

enum UnreadableRegistration: Error, Equatable {
    case tooLarge
    case missingField
    case malformed(String)

    var refusal: Refusal {
        switch self {
        case .tooLarge: Refusal(.bodyTooLarge, detail: "body is over MAX_BODY_BYTES")
        case .missingField: Refusal(.missingField, detail: "a field is missing or empty")
        case .malformed(let detail): Refusal(.malformedRequest, detail: detail)
        }
    }
}

/// The outcome of a registration.
package enum RegistrationOutcome: Sendable {
    /// The key is durable.
    case registered(RegisteredKey)
    case refused(Refusal)
    /// The registration was already recorded in the audit log, but storing the key failed.
    case unstored(Refusal)
}

/// For the audit log.
package struct RegisteredKey: Sendable {
    package let id: KeyID
    package let app: AppID
    package let environment: AttestationEnvironment
    /// It was already registered, and has been fully verified again.
    package let wasKnown: Bool
    /// The client registered in the token dialect, in which it is answered.
    package internal(set) var isInTokenDialect = false
}
