import AppAttest
import DPoP

// Which check each verifier's error belongs to. The order of the checks is the verifiers' own: see ``CheckOrder``.

extension AttestationError {
    var check: AdmissionCheck {
        switch self {
        case .malformedObject, .notAMap, .unreadableField, .unknownField, .unknownFormat: .attestationForm
        case .certificateCount, .malformedCertificate, .duplicateExtension, .unknownCriticalExtension,
            .certificateExpired, .certificateNotYetValid, .intermediateNotCertificateAuthority,
            .leafIsCertificateAuthority, .intermediateKeyNotECDSA, .untrustedChain:
            .certificates
        case .nonceExtensionMissing, .nonceExtensionMalformed, .nonceMismatch: .attestedChallenge
        case .leafKeyNotP256, .keyIDMismatch: .keyID
        case .malformedAuthenticatorData: .authenticatorData
        case .rpIDHashMismatch: .appID
        case .counterNotZero: .attestedCounter
        case .unknownEnvironment, .environmentNotAllowed: .environment
        case .credentialIDMismatch, .credentialKeyMismatch: .credentialID
        case .validationCategoryMissing, .validationCategoryNotAllowed: .validationCategory
        }
    }
}

extension AssertionError {
    var check: AdmissionCheck {
        switch self {
        case .malformedObject, .notAMap, .unreadableField, .unknownField: .assertionForm
        case .invalidPublicKey, .malformedSignature, .signatureMismatch: .signature
        case .malformedAuthenticatorData: .authenticatorData
        case .rpIDHashMismatch: .appID
        case .counterNotHigher: .counter
        case .validationCategoryMissing, .validationCategoryNotAllowed: .validationCategory
        }
    }
}

extension ProofRefusal {
    var check: AdmissionCheck {
        switch self {
        case .tokenNotBound: .tokenBound
        case .tokenWithoutProof, .missing, .severalFields: .proof
        case .malformed, .claim: .proofForm
        case .methodMismatch: .htm
        case .uriMismatch: .htu
        case .nonceMissing, .nonceUnknown: .serverNonce
        case .clockSkew: .iat
        case .outsideItsValidity: .proofValidity
        case .tokenHashMissing, .tokenHashMismatch: .ath
        case .jwk, .jwkMissing: .proofKey
        case .keyMismatch: .tokenKey
        case .signatureMismatch: .proofSignature
        case .replayed, .keyLimit, .storeFull, .undecidable, .perhapsInEarlierLife, .storeUnavailable: .replay
        }
    }
}

extension AccessTokenRefusal {
    var check: AdmissionCheck {
        switch self {
        case .malformed: .tokenForm
        case .unknownKey, .signatureMismatch: .tokenSignature
        case .claim, .notBound: .tokenClaims
        case .wrongIssuer: .tokenIssuer
        case .wrongAudience: .tokenAudience
        case .expired, .notYetValid: .tokenLifetime
        }
    }
}

extension RefusalCode {
    /// The check that a refusal with this code failed, where it doesn't say so itself. Also for audit lines of versions
    /// that named no check.
    package var usualCheck: AdmissionCheck {
        switch self {
        case .malformedHandshake, .unsupportedVersion, .unknownSubprotocol, .upgradeRequired: .handshake
        case .draining: .draining
        case .deviceBlocked: .blockList
        case .originRefused: .origin
        case .atCapacity: .capacity
        case .rateLimited: .rateLimit
        case .sharedSecretRequired, .invalidSharedSecret: .sharedSecret
        case .wayNotAllowed: .route
        case .appAuthRequired: .credential
        case .invalidNonce, .challengesExhausted, .nonceExpired: .challenge
        case .unknownKey: .keyRegistered
        case .keyRevoked: .keyRevoked
        case .digestMismatch: .bodyDigest
        case .keyMismatch: .counterRise
        case .assertionRejected: .assertionForm
        case .invalidClientCertificate: .certificateVerified
        case .invalidTicket: .ticket
        case .invalidResume: .sessionToken
        case .ticketsExhausted: .ticketRoom
        case .storeUnavailable, .attestationUnavailable, .tokensUnavailable: .keyStore
        case .auditUnavailable: .auditLog
        case .attestationRejected, .attestationFailed: .attestationForm
        case .invalidToken: .tokenForm
        case .invalidProof: .proofForm
        case .publicOriginRequired: .htu
        case .useNonce: .serverNonce
        case .clockSkew: .iat
        case .upgradeTimedOut, .requestTimedOut, .gatewayUnreachable: .time
        case .unknownCredential: .passkeyKnown
        case .passkeyRejected: .signature
        case .freshPasskeyRequired: .freshPasskey
        case .signUpRefused: .signUp
        case .passkeyTaken, .tooManyPasskeys, .deviceTaken, .tooManyDevices, .accountsExhausted: .accountRoom
        case .missingField, .malformedRequest, .invalidRequest, .bodyTooLarge, .lengthRequired, .notFound,
            .methodNotAllowed, .appAttestNotConfigured, .targetTooLong, .expectationFailed, .headerTooLarge,
            .notImplemented, .versionNotSupported, .proxyNotAuthorized:
            .body
        }
    }
}
