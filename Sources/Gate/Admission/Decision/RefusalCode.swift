/// The stable name of a refusal in the `code` of an answer. Clients may branch on it, so the text of a case never
/// changes.
package enum RefusalCode: String, CaseIterable, Sendable {
    // The handshake and the state of the gateway.
    case malformedHandshake = "malformed_handshake"
    case unsupportedVersion = "unsupported_version"
    case unknownSubprotocol = "unknown_subprotocol"
    case draining = "draining"
    case deviceBlocked = "device_blocked"
    case originRefused = "origin_refused"
    case atCapacity = "at_capacity"
    case rateLimited = "rate_limited"
    case challengesExhausted = "challenges_exhausted"
    case storeUnavailable = "store_unavailable"
    case auditUnavailable = "audit_unavailable"

    // The client's identity.
    case sharedSecretRequired = "shared_secret_required"
    case invalidSharedSecret = "invalid_shared_secret"
    case appAuthRequired = "app_auth_required"
    case invalidNonce = "invalid_nonce"
    case unknownKey = "unknown_key"
    case keyRevoked = "key_revoked"
    case assertionRejected = "assertion_rejected"
    case invalidClientCertificate = "invalid_client_certificate"
    case invalidTicket = "invalid_ticket"
    case invalidResume = "invalid_resume"
    case wayNotAllowed = "way_not_allowed"
    case ticketsExhausted = "tickets_exhausted"

    // Requests that are signed one by one.
    case digestMismatch = "digest_mismatch"
    case keyMismatch = "key_mismatch"

    // Registration.
    case missingField = "missing_field"
    case malformedRequest = "malformed_request"
    case attestationRejected = "attestation_rejected"
    case attestationUnavailable = "attestation_unavailable"
    case appAttestNotConfigured = "app_attest_not_configured"

    // Access tokens.
    case invalidRequest = "invalid_request"
    case invalidProof = "invalid_dpop_proof"
    case useNonce = "use_dpop_nonce"
    case clockSkew = "clock_skew"
    case invalidToken = "invalid_token"
    case attestationFailed = "attestation_failed"
    case nonceExpired = "nonce_expired"
    case tokensUnavailable = "temporarily_unavailable"
    case publicOriginRequired = "public_origin_required"
    case proxyNotAuthorized = "proxy_not_authorized"

    // Accounts.
    case unknownCredential = "unknown_credential"
    case passkeyRejected = "passkey_rejected"
    case freshPasskeyRequired = "fresh_passkey_required"
    case signUpRefused = "sign_up_refused"
    case passkeyTaken = "passkey_taken"
    case tooManyPasskeys = "too_many_passkeys"
    case deviceTaken = "device_taken"
    case tooManyDevices = "too_many_devices"
    case accountsExhausted = "accounts_exhausted"

    // HTTP in general.
    case bodyTooLarge = "body_too_large"
    case lengthRequired = "length_required"
    case notFound = "not_found"
    case methodNotAllowed = "method_not_allowed"
    case requestTimedOut = "request_timed_out"
    case targetTooLong = "target_too_long"
    case expectationFailed = "expectation_failed"
    case upgradeRequired = "upgrade_required"
    case headerTooLarge = "header_too_large"
    case notImplemented = "not_implemented"
    case upgradeTimedOut = "upgrade_timed_out"
    case gatewayUnreachable = "gateway_unreachable"
    case versionNotSupported = "version_not_supported"

    /// 5xx: a failure of the gateway, not a decision about the client.
    package var isGatewayFailure: Bool { RefusalAnswer.all.contains { $0.code == self && $0.status >= 500 } }

    /// Whether an upgrade refused for this reason counts towards `FAILED_UPGRADES_PER_MINUTE`. Only what an attacker
    /// could be guessing counts; failures of the gateway and plain client mistakes don't.
    package var countsAsFailedUpgrade: Bool {
        switch self {
        case .appAuthRequired, .invalidNonce, .unknownKey, .keyRevoked, .assertionRejected, .invalidClientCertificate,
            .invalidTicket, .invalidResume, .sharedSecretRequired, .invalidSharedSecret, .invalidToken, .invalidProof,
            .digestMismatch, .keyMismatch, .unknownCredential, .passkeyRejected:
            true
        default: false
        }
    }
}
