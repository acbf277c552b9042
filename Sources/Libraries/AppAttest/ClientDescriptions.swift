public import RequestErrors

/// The error code in answers about attestations and assertions.
public enum AppAttestErrorCode: String, Hashable, Sendable, CaseIterable {
    case attestationFailed = "attestation_failed"
}

/// No scheme is registered for App Attest. Clients don't act on this one by themselves.
private let challengeOfAppAttest = AuthenticationChallenge(scheme: "AppAttest")

extension AttestationError: RequestError {
    public var code: AppAttestErrorCode { .attestationFailed }
    public var status: Int { 401 }
    public var challenge: AuthenticationChallenge { challengeOfAppAttest }

    public var clientDescription: String {
        switch self {
        case .malformedObject, .notAMap: "the attestation is not the CBOR that attestKey returned"
        case .unreadableField(let field): "the attestation has no \(field.rawValue), or one of another type"
        case .unknownField: "the attestation has a field that App Attest does not have"
        case .unknownFormat: "the attestation's fmt is not apple-appattest"
        case .certificateCount: "the attestation has not exactly two certificates"
        case .malformedCertificate(let position), .duplicateExtension(let position),
            .unknownCriticalExtension(let position):
            "the \(position) certificate of the attestation is malformed"
        case .certificateExpired(let position): "the \(position) certificate of the attestation has expired"
        case .certificateNotYetValid(let position): "the \(position) certificate of the attestation is not valid yet"
        case .intermediateNotCertificateAuthority, .leafIsCertificateAuthority, .intermediateKeyNotECDSA,
            .untrustedChain:
            "the attestation's certificates do not lead to the root that is trusted here"
        case .leafKeyNotP256: "the attested key is not on P-256"
        case .nonceExtensionMissing, .nonceExtensionMalformed:
            "the attestation's certificate has no nonce of App Attest"
        case .nonceMismatch: "the attestation was made for another client data hash than the one expected here"
        case .keyIDMismatch: "the key identifier is not that of the attested key"
        case .malformedAuthenticatorData: "the attestation's authData is malformed"
        case .rpIDHashMismatch: "the attestation is for another app"
        case .counterNotZero: "the attested key has signed something already"
        case .unknownEnvironment: "the environment of the attested key (aaguid) is unknown"
        case .environmentNotAllowed(let environment):
            "wrong environment: keys of the environment \(environment.rawValue) are not accepted here"
        case .credentialIDMismatch, .credentialKeyMismatch: "the attestation's authData is about another key"
        case .validationCategoryMissing: "the attestation has no validation category, which iOS has since version 27"
        case .validationCategoryNotAllowed(let category): "the validation category \(category) is not accepted here"
        }
    }
}

extension AssertionError: RequestError {
    public var code: AppAttestErrorCode { .attestationFailed }
    public var status: Int { 401 }
    public var challenge: AuthenticationChallenge { challengeOfAppAttest }

    public var clientDescription: String {
        switch self {
        case .malformedObject, .notAMap: "the assertion is not the CBOR that generateAssertion returned"
        case .unreadableField(let field): "the assertion has no \(field.rawValue), or one of another type"
        case .unknownField: "the assertion has a field that App Attest does not have"
        case .malformedAuthenticatorData: "the assertion's authenticatorData is malformed"
        // Neither tells of the key.
        case .invalidPublicKey, .malformedSignature, .signatureMismatch: "the assertion cannot be verified"
        case .rpIDHashMismatch: "the assertion is for another app"
        case .counterNotHigher:
            "the assertion's counter is not above the last one: it was used before, or another one overtook it"
        case .validationCategoryMissing: "the assertion has no validation category, which iOS has since version 27"
        case .validationCategoryNotAllowed(let category): "the validation category \(category) is not accepted here"
        }
    }
}
