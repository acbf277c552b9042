/// Demands one of the operator's secrets in `Authorization: Bearer <secret>` (RFC 6750 section 2.1), besides what the admission method demands.
///
/// A request with a ticket need not show it again, since browsers can't: the ticket stands for the secret that was shown for it, which the gate
/// checks again. The same goes for a session's token. A request that does show a secret must show a right one.
struct SharedSecretPolicy: AdmissionPolicy {
    private static let scheme = "bearer"

    let secrets: SharedSecrets

    func evaluate(_ attempt: AdmissionAttempt) -> PolicyOutcome {
        let request = attempt.request
        guard let authorization = request.authorization else {
            // Of a token that fits no session the client is told so.
            let standsForSecret = attempt.chosen?.claim.standsForSecret ?? (request.session != nil)
            return standsForSecret ? .passed : .refused(.sharedSecretRequired, "no Authorization header")
        }
        guard let text = Self.credentials(in: authorization) else {
            return .refused(.invalidSharedSecret, "Authorization header is of another scheme, or empty")
        }
        guard let secret = secrets.secret(shownAs: text) else {
            return .refused(.invalidSharedSecret, "shared secret is unknown")
        }
        return .showed(secret)
    }

    /// What follows the scheme and at least one space (RFC 9110 section 11.4).
    private static func credentials(in authorization: String) -> String? {
        let parts = authorization.split(separator: " ", maxSplits: 1)
        guard let name = parts.first, parts.count == 2, ASCIIText.lowercased(String(name)) == scheme else { return nil }
        return String(parts[1].drop { $0 == " " })
    }
}
