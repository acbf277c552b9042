/// The checks of the gate, of registrations and of requests for access tokens, by the names that the audit log gives
/// them (`check`). Tools read them, so the text of a case never changes.
///
/// Which checks a decision consists of, and in which order, is in ``CheckOrder``.
package enum AdmissionCheck: String, CaseIterable, Sendable {
    // Of every upgrade: the policies of the gate.
    case handshake, draining
    case blockList = "block_list"
    case origin, capacity
    case rateLimit = "rate_limit"
    case sharedSecret = "shared_secret"
    case route
    /// Any credential at all.
    case credential

    // Of a device's key and its assertion.
    case assertionFields = "assertion_fields"
    case challenge
    case keyStore = "key_store"
    case keyRegistered = "key_registered"
    case keyRevoked = "key_not_revoked"
    case keyScope = "key_configured"
    case assertionForm = "assertion_form"
    case signature
    case authenticatorData = "authenticator_data"
    case appID = "app_id"
    case counter
    case validationCategory = "validation_category"
    case counterStored = "counter_stored"
    /// Of a signed request: the counter isn't far above the last one.
    case counterRise = "counter_rise"

    // Of a request that is signed by itself, before its assertion.
    case signedFields = "signed_fields"
    case clientData = "client_data"
    case bodyDigest = "body_digest"

    // Of an attestation.
    case attestationForm = "attestation_form"
    case certificates
    case attestedChallenge = "attested_challenge"
    case keyID = "key_id"
    case attestedCounter = "attested_counter"
    case environment
    case credentialID = "credential_id"
    case keyStored = "key_stored"

    // Of other credentials.
    case certificateVerified = "certificate_verified"
    case certificateFresh = "certificate_fresh"
    case certificateLifetime = "certificate_lifetime"
    case ticket
    case sessionToken = "session_token"
    /// The earlier credential, for which a ticket or a session's token stands, would still be accepted.
    case holder

    // Of an access token (RFC 9068).
    case authorization
    case tokenForm = "token_form"
    case tokenSignature = "token_signature"
    case tokenClaims = "token_claims"
    case tokenIssuer = "token_issuer"
    case tokenAudience = "token_audience"
    case tokenLifetime = "token_lifetime"
    case tokenSubject = "token_subject"
    case developmentToken = "development_token"
    /// The account that has signed in is there, open, and has the passkey.
    case account

    // Of a DPoP proof (RFC 9449).
    case tokenBound = "token_bound"
    case proof
    case proofForm = "proof_form"
    case htm, htu
    case serverNonce = "server_nonce"
    case iat
    case proofValidity = "proof_validity"
    case ath
    case proofKey = "proof_key"
    case tokenKey = "token_key"
    case proofSignature = "proof_signature"
    case replay
    case deviceKey = "device_key"

    // Of a passkey (Web Authentication Level 3), and of accounts.
    case passkeyKnown = "passkey_known"
    case passkeyClientData = "passkey_client_data"
    case passkeyOrigin = "passkey_origin"
    case relyingParty = "relying_party"
    case userPresence = "user_presence"
    case backupState = "backup_state"
    case passkeyAlgorithm = "passkey_algorithm"
    case attestationStatement = "attestation_statement"
    case attestationTrust = "attestation_trust"
    case freshPasskey = "fresh_passkey"
    case signUp = "sign_up"
    case accountRoom = "account_room"

    // Of a refresh token.
    case refreshKnown = "refresh_known"
    case refreshKey = "refresh_key"
    case refreshLifetime = "refresh_lifetime"
    /// Its successor wasn't used.
    case refreshUnused = "refresh_unused"
    /// It is used the first time, again within REFRESH_REPEAT_SECONDS, or once more later.
    case refreshRepeat = "refresh_repeat"

    // Of requests in general, and behind the credential.
    case queue, body
    case claimedApp = "claimed_app"
    case signingKey = "signing_key"
    /// The list, once more: with the identity that was verified.
    case identityBlocked = "identity_not_blocked"
    case ticketRoom = "ticket_room"
    case lease = "session_room"
    case auditLog = "audit_log"
    case time = "in_time"
}

/// The check at which a request was refused, with what it expected and what it got. For the audit log alone: see
/// `portcullis explain`.
///
/// Most refusals of a flood are only counted. So the texts are made when they are read, which is for a line of the log.
package struct FailedCheck: Sendable {
    /// Bytes of each text: enough for two fingerprints with a name.
    package static let maximumTextBytes = 240

    /// `received` may hold text of the client's, which the audit log escapes. Never a secret.
    package typealias Texts = (expected: String?, received: String?)

    package let check: AdmissionCheck
    private let make: (@Sendable () -> Texts)?

    package init(
        _ check: AdmissionCheck, expected: @autoclosure @escaping @Sendable () -> String? = nil,
        received: @autoclosure @escaping @Sendable () -> String? = nil
    ) {
        self.check = check
        make = { (expected(), received()) }
    }

    package init(_ check: AdmissionCheck) {
        self.check = check
        make = nil
    }

    init(
        _ check: AdmissionCheck,
        _ discrepancy: @autoclosure @escaping @Sendable () -> (expected: String, received: String)?
    ) {
        self.check = check
        make = { discrepancy().map { ($0.expected, $0.received) } ?? (nil, nil) }
    }

    /// Made at each call.
    package var texts: Texts {
        guard let texts = make?() else { return (nil, nil) }
        return (texts.expected.map(Self.cut), texts.received.map(Self.cut))
    }

    package var expected: String? { texts.expected }
    package var received: String? { texts.received }

    /// With its texts made, for what is kept: until then the request is kept too.
    var made: FailedCheck {
        let texts = texts
        return FailedCheck(check, expected: texts.expected, received: texts.received)
    }

    /// Between two characters.
    private static func cut(_ text: String) -> String {
        guard text.utf8.count > maximumTextBytes else { return text }
        var cut = ""
        var bytes = 0
        for scalar in text.unicodeScalars {
            bytes += Unicode.UTF8.width(scalar)
            guard bytes <= maximumTextBytes else { break }
            cut.unicodeScalars.append(scalar)
        }
        return cut + "…"
    }
}

extension FailedCheck: Equatable {
    package static func == (one: FailedCheck, other: FailedCheck) -> Bool {
        one.check == other.check && one.texts == other.texts
    }
}
