/// Decides whether a client that was admitted earlier would still be admitted by the same proof, under the current
/// settings, store and time.
///
/// Spending a ticket, issuing a session's next ticket and resuming depend on an earlier proof. Each is checked here
/// every time; an earlier success allows nothing.
struct ProofCheck: Sendable {
    private let methods: [MethodName: GateMethod]
    /// `nil`: none is required.
    private let sharedSecrets: SharedSecrets?

    init(_ methods: [GateMethod], sharedSecrets: SharedSecrets?) {
        let named = methods.flatMap { method in method.traits.identityNames.map { ($0, method) } }
        self.methods = Dictionary(named) { first, _ in first }
        self.sharedSecrets = sharedSecrets
    }

    /// An identity whose method is no longer configured is refused.
    func recheck(_ principal: Principal, at moment: Moment) -> Inquiry<Refusal?> {
        guard let method = methods[principal.identity.method] else {
            return .known(
                Refusal(.invalidTicket, detail: "\(principal.identity.method.label) is no longer configured"))
        }
        if let sharedSecrets, method.traits.needsSharedSecret {
            guard let secret = principal.secret, sharedSecrets.contains(secret) else {
                return .known(Refusal(.invalidTicket, detail: "the shared secret is no longer configured"))
            }
        }
        return method.method.recheck(principal, at: moment)
    }

    /// This client must present a shared secret and hasn't.
    func lacksSecret(_ principal: Principal) -> Bool {
        sharedSecrets != nil && principal.secret == nil
            && methods[principal.identity.method]?.traits.needsSharedSecret ?? true
    }
}
