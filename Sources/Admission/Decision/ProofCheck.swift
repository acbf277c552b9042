import KeyStore

/// Decides whether a client that was admitted once would still be admitted by the proof it gave then: by the settings, the store and the time of
/// now.
///
/// A ticket that is spent, the next ticket of a session, and a resume depend on a proof that was given earlier. Each of them asks here, and none
/// is allowed because an earlier one was.
struct ProofCheck: Sendable {
    private let methods: [MethodName: any AdmissionMethod]
    /// `nil`: none is demanded.
    private let sharedSecrets: SharedSecrets?

    init(_ methods: [any AdmissionMethod], sharedSecrets: SharedSecrets?) {
        let named = methods.flatMap { method in method.identityNames.map { ($0, method) } }
        self.methods = Dictionary(named) { first, _ in first }
        self.sharedSecrets = sharedSecrets
    }

    /// An identity whose method is gone is refused.
    func refusal(of principal: Principal, at moment: Moment) throws(KeyRegistryError) -> Refusal? {
        guard let method = methods[principal.identity.method] else {
            return Refusal(.invalidTicket, detail: "\(principal.identity.method.label) admits no client any more")
        }
        if let sharedSecrets, method.needsSharedSecret {
            guard let secret = principal.secret, sharedSecrets.contains(secret) else {
                return Refusal(.invalidTicket, detail: "the shared secret that was shown isn't one any more")
            }
        }
        return try method.recheck(principal, at: moment)
    }

    /// A secret is demanded of this client, and it has shown none.
    func lacksSecret(_ principal: Principal) -> Bool {
        sharedSecrets != nil && principal.secret == nil
            && methods[principal.identity.method]?.needsSharedSecret ?? true
    }
}
