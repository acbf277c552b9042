/// The answer to a refused client: status, code and text. This table has all public refusals; `docs/PROTOCOL.md` lists
/// the same.
package struct RefusalAnswer: Hashable, Sendable {
    /// HTTP status.
    package let status: Int
    package let code: RefusalCode
    /// The text of the `error` field. Never made from input.
    package let message: String

    private init(_ status: Int, _ code: RefusalCode, _ message: String) {
        self.status = status
        self.code = code
        self.message = message
    }

    // The upgrade, in the order of its checks.
    package static let malformedHandshake = Self(400, .malformedHandshake, "Malformed WebSocket handshake")
    package static let unsupportedVersion = Self(426, .unsupportedVersion, "WebSocket version 13 is required")
    package static let unknownSubprotocol = Self(400, .unknownSubprotocol, "No supported subprotocol was offered")
    package static let draining = Self(503, .draining, "The gateway is shutting down")
    package static let deviceBlocked = Self(403, .deviceBlocked, "Blocked")
    package static let originRefused = Self(403, .originRefused, "Origin refused")
    package static let atCapacity = Self(503, .atCapacity, "The gateway is at capacity")
    package static let rateLimited = Self(429, .rateLimited, "Too many requests")
    package static let sharedSecretRequired = Self(401, .sharedSecretRequired, "Shared secret required")
    package static let invalidSharedSecret = Self(401, .invalidSharedSecret, "Invalid shared secret")
    package static let invalidNonce = Self(401, .invalidNonce, "Invalid nonce")
    package static let unknownKey = Self(401, .unknownKey, "Unknown key: requires re-attestation")
    package static let keyRevoked = Self(403, .keyRevoked, "Key revoked")
    package static let assertionRejected = Self(401, .assertionRejected, "Assertion verification failed")
    package static let invalidClientCertificate = Self(401, .invalidClientCertificate, "Invalid client certificate")
    package static let appAuthRequired = Self(401, .appAuthRequired, "App authentication required")
    package static let invalidTicket = Self(401, .invalidTicket, "Invalid ticket")
    package static let invalidResume = Self(401, .invalidResume, "The session can't be resumed by its token alone")
    package static let wayNotAllowed = Self(403, .wayNotAllowed, "This admission method is not allowed here")
    package static let ticketsExhausted = Self(503, .ticketsExhausted, "Too many tickets are in use")
    package static let challengesExhausted = Self(503, .challengesExhausted, "Too many challenges are in use")
    package static let storeUnavailable = Self(503, .storeUnavailable, "The key store is unavailable")
    package static let auditUnavailable = Self(503, .auditUnavailable, "The audit log is unavailable")

    // Registration.
    package static let missingField = Self(400, .missingField, "Missing keyId, attestation, or nonce")
    package static let malformedRequest = Self(400, .malformedRequest, "Malformed request")
    package static let invalidRegistrationNonce = Self(400, .invalidNonce, "Invalid or expired nonce")
    package static let attestationRejected = Self(
        400, .attestationRejected, "Invalid attestation registration request")
    package static let attestedAppMismatch = Self(400, .attestationRejected, "rpIdHash does not match bundleId")
    package static let attestationUnavailable = Self(
        503, .attestationUnavailable, "Attestation verification is unavailable")
    package static let appAttestNotConfigured = Self(
        404, .appAttestNotConfigured, "Server not configured for App Attest")

    // Requests that are signed one by one. Their clients act on the texts.
    package static let signedFieldMissing = Self(401, .appAuthRequired, "missing X-AppAttest header")
    package static let signedFieldsMalformed = Self(400, .malformedRequest, "invalid App Attest parameters")
    package static let digestNotAccepted = Self(
        400, .malformedRequest, "X-AppAttest-BodySHA256 is not accepted on GET requests")
    package static let bodyDigestMismatch = Self(401, .digestMismatch, "request body digest mismatch")
    package static let signedChallengeRefused = Self(401, .invalidNonce, "invalid or expired challenge")
    package static let signedAssertionRejected = Self(401, .assertionRejected, "invalid app attest assertion")
    package static let signedKeyMismatch = Self(401, .keyMismatch, "app attest key mismatch")
    package static let attestationPayloadRejected = Self(401, .attestationRejected, "invalid attestation payload")
    package static let attestationRequired = Self(400, .unknownKey, "attestation payload required")
    package static let reattestationRequired = Self(428, .unknownKey, "device requires re-attestation")
    package static let deviceNotRegistered = Self(404, .unknownKey, "device not registered")

    // Access tokens: at the token endpoint and for a registration with a proof, then at resources.
    package static let invalidRequest = Self(400, .invalidRequest, "The request is malformed")
    package static let invalidProofAtToken = Self(400, .invalidProof, "The DPoP proof is invalid")
    package static let clockSkewAtToken = Self(400, .clockSkew, "The clock differs by more than 30 s")
    package static let nonceExpired = Self(400, .nonceExpired, "The challenge is invalid, expired, or used")
    package static let attestationFailed = Self(401, .attestationFailed, "App Attest verification failed")
    package static let registrationRequired = Self(401, .attestationFailed, "registration required")
    package static let useNonce = Self(401, .useNonce, "The proof needs the nonce in DPoP-Nonce")
    package static let invalidProof = Self(401, .invalidProof, "The DPoP proof is invalid")
    package static let clockSkew = Self(401, .clockSkew, "The clock differs by more than 30 s")
    package static let invalidToken = Self(401, .invalidToken, "The token is invalid")
    package static let tokenRequired = Self(401, .invalidToken, "An access token is required")
    package static let tooManyProofs = Self(429, .rateLimited, "Too many proofs")
    package static let publicOriginRequired = Self(
        404, .publicOriginRequired, "Access tokens are off: the gateway doesn't know its public origin")
    package static let proxyNotAuthorized = Self(
        500, .proxyNotAuthorized, "The proxy may not ask whether requests are authorized")
    package static let tokensUnavailable = Self(503, .tokensUnavailable, "Tokens are unavailable; try again")

    // Accounts.
    package static let unknownCredential = Self(404, .unknownCredential, "Unknown passkey")
    package static let passkeyRejected = Self(401, .passkeyRejected, "The passkey was rejected")
    package static let freshPasskeyRequired = Self(
        401, .freshPasskeyRequired, "A passkey is needed that was used within the last minutes")
    package static let signUpRefused = Self(403, .signUpRefused, "Accounts are made in another way here")
    package static let passkeyTaken = Self(409, .passkeyTaken, "The passkey is known already")
    package static let tooManyPasskeys = Self(409, .tooManyPasskeys, "The account has too many passkeys")
    package static let deviceTaken = Self(409, .deviceTaken, "The device is another account's")
    package static let tooManyDevices = Self(409, .tooManyDevices, "The account has too many devices")
    package static let accountsExhausted = Self(503, .accountsExhausted, "There are too many accounts")

    // HTTP in general.
    package static let bodyTooLarge = Self(413, .bodyTooLarge, "Request body too large")
    package static let lengthRequired = Self(411, .lengthRequired, "Length required")
    package static let notFound = Self(404, .notFound, "Not found")
    package static let methodNotAllowed = Self(405, .methodNotAllowed, "Method not allowed")
    package static let requestTimedOut = Self(408, .requestTimedOut, "The request took too long")
    package static let targetTooLong = Self(414, .targetTooLong, "Request target too long")
    package static let expectationFailed = Self(417, .expectationFailed, "Expectation failed")
    package static let upgradeRequired = Self(426, .upgradeRequired, "A WebSocket upgrade is required")
    package static let headerTooLarge = Self(431, .headerTooLarge, "Request header too large")
    package static let notImplemented = Self(501, .notImplemented, "Not implemented")
    package static let upgradeTimedOut = Self(503, .upgradeTimedOut, "The upgrade could not be decided in time")
    package static let gatewayUnreachable = Self(
        503, .gatewayUnreachable, "The gateway of the session can't be reached")
    package static let versionNotSupported = Self(505, .versionNotSupported, "HTTP version not supported")

    package static let all: [RefusalAnswer] = [
        malformedHandshake, unsupportedVersion, unknownSubprotocol, draining, deviceBlocked, originRefused,
        atCapacity, rateLimited, sharedSecretRequired, invalidSharedSecret, invalidNonce, unknownKey, keyRevoked,
        assertionRejected, invalidClientCertificate, appAuthRequired,
        invalidTicket, invalidResume, wayNotAllowed, ticketsExhausted,
        challengesExhausted, storeUnavailable, auditUnavailable, missingField, malformedRequest,
        invalidRegistrationNonce,
        attestationRejected, attestedAppMismatch, attestationUnavailable, appAttestNotConfigured,
        signedFieldMissing, signedFieldsMalformed, digestNotAccepted, bodyDigestMismatch, signedChallengeRefused,
        signedAssertionRejected, signedKeyMismatch, attestationPayloadRejected, attestationRequired,
        reattestationRequired, deviceNotRegistered,
        invalidRequest, invalidProofAtToken, clockSkewAtToken, nonceExpired, attestationFailed, registrationRequired,
        useNonce, invalidProof, clockSkew, invalidToken, tokenRequired, tooManyProofs, publicOriginRequired,
        proxyNotAuthorized, tokensUnavailable, unknownCredential, passkeyRejected, freshPasskeyRequired, signUpRefused,
        passkeyTaken, tooManyPasskeys, deviceTaken, tooManyDevices, accountsExhausted, bodyTooLarge, lengthRequired,
        notFound, methodNotAllowed,
        requestTimedOut, targetTooLong, expectationFailed, upgradeRequired, headerTooLarge, notImplemented,
        upgradeTimedOut, gatewayUnreachable, versionNotSupported,
    ]
}
