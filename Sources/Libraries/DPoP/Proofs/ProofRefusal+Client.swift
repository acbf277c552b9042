public import RequestErrors

extension AuthenticationChallenge {
    /// RFC 9449 section 7.1: the scheme, and the algorithms of proofs that are accepted.
    public static let dpop = AuthenticationChallenge(scheme: "DPoP", parameters: [("algs", "ES256")])
}

extension ProofRefusal: RequestError {
    public var challenge: AuthenticationChallenge { .dpop }
    public var status: Int { code.status }

    public var clientDescription: String {
        switch self {
        case .tokenWithoutProof: "there is no DPoP field, and a bound token needs a proof"
        case .missing: "there is no DPoP field"
        case .severalFields: "there is more than one DPoP field"
        case .tokenNotBound: "the access token is bound to no key"
        case .malformed(.type): "the proof's typ is not \(DPoPVerifier.type)"
        case .malformed(let error): "the proof \(error.clientDescription)"
        case .claim(let claim): "the proof's \(claim.rawValue) is missing, or is not what it has to be"
        case .jwk: "the proof's jwk is not a public key on P-256"
        case .jwkMissing: "the proof's header has no jwk"
        case .signatureMismatch: "the proof cannot be verified"
        case .methodMismatch: "htm is not the method of this request"
        case .uriMismatch: "htu is not the URL of this request"
        case .nonceMissing: "the proof has no nonce: sign a new one with the nonce in DPoP-Nonce"
        case .nonceUnknown:
            "the proof's nonce is not, or no longer, one of this server: sign a new one with the nonce in DPoP-Nonce"
        case .clockSkew(let seconds):
            "iat is \(seconds.magnitude) s \(seconds < 0 ? "behind" : "ahead of") the server's clock"
        case .outsideItsValidity: "the proof's exp or nbf excludes the present time"
        case .tokenHashMissing: "ath is missing, which the scheme DPoP needs"
        case .tokenHashMismatch: "ath is the hash of another token"
        case .keyMismatch: "the token is bound to another key than that of the proof"
        case .replayed: "the proof was used before (replayed): sign a new one for each request"
        case .keyLimit: "this key has used too many proofs within a short time"
        case .storeFull: "too many proofs were used within a short time"
        case .undecidable: "it is undecidable whether the proof was used before: sign a new one"
        case .perhapsInEarlierLife:
            "it is undecidable whether the proof was used before a restart: sign a new one with the nonce in DPoP-Nonce"
        case .storeUnavailable: "it cannot be found out now whether the proof was used before"
        }
    }
}

extension DPoPErrorCode {
    /// At a protected resource (RFC 6750 section 3.1, RFC 9449 sections 7.1 and 9).
    var status: Int {
        switch self {
        case .invalidRequest: 400
        case .invalidToken, .invalidProof, .useNonce, .clockSkew: 401
        case .rateLimited: 429
        case .unavailable: 503
        }
    }
}

extension JOSEError {
    /// A predicate of the JWS.
    var clientDescription: String {
        switch self {
        case .tooLong: "is too long"
        case .partCount: "does not consist of three parts between dots"
        case .malformedBase64URL(let part): "has a \(part.rawValue) that is not base64url without padding"
        case .malformedJSON(let part, .duplicateMember): "has the same member twice in its \(part.rawValue)"
        case .malformedJSON(let part, _): "has a \(part.rawValue) that is not a JSON object"
        case .signatureLength: "has a signature that is not r and s in 64 bytes: perhaps it is DER"
        case .type: "has another typ"
        case .algorithm: "has another alg than ES256"
        case .criticalHeader: "has a header with crit or b64"
        }
    }
}
