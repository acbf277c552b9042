/// What a client does about each refusal of docs/PROTOCOL.md. The article “Errors” has the same table, and a test
/// compares both with the gateway's list.
public enum RecoveryTable {
    /// The codes, each with its reaction.
    public static let reactions: [(code: String, reaction: Reaction)] = [
        // Proofs and keys.
        ("unknown_key", .newKey), ("key_mismatch", .newKey), ("invalid_nonce", .newChallenge),
        ("nonce_expired", .newChallenge),
        ("assertion_rejected", .newChallenge), ("use_dpop_nonce", .useNonce), ("invalid_token", .newToken),
        ("clock_skew", .setClock),
        // Passing.
        ("draining", .wait), ("at_capacity", .wait), ("rate_limited", .wait), ("tickets_exhausted", .wait),
        ("challenges_exhausted", .wait), ("audit_unavailable", .wait), ("store_unavailable", .wait),
        ("attestation_unavailable", .wait), ("temporarily_unavailable", .wait), ("request_timed_out", .wait),
        ("upgrade_timed_out", .wait), ("gateway_unreachable", .wait),
        ("accounts_exhausted", .wait),
        // Sessions.
        ("invalid_resume", .newSession),
        // Decided by the operator.
        ("device_blocked", .giveUp), ("key_revoked", .giveUp), ("way_not_allowed", .giveUp),
        // What the app presents besides its proofs.
        ("shared_secret_required", .otherCredentials), ("invalid_shared_secret", .otherCredentials),
        ("invalid_client_certificate", .otherCredentials), ("invalid_ticket", .otherCredentials),
        ("app_auth_required", .otherCredentials),
        // Players' accounts: the user takes another passkey or device, signs in, or removes one.
        ("unknown_credential", .otherCredentials), ("passkey_rejected", .otherCredentials),
        ("fresh_passkey_required", .otherCredentials), ("sign_up_refused", .otherCredentials),
        ("passkey_taken", .otherCredentials), ("too_many_passkeys", .otherCredentials),
        ("device_taken", .otherCredentials), ("too_many_devices", .otherCredentials),
        // Configuration of the app or the gateway.
        ("attestation_failed", .fixConfiguration), ("attestation_rejected", .fixConfiguration),
        ("invalid_dpop_proof", .fixConfiguration), ("app_attest_not_configured", .fixConfiguration),
        ("public_origin_required", .fixConfiguration), ("proxy_not_authorized", .fixConfiguration),
        ("origin_refused", .fixConfiguration), ("not_found", .fixConfiguration),
        // What this library never sends, unless something between it and the gateway changes its requests.
        ("malformed_handshake", .fixConfiguration), ("unsupported_version", .fixConfiguration),
        ("unknown_subprotocol", .fixConfiguration), ("missing_field", .fixConfiguration),
        ("digest_mismatch", .fixConfiguration),
        ("malformed_request", .fixConfiguration), ("invalid_request", .fixConfiguration),
        ("body_too_large", .fixConfiguration), ("length_required", .fixConfiguration),
        ("method_not_allowed", .fixConfiguration), ("target_too_long", .fixConfiguration),
        ("expectation_failed", .fixConfiguration), ("upgrade_required", .fixConfiguration),
        ("header_too_large", .fixConfiguration), ("not_implemented", .fixConfiguration),
        ("version_not_supported", .fixConfiguration),
    ]

    static func reaction(to refusal: Refusal) -> Reaction {
        if let inWords = reactionToWords(refusal) { return inWords }
        if let row = reactions.first(where: { $0.code.isSame(as: refusal.code) }) { return row.reaction }
        return reaction(toStatus: refusal.status)
    }

    /// Some answers are told apart by their words alone: a key that has to be attested anew, in either dialect.
    private static func reactionToWords(_ refusal: Refusal) -> Reaction? {
        let (status, text) = (refusal.status, refusal.message)
        if status == 401 || status == 428, text.mentions("key mismatch") || text.mentions("requires re-attestation") {
            return .newKey
        }
        if status == 401, text.mentions("registration required") { return .newKey }
        if status == 400, text.mentions("attestation"), text.mentions("required") { return .newKey }
        if status == 401, text.mentions("invalid or expired challenge") { return .newChallenge }
        if status == 401, text.mentions("invalid app attest assertion") { return .newChallenge }
        return nil
    }

    /// For a code that this version doesn't know, and for answers of proxies.
    private static func reaction(toStatus status: Int) -> Reaction {
        switch status {
        case 401: .otherCredentials
        case 403: .giveUp
        case 408, 425, 429, 500, 502, 503, 504: .wait
        case 428: .newKey
        default: .fixConfiguration
        }
    }
}
