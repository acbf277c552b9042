package import AppAttest
package import KeyStore

/// App Attest: a registered device signs a fresh challenge of the gateway. Checked in the order challenge, key,
/// signature, counter.
///
/// One `X-App-Assert-*` header, even an empty one, chooses this method. The challenge is spent at its first use,
/// whatever the result, so a client can't try several assertions with one challenge.
package struct AppAttestMethod: AdmissionMethod {
    package static let name = MethodName(label: "app_attest", route: "app", holders: .one)

    package static let blockListKind = BlockListKind(
        word: "key", methods: name, AccessTokenMethod.name, SignedRequestMethod.name,
        problem: "holds no key identifier", remedy: "Write it as `portcullis keys list` shows it."
    ) { KeyID(text: $0)?.base64 }

    /// `nil`: App Attest isn't configured, and every assertion is refused.
    package let settings: AppAttestSettings?

    package init(_ settings: AppAttestSettings?) { self.settings = settings }

    package typealias Proof = AppAttestProof

    package var traits: MethodTraits {
        MethodTraits(
            name: Self.name, identityNames: [Self.name],
            fields: CredentialFieldNames(headers: AssertionFields.headers), cost: 1, needsSharedSecret: true,
            challenge: challenge, exemption: nil)
    }

    private var challenge: MethodTraits.Challenge? {
        guard let challenges = settings?.challenges else { return nil }
        return { FreshChallenge(challenges.issue(at: $0).nonce, in: "X-App-Assert-Challenge") }
    }

    package func credential(in request: AdmissionRequest) -> AssertionCredential? {
        let fields = AssertionFields(request.fields)
        return fields.arePresent ? AssertionCredential(fields) : nil
    }

    package func claim(of credential: AssertionCredential) -> Claim {
        credential.key.map { Claim(.key($0)) } ?? Claim(method: Self.name)
    }

    package func revocation(of credential: AssertionCredential) -> Inquiry<Refusal?> {
        guard let settings, let id = credential.key else { return .known(nil) }
        return .steps(
            StandingSteps(id, settings.store) { key, _ in
                key?.isRevoked == true
                    ? Refusal(.keyRevoked, detail: "key is revoked, and the assertion wrong") : nil
            })
    }

    package func verify(_ credential: AssertionCredential, of request: AdmissionRequest) -> Inquiry<Verification> {
        guard let settings else {
            return .known(
                .refused(.assertionRejected, "App Attest is not configured", FailedCheck(.assertionFields)))
        }
        do throws(RefusedRequest) {
            return .steps(try AssertionSteps(credential, settings, at: request.moment))
        } catch {
            return .known(.refused(error.refusal))
        }
    }

    /// The same checks as for a key that signs an assertion.
    package func recheck(_ principal: Principal, at moment: Moment) -> Inquiry<Refusal?> {
        guard let settings, let proof = principal.proof as? AppAttestProof else { return .known(Self.unregistered) }
        return .steps(
            StandingSteps(proof.key, settings.store) { key, _ in
                guard let key else { return Self.unregistered }
                guard !key.isRevoked else { return Refusal(.keyRevoked, detail: "the key is revoked") }
                guard settings.scope.app(of: key) == proof.app else {
                    return Refusal(
                        .invalidTicket, detail: "the key's app, environment or trust root is no longer configured")
                }
                guard proof.account == nil || proof.account == key.account else {
                    return Refusal(.invalidTicket, detail: "the device has left its account, or that is closed")
                }
                return nil
            })
    }

    private static let unregistered = Refusal(.invalidTicket, detail: "the key is no longer registered")
}

/// One question about a key, whose answer is judged.
struct StandingSteps<Outcome: Sendable>: DecisionSteps {
    private let id: KeyID
    private let store: GateStore
    private let judge: @Sendable (KeyStanding?, Moment) -> Outcome

    init(_ id: KeyID, _ store: GateStore, judge: @escaping @Sendable (KeyStanding?, Moment) -> Outcome) {
        self.id = id
        self.store = store
        self.judge = judge
    }

    func next(_ answer: StoreAnswer?, at moment: Moment) -> Step<Outcome> {
        switch answer {
        case nil: .ask(.standing(id, for: .recheck), of: store)
        case .standing(let standing, _): .decided(judge(standing, moment))
        default: wrongAnswer(answer)
        }
    }
}

/// The key that signed an assertion, and the app that it was attested for.
package struct AppAttestProof: AdmissionProof {
    package let key: KeyID
    package let app: AppID
    package let account: AccountID?

    /// - Parameter assertion: not read; its existence is the proof.
    init(_ assertion: VerifiedAssertion, by key: KeyID, app: AppID, account: AccountID?) {
        self.key = key
        self.app = app
        self.account = account
    }

    package var isLarge: Bool { false }
    package var routes: Set<String>? { nil }

    package func isRevoked(by revocations: Revocations) -> Bool {
        switch revocations {
        case .store(let revoked): revoked.have(key, in: account)
        case .certificates: false
        }
    }

    package static var expiry: ProofExpiry<AppAttestProof> { .never }

    package func name(for name: MethodName) -> MethodName { name }
    package var accountEvidence: AccountEvidence? { .device(key, isFresh: true) }
    package var origins: [Identity] { [] }

    private enum CodingKeys: CodingKey {
        case key, app, account
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard let app = AppID(try container.decode(String.self, forKey: .app)) else { throw CarriedStateFault() }
        self.app = app
        key = try container.decode(KeyID.self, forKey: .key)
        // Programs of before don't say.
        account = try container.decodeIfPresent(AccountID.self, forKey: .account)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(key, forKey: .key)
        try container.encode(app.description, forKey: .app)
        try container.encodeIfPresent(account, forKey: .account)
    }
}

extension Identity {
    package static func key(_ id: KeyID) -> Identity { Identity(method: AppAttestMethod.name, subject: id.base64) }

    /// All identities that a device can have had.
    ///
    /// - Parameters:
    ///   - id: of its attested key, or the thumbprint of the key of its development tokens.
    ///   - grants: of those tokens.
    package static func ofDevice(_ id: KeyID, grants: [String]) -> [Identity] {
        [key(id), signed(id)] + TokenSubjectName.all(of: id, grants: grants)
    }
}
