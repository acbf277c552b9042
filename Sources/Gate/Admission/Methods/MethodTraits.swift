/// What the gate has to know of an admission method besides its credential. Nothing here has a default, so that a
/// method that is added can't be silent about it. A gate asks for it once.
package struct MethodTraits: Sendable {
    /// Makes a challenge.
    package typealias Challenge = @Sendable (Moment) -> FreshChallenge?
    /// Admits a client that another method has refused, or that shows no credential. It becomes anonymous, with the
    /// returned proof; nil leaves it refused.
    package typealias Exemption = @Sendable (Refusal, AdmissionRequest) -> (any AdmissionProof)?

    /// The name of the credential: an attempt with it has this name in the log, the audit log and metrics.
    package let name: MethodName
    /// The names of the identities that the method verifies. Most methods use one name for both.
    package let identityNames: [MethodName]
    /// The header fields and query parameters that the method reads. A request that repeats one of these header fields
    /// is refused.
    package let fields: CredentialFieldNames
    /// How much of an address' verifications per second one verification takes. 0 if the method verifies nothing.
    package let cost: Int
    /// Whether its clients have to present a shared secret if one is required.
    package let needsSharedSecret: Bool
    /// A challenge that a client refused with 401 can use for its next attempt, without another round trip; nil: the
    /// method has none.
    package let challenge: Challenge?
    /// nil: the method admits only who presents its credential.
    package let exemption: Exemption?

    package init(
        name: MethodName, identityNames: [MethodName], fields: CredentialFieldNames, cost: Int,
        needsSharedSecret: Bool, challenge: Challenge?, exemption: Exemption?
    ) {
        self.name = name
        self.identityNames = identityNames
        self.fields = fields
        self.cost = cost
        self.needsSharedSecret = needsSharedSecret
        self.challenge = challenge
        self.exemption = exemption
    }
}

/// A challenge for a refused client's next attempt, with the header field that brings it.
package struct FreshChallenge: Sendable {
    package let field: String
    package let text: String

    package init(_ text: String, in field: String) { (self.field, self.text) = (field, text) }
}

/// A method of a gate, with its traits.
struct GateMethod: Sendable {
    let method: any AdmissionMethod
    let traits: MethodTraits

    init(_ method: any AdmissionMethod) {
        self.method = method
        traits = method.traits
    }
}
