import Admission
import WebAuthn

extension CeremonyError {
    /// For `portcullis explain`: the client hears only that its passkey was rejected.
    var check: AdmissionCheck {
        switch self {
        case .malformedClientData, .clientDataMember, .typeMismatch: .passkeyClientData
        case .challengeMismatch: .challenge
        case .originNotAllowed, .crossOriginNotAllowed, .topOriginNotAllowed: .passkeyOrigin
        case .malformedAuthenticatorData: .authenticatorData
        case .rpIDHashMismatch: .relyingParty
        case .userNotPresent, .userNotVerified: .userPresence
        case .backedUpButNotEligible: .backupState
        case .malformedAttestationObject, .attestationObjectNotAMap, .attestationObjectMember,
            .unknownAttestationObjectMember:
            .attestationForm
        case .algorithmNotAllowed, .publicKey: .passkeyAlgorithm
        case .attestationStatement: .attestationStatement
        case .attestationNotTrusted: .attestationTrust
        case .credentialIDTooLong: .credentialID
        case .malformedSignature, .signatureMismatch: .signature
        case .counterNotHigher: .counter
        }
    }

    /// Bytes that no authenticator and no browser has written.
    private var isMalformed: Bool {
        switch self {
        case .malformedClientData, .clientDataMember, .malformedAuthenticatorData, .malformedAttestationObject,
            .attestationObjectNotAMap, .attestationObjectMember, .unknownAttestationObjectMember:
            true
        default: false
        }
    }

    func refusal(in clientData: CollectedClientData?, of relyingParty: RelyingParty) -> RefusedRequest {
        let check = check
        guard !isMalformed else {
            return RefusedRequest(
                Refusal(
                    .invalidRequest, detail: "passkey: \(self)", reason: "the credential is malformed",
                    failed: FailedCheck(check)))
        }
        guard check == .passkeyOrigin else { return .rejected("passkey: \(self)", check) }
        return .rejected(
            "passkey: \(self)", check, expected: relyingParty.origins.joined(separator: " or "),
            received: clientData?.origin)
    }
}
