import WireText

/// Requires one of the operator's secrets in `Authorization: Bearer <secret>` (RFC 6750 section 2.1), in addition to the admission method's
/// credential.
///
/// A request with a ticket need not repeat it, since browsers can't: the ticket replaces the secret that was presented for it, and the gate
/// rechecks that secret. The same applies to a session's token. A secret that is presented must be valid.
struct SharedSecretPolicy: AdmissionPolicy {
    private static let scheme = "bearer"

    let secrets: SharedSecrets

    func evaluate(_ attempt: AdmissionAttempt) -> PolicyOutcome {
        let request = attempt.request
        guard let authorization = request.authorization else {
            // For a token that matches no session, a later check tells the client so.
            let standsForSecret = attempt.chosen?.claim.standsForSecret ?? (request.session != nil)
            return standsForSecret ? .passed : .refused(.sharedSecretRequired, "no Authorization header")
        }
        guard let text = Self.credentials(in: authorization) else {
            return .refused(.invalidSharedSecret, "Authorization header has another scheme or is empty")
        }
        guard let secret = secrets.secret(shownAs: text) else {
            return .refused(.invalidSharedSecret, "shared secret is unknown")
        }
        return .showed(secret)
    }

    /// The text after the scheme and at least one space (RFC 9110 section 11.4).
    private static func credentials(in authorization: String) -> String? {
        let parts = authorization.split(separator: " ", maxSplits: 1)
        guard let name = parts.first, parts.count == 2, ASCIIByte.lowercased(String(name)) == scheme else { return nil }
        return String(parts[1].drop { $0 == " " })
    }
}
