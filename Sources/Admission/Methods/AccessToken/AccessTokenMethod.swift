package import KeyStore
import WireText

/// An access token with a proof of possession (RFC 9449), from `POST /token`. Tokens of attested devices and of development tokens are
/// identities of two methods, so that routes can tell them apart.
///
/// A `DPoP` field, the scheme `DPoP`, or a bearer token that looks like one of ours selects this method; a bound token without a proof is
/// refused and never read as another credential.
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
            name: Self.name, identityNames: [Self.name, Self.developmentName],
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

    package func verify(
        _ credential: AccessTokenCredential, of request: AdmissionRequest
    ) throws(KeyRegistryError) -> Verification {
        guard let settings else {
            return .refused(
                .token(
                    .invalidToken, detail: "access tokens are not configured",
                    reason: "access tokens are not configured at this gateway", failed: FailedCheck(.authorization)))
        }
        guard settings.origins.areKnown else { return .refused(.publicOriginRequired) }
        let url = settings.origins.url(host: request.host, path: request.path)
        let resource = ResourceRequest(
            method: request.handshake.method, url: url.text,
            authorization: [credential.authorization].compactMap(\.self), proofs: credential.proofs,
            moment: request.moment, foreignHost: url.foreignHost)
        let verifier = ResourceVerifier(settings)
        guard verifier.answersLater else {
            return Self.verification(try verifier.verify(resource) { Self.refusal(of: $0, $1, for: request) })
        }
        return .later { answer in
            verifier.verify(resource, unless: { Self.refusal(of: $0, $1, for: request) }) {
                answer($0.map(Self.verification))
            }
        }
    }

    private static func verification(_ outcome: ResourceVerifier.Outcome) -> Verification {
        switch outcome {
        case .success(let verified): .verified(verified.identity, proof: verified.proof)
        case .failure(let refused): .refused(refused.refusal)
        }
    }

    /// An unverified token names nobody.
    package func revocation(of credential: AccessTokenCredential, at moment: Moment) -> Refusal? { nil }

    package func prepareRecheck(
        of principal: Principal, at moment: Moment, then: @escaping @Sendable () -> Void
    ) {
        guard let fleet = settings?.fleet, let proof = principal.proof as? AccessTokenProof,
            case .device(let id) = proof.subject
        else { return then() }
        fleet.standings.load(id, at: moment.monotonic) { _ in then() }
    }

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
    package func recheck(_ principal: Principal, at moment: Moment) throws(KeyRegistryError) -> Refusal? {
        guard let settings, let proof = principal.proof as? AccessTokenProof else {
            return Refusal(.invalidTicket, detail: "access tokens are not configured any more")
        }
        guard !settings.keys.isRevoked(proof.signingKeyID) else {
            return Refusal(.invalidTicket, detail: "the key that signed the access token is revoked")
        }
        guard settings.sessionOutlivesToken || moment.date < proof.expiresAt else {
            return Refusal(.invalidTicket, detail: "the access token has expired")
        }
        guard case .refused(let refusal) = try TokenSubject(settings).standing(of: proof, at: moment) else {
            return nil
        }
        return refusal.code == .deviceBlocked
            ? Refusal(.keyRevoked, detail: refusal.detail) : Refusal(.invalidTicket, detail: refusal.detail)
    }
}

/// An access token and its proof as presented.
package struct AccessTokenCredential: Sendable {
    let authorization: String?
    let proofs: [String]

    /// The values of several fields are joined with commas, which no proof contains. RFC 9449 section 4.3 (check 1) allows one field.
    static func proofs(in field: String) -> [String] {
        field.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
            .map { String(decoding: $0.trimmed(where: ASCIIByte.isBlank), as: UTF8.self) }
    }

    /// The scheme is `DPoP`, or it is `Bearer` with three parts between dots, of which the first is a JSON object. A shared secret isn't.
    static func looksLikeToken(_ authorization: String) -> Bool {
        let words = authorization.splitAtBytes(maxSplits: 1) { $0 == 0x20 }
        guard words.count == 2, ASCIIByte.isSame(words[0], "bearer") else {
            return ASCIIByte.isSame(words[0], "dpop")
        }
        let token = words[1].utf8.drop { $0 == 0x20 }
        return token.starts(with: "eyJ".utf8) && token.count { $0 == UInt8(ascii: ".") } == 2
    }
}
