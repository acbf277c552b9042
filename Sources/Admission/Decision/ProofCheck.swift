import AppAttest
import KeyStore

/// Decides whether the proof that a client gave once would still admit it: by the settings, the store and the time of now.
///
/// A ticket that is spent, the next ticket of a session, and a resume stand on a proof that was given earlier. Each of them asks here, and
/// none is allowed because an earlier one was.
struct ProofCheck: Sendable {
    /// `nil`: App Attest isn't configured.
    let appAttest: AppAttestSettings?
    /// `nil`: client certificates admit nobody.
    let clientCertificates: (any CertificateStanding)?
    /// `nil`: none is demanded.
    let sharedSecrets: SharedSecrets?
    let requiresAppAuth: Bool

    init(_ settings: GateSettings) {
        appAttest = settings.appAttest
        clientCertificates = settings.clientCertificates
        sharedSecrets = settings.sharedSecrets
        requiresAppAuth = settings.requiresAppAuth
    }

    func refusal(of principal: Principal, at moment: Moment) throws(KeyRegistryError) -> Refusal? {
        if let refusal = secretRefusal(of: principal) { return refusal }
        switch principal.way {
        case .appAttest(let id, let app): return try keyRefusal(of: id, app)
        case .debugCertificate: return certificateRefusal(of: principal, at: moment.unixMilliseconds)
        case .anonymous:
            return requiresAppAuth ? Self.refusal("clients without credentials are not admitted any more") : nil
        // The operator's word, which no setting takes back.
        case .operatorTicket: return nil
        }
    }

    /// The bearer of an operator's ticket needs no secret.
    private func secretRefusal(of principal: Principal) -> Refusal? {
        guard let sharedSecrets, principal.admissionWay != .ticket else { return nil }
        guard let secret = principal.secret, sharedSecrets.contains(secret) else {
            return Self.refusal("the shared secret that was shown isn't one any more")
        }
        return nil
    }

    /// The same as of a key that signs an assertion.
    private func keyRefusal(of id: KeyID, _ app: AppID) throws(KeyRegistryError) -> Refusal? {
        guard let appAttest, let key = try appAttest.registry.standing(of: id) else {
            return Self.refusal("the key is not registered any more")
        }
        guard !key.isRevoked else { return Refusal(.keyRevoked, detail: "the key is revoked") }
        guard appAttest.scope.app(of: key) == app else {
            return Self.refusal("the key's app, environment or trust root is not configured any more")
        }
        return nil
    }

    private func certificateRefusal(of principal: Principal, at time: Int64) -> Refusal? {
        guard let clientCertificates else { return Self.refusal("client certificates are off") }
        guard let chain = principal.certificateChain else {
            return Refusal(.invalidClientCertificate, detail: "the chain is too large to be kept and verified again")
        }
        return clientCertificates.problem(with: chain, at: time).map { Self.refusal("client certificate: \($0)") }
    }

    private static func refusal(_ detail: String) -> Refusal { Refusal(.invalidTicket, detail: detail) }
}
