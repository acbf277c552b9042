/// Demands one of the operator's secrets in `Authorization: Bearer <secret>` (RFC 6750 section 2.1), on top of whatever else is
/// demanded. It admits nobody: with it shown, the policies behind it decide.
///
/// A request with a ticket need not show one again, for browsers can't: the ticket stands for the secret that was shown for it, which
/// ``TicketPolicy`` looks at. So does a session's token, with ``ResumePolicy``. One that does show a secret must show a right one.
struct SharedSecretPolicy: AdmissionPolicy {
    private static let scheme = "bearer"

    let secrets: SharedSecrets

    func evaluate(_ request: AdmissionRequest) -> PolicyOutcome {
        guard let authorization = request.authorization else {
            return request.ticket == nil && request.bareSession == nil
                ? .refused(.sharedSecretRequired, "no Authorization header") : .noOpinion
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
