import Admission
import Testing

struct RefusalTests {
    @Test func `codes are stable slugs`() {
        #expect(
            Set(RefusalCode.allCases.map(\.rawValue)) == [
                "malformed_handshake", "unsupported_version", "unknown_subprotocol", "draining", "origin_refused",
                "at_capacity", "rate_limited", "challenges_exhausted", "store_unavailable", "app_auth_required",
                "invalid_nonce", "unknown_key", "key_revoked", "assertion_rejected", "invalid_client_certificate",
                "missing_field", "malformed_request", "attestation_rejected", "attestation_unavailable",
                "app_attest_not_configured", "body_too_large", "length_required", "not_found",
                "invalid_ticket", "way_not_allowed", "tickets_exhausted",
                "device_blocked", "shared_secret_required", "invalid_shared_secret",
                "method_not_allowed", "request_timed_out", "target_too_long", "expectation_failed", "upgrade_required",
                "header_too_large", "not_implemented", "upgrade_timed_out", "gateway_unreachable",
                "version_not_supported",
                "audit_unavailable", "invalid_resume", "invalid_request", "invalid_token", "invalid_dpop_proof",
                "use_dpop_nonce", "clock_skew", "attestation_failed", "nonce_expired", "temporarily_unavailable",
                "public_origin_required", "proxy_not_authorized", "digest_mismatch", "key_mismatch",
                "unknown_credential", "passkey_rejected", "fresh_passkey_required", "sign_up_refused", "passkey_taken",
                "too_many_passkeys", "device_taken", "too_many_devices", "accounts_exhausted",
            ])
    }

    @Test func `every code has an answer, and texts that clients know are unchanged`() {
        #expect(Set(RefusalAnswer.all.map(\.code)) == Set(RefusalCode.allCases))
        #expect(Set(RefusalAnswer.all).count == RefusalAnswer.all.count)
        let known: [(RefusalAnswer, Int, String)] = [
            (.invalidNonce, 401, "Invalid nonce"),
            (.unknownKey, 401, "Unknown key: requires re-attestation"),
            (.assertionRejected, 401, "Assertion verification failed"),
            (.appAuthRequired, 401, "App authentication required"),
            (.invalidClientCertificate, 401, "Invalid client certificate"),
            (.rateLimited, 429, "Too many requests"),
            (.missingField, 400, "Missing keyId, attestation, or nonce"),
            (.invalidRegistrationNonce, 400, "Invalid or expired nonce"),
            (.attestationRejected, 400, "Invalid attestation registration request"),
            (.attestedAppMismatch, 400, "rpIdHash does not match bundleId"),
            (.attestationUnavailable, 503, "Attestation verification is unavailable"),
            (.appAttestNotConfigured, 404, "Server not configured for App Attest"),
            (.bodyTooLarge, 413, "Request body too large"),
            (.signedKeyMismatch, 401, "app attest key mismatch"),
            (.signedChallengeRefused, 401, "invalid or expired challenge"),
            (.signedAssertionRejected, 401, "invalid app attest assertion"),
            (.bodyDigestMismatch, 401, "request body digest mismatch"),
            (.reattestationRequired, 428, "device requires re-attestation"),
            (.attestationRequired, 400, "attestation payload required"),
            (.deviceNotRegistered, 404, "device not registered"),
        ]
        for (answer, status, message) in known {
            #expect(answer.status == status)
            #expect(answer.message == message)
        }
    }

    @Test func `only refusals that may be guessing count as failed upgrades`() {
        let counting = RefusalCode.allCases.filter(\.countsAsFailedUpgrade)
        #expect(
            Set(counting) == [
                .appAuthRequired, .invalidNonce, .unknownKey, .keyRevoked, .assertionRejected,
                .invalidClientCertificate, .invalidTicket, .sharedSecretRequired, .invalidSharedSecret,
                .invalidResume, .invalidToken, .invalidProof, .digestMismatch, .keyMismatch,
                .unknownCredential, .passkeyRejected,
            ])
    }

    @Test func `a 401 names the scheme that is required`() throws {
        #expect(Refusal(.sharedSecretRequired, detail: "").authenticationScheme == "Bearer")
        #expect(Refusal(.invalidSharedSecret, detail: "").authenticationScheme == "Bearer")
        #expect(Refusal(.appAuthRequired, detail: "").authenticationScheme == "ClientCertificate")
        let bench = try Bench()
        #expect(bench.gate.evaluate(bench.request()).refusal?.authenticationScheme == "AppAttest")
    }

    @Test func `a refusal lists its header fields`() {
        let later = Refusal(.rateLimited, detail: "", retryAfter: 7)
        #expect(later.headerFields.map(\.name) == ["Retry-After"])
        #expect(later.headerFields.map(\.value) == ["7"])
        let version = Refusal(.unsupportedVersion, detail: "")
        #expect(version.headerFields.contains { $0 == ("Sec-WebSocket-Version", "13") })
        #expect(Refusal(.appAuthRequired, detail: "").carriesChallenge)
        #expect(!Refusal(.keyRevoked, detail: "").carriesChallenge)
    }
}
