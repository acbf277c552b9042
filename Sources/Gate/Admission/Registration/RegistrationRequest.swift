package import AppAttest
import DPoP
package import KeyStore
import StrictJSON
import WireText

/// The dialects of `POST /attest/register`.
enum RegistrationDialect {
    case guide, token, both

    /// Before the body is read, for a refusal: only clients of the token dialect send a proof.
    init(ofProofs proofs: [String]) { self = proofs.isEmpty ? .guide : .token }

    /// By the body's members: `keyId`, or `device_key_jwk`. A body with both is malformed; one with neither is refused
    /// for its missing `keyId`.
    init(of body: JSONObject) {
        switch (Self.has("keyId", body), Self.has("device_key_jwk", body)) {
        case (true, true): self = .both
        case (false, true): self = .token
        default: self = .guide
        }
    }

    private static func has(_ name: String, _ body: JSONObject) -> Bool { body[name]?.isNull == false }
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

    /// Unknown members are ignored. `null` and the empty string count as missing.
    static func read(
        _ body: JSONObject, maximumBytes: Int
    ) -> Result<RegistrationRequest, UnreadableRegistration> {
        let texts = ["keyId", "attestation", "nonce"].map { text($0, in: body) }
        guard !texts.contains(where: \.isOfOtherType) else {
            return .failure(.malformed("body is not an object of strings"))
        }
        guard let keyText = texts[0].value, let attestationText = texts[1].value, let nonce = texts[2].value else {
            return .failure(.missingField)
        }
        guard let keyID = KeyID(text: keyText) else { return .failure(.malformed("keyId is not base64 of 32 bytes")) }
        guard let attestation = Base64.decode(attestationText, maximumBytes: maximumBytes) else {
            return .failure(.malformed("attestation is not base64"))
        }
        return .success(RegistrationRequest(keyID: keyID, attestation: attestation, nonce: nonce))
    }

    private struct Text {
        /// nil: missing.
        var value: String?
        var isOfOtherType = false
    }

    private static func text(_ name: String, in body: JSONObject) -> Text {
        guard let member = body[name], !member.isNull else { return Text() }
        guard let text = member.string else { return Text(isOfOtherType: true) }
        return Text(value: text.isEmpty ? nil : text)
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
        case .malformed(let detail): Refusal(.malformedRequest, detail: detail, reason: detail)
        }
    }
}

/// The outcome of a registration.
package enum RegistrationOutcome: Sendable {
    /// The key is durable.
    case registered(RegisteredKey)
    case refused(Refusal)
    /// The registration was already recorded in the audit log, but storing the key failed, or a counter was refused
    /// that came with it.
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
