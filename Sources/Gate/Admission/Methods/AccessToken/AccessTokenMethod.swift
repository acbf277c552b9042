import KeyStore
import WireText

/// An access token with a proof of possession (RFC 9449), from `POST /token` or a sign-in. Tokens of attested devices,
/// of development tokens and of players' accounts are identities of three methods, so that routes can tell them apart.
///
/// A `DPoP` field, the scheme `DPoP`, or a bearer token that looks like one of ours selects this method; a bound token
/// without a proof is refused and never read as another credential.
package struct AccessTokenMethod: AdmissionMethod {
    package static let name = MethodName(label: "access_token", route: "token", holders: .one)
    package static let developmentName = MethodName(label: "development_token", route: "dev", holders: .one)

    static let header = "dpop"
    static let authorization = "authorization"

    /// nil: there are no access tokens, and requests with one are refused.
    package let settings: TokenSettings?

    package init(_ settings: TokenSettings?) { self.settings = settings }

    package typealias Proof = AccessTokenProof

    package var traits: MethodTraits {
        MethodTraits(
            name: Self.name, identityNames: [Self.name, Self.developmentName, Self.accountName],
            fields: CredentialFieldNames(headers: [Self.header, Self.authorization], lists: [Self.header]), cost: 1,
            needsSharedSecret: true, challenge: nil, exemption: nil)
    }

    package func credential(in request: AdmissionRequest) -> AccessTokenCredential? {
        let authorization = request.fields.header(Self.authorization)
        let proof = request.fields.header(Self.header)
        guard proof != nil || authorization.map(AccessTokenCredential.looksLikeToken) ?? false else { return nil }
        return AccessTokenCredential(
            authorization: authorization, proofs: proof.map(AccessTokenCredential.proofs) ?? [])
    }

    /// The identity is known only after verification.
    package func claim(of credential: AccessTokenCredential) -> Claim { Claim(method: nil) }

    package func verify(_ credential: AccessTokenCredential, of request: AdmissionRequest) -> Inquiry<Verification> {
        guard let settings else {
            return .known(
                .refused(
                    .token(
                        .invalidToken, detail: "access tokens are not configured",
                        reason: "access tokens are not configured at this gateway", failed: FailedCheck(.authorization))
                ))
        }
        guard settings.origins.areKnown else { return .known(.refused(.publicOriginRequired)) }
        let url = settings.origins.url(host: request.host, path: request.path)
        let resource = ResourceRequest(
            method: request.handshake.method, url: url.text,
            authorization: [credential.authorization].compactMap(\.self), proofs: credential.proofs,
            moment: request.moment, foreignHost: url.foreignHost)
        return .steps(
            AccessTokenSteps(
                resource: ResourceSteps(resource, settings) { Self.refusal(of: $0.identity, $1, for: request) }))
    }

    /// An unverified token names nobody.
    package func revocation(of credential: AccessTokenCredential) -> Inquiry<Refusal?> { .known(nil) }

    /// Routes are checked before the proof is spent.
    private static func refusal(
        of identity: Identity, _ grant: DevelopmentGrant?, for request: AdmissionRequest
    ) -> Refusal? {
        guard request.allows(identity.method) else {
            let detail = "the route is not open to \(identity.method.label)"
            let failed = FailedCheck.route(identity.method, request)
            return identity.method == developmentName
                ? .token(.invalidToken, detail: detail, reason: detail, failed: failed)
                : Refusal(.wayNotAllowed, detail: detail, failed: failed)
        }
        guard let routes = grant?.routes, !(request.route.map(routes.containsBytes) ?? false) else { return nil }
        return Refusal(.wayNotAllowed, detail: "the development token is not for this route")
    }

    /// The signing key may have been retired since, but not revoked.
    package func recheck(_ principal: Principal, at moment: Moment) -> Inquiry<Refusal?> {
        guard let settings, let proof = principal.proof as? AccessTokenProof else {
            return .known(Refusal(.invalidTicket, detail: "access tokens are not configured any more"))
        }
        guard !settings.keys.isRevoked(proof.signingKeyID) else {
            return .known(Refusal(.invalidTicket, detail: "the key that signed the access token is revoked"))
        }
        return .steps(AccessTokenRecheck(proof: proof, settings: settings))
    }
}

/// An upgrade with an access token.
private struct AccessTokenSteps: DecisionSteps {
    var resource: ResourceSteps

    mutating func next(_ answer: StoreAnswer?, at moment: Moment) -> Step<Verification> {
        switch resource.next(answer, at: moment) {
        case .ask(let question, let store): .ask(question, of: store)
        case .decided(.success(let verified)): .decided(.verified(verified.identity, proof: verified.proof))
        case .decided(.failure(let refused)): .decided(.refused(refused.refusal))
        }
    }
}

/// A token that was verified earlier: its lifetime, then its subject. Its lifetime is judged again when the store has
/// answered.
private struct AccessTokenRecheck: DecisionSteps {
    let proof: AccessTokenProof
    let settings: TokenSettings

    mutating func next(_ answer: StoreAnswer?, at moment: Moment) -> Step<Refusal?> {
        guard settings.sessionOutlivesToken || moment.date < proof.expiresAt else {
            return .decided(Refusal(.invalidTicket, detail: "the access token has expired"))
        }
        let subject = TokenSubject(settings)
        if let answer { return step(subject.standing(of: proof, by: answer, at: moment)) }
        switch subject.look(at: proof, for: .recheck) {
        case .ask(let question): return .ask(question, of: settings.store)
        case .known(let standing): return step(standing)
        }
    }

    private func step(_ standing: TokenSubject.Status) -> Step<Refusal?> {
        if case .unfinished(let question) = standing { return .ask(question, of: settings.store) }
        return .decided(Self.refusal(of: standing))
    }

    private static func refusal(of standing: TokenSubject.Status) -> Refusal? {
        guard case .refused(let refusal) = standing else { return nil }
        return refusal.code == .deviceBlocked
            ? Refusal(.keyRevoked, detail: refusal.detail) : Refusal(.invalidTicket, detail: refusal.detail)
    }
}

/// An access token and its proof as presented.
package struct AccessTokenCredential: Sendable {
    let authorization: String?
    let proofs: [String]

    /// The values of several fields are joined with commas, which no proof contains. RFC 9449 section 4.3 (check 1)
    /// allows one field.
    static func proofs(in field: String) -> [String] {
        field.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
            .map { String(decoding: $0.trimmed(where: ASCIIByte.isBlank), as: UTF8.self) }
    }

    /// The scheme is `DPoP`, or it is `Bearer` with three parts between dots, of which the first is a JSON object. A
    /// shared secret isn't.
    static func looksLikeToken(_ authorization: String) -> Bool {
        let words = authorization.splitAtBytes(maxSplits: 1) { $0 == 0x20 }
        guard words.count == 2, ASCIIByte.isSame(words[0], "bearer") else {
            return ASCIIByte.isSame(words[0], "dpop")
        }
        let token = words[1].utf8.drop { $0 == 0x20 }
        return token.starts(with: "eyJ".utf8) && token.count { $0 == UInt8(ascii: ".") } == 2
    }
}
