import DPoP
package import FoundationEssentials
package import KeyStore

/// Verifies an access token together with its proof, for any request. WebSocket upgrades and authorization requests
/// both use it.
package struct ResourceVerifier: Sendable {
    package typealias Outcome = Result<VerifiedResourceRequest, RefusedRequest>
    /// Called for a valid token before its proof is checked and spent; for routes and lists.
    package typealias Objection = @Sendable (AccessTokenProof, DevelopmentGrant?) -> Refusal?

    private let settings: TokenSettings

    package init(_ settings: TokenSettings) { self.settings = settings }

    /// For a caller that can't wait: from what is known of the store, or with an error.
    package func verify(
        _ request: ResourceRequest, unless refuse: @escaping Objection = { _, _ in nil }
    ) throws(KeyRegistryError) -> Outcome {
        try Decision(ResourceSteps(request, settings, unless: refuse)).runWithoutWaiting(at: request.moment).get()
    }
}

/// The steps of such a request: `Authorization`, the token, the standing of its subject, the caller's checks, then the
/// proof, whose use is recorded last. Then the token must still be good.
struct ResourceSteps: DecisionSteps {
    private let request: ResourceRequest
    private let settings: TokenSettings
    private let refuse: ResourceVerifier.Objection
    private var token: VerifiedAccessToken?
    private var unspent: Unspent?
    /// Of the token's subject, if that is one.
    private var account: AccountStanding?
    /// That the token's device has joined.
    private var deviceAccount: AccountID?

    init(_ request: ResourceRequest, _ settings: TokenSettings, unless refuse: @escaping ResourceVerifier.Objection) {
        self.request = request
        self.settings = settings
        self.refuse = refuse
    }

    /// All is verified, but the proof isn't used up.
    private struct Unspent: Sendable {
        let token: VerifiedAccessToken
        let proof: AccessTokenProof
        let grant: DevelopmentGrant?
        let use: UnspentProof
    }

    mutating func next(_ answer: StoreAnswer?, at moment: Moment) -> Step<ResourceVerifier.Outcome> {
        do throws(RefusedRequest) {
            switch (answer, token, unspent) {
            case (nil, _, _): return try begin()
            case (.spend(let spending), _, let unspent?):
                return .decided(.success(try conclude(unspent, by: spending, at: moment.date)))
            case (let answer?, let token?, nil):
                if case .account(let found) = answer { account = found }
                if case .standing(let key, _) = answer { deviceAccount = key?.account }
                let standing = TokenSubject(settings).standing(of: AccessTokenProof(token), by: answer, at: moment)
                return try spend(token, standing, at: moment.date)
            default: wrongAnswer(answer)
            }
        } catch {
            return .decided(.failure(error))
        }
    }

    private mutating func begin() throws(RefusedRequest) -> Step<ResourceVerifier.Outcome> {
        let time = request.moment.date
        let token = try verifiedToken(request, at: time)
        self.token = token
        switch TokenSubject(settings).look(at: AccessTokenProof(token), for: .token) {
        case .ask(let question): return .ask(question, of: settings.store)
        case .known(let standing): return try spend(token, standing, at: time)
        }
    }

    /// Verifies the proof, and has it used up.
    private mutating func spend(
        _ token: VerifiedAccessToken, _ standing: TokenSubject.Status, at time: Date
    ) throws(RefusedRequest) -> Step<ResourceVerifier.Outcome> {
        if case .unfinished(let question) = standing { return .ask(question, of: settings.store) }
        let unspent = try check(token, standing)
        self.unspent = unspent
        let (own, claim) = settings.claim(unspent.use, at: .resource, request.moment, freshBy: .proof)
        guard own == .spent else { return .decided(.success(try conclude(unspent, by: own, at: time))) }
        return .ask(.spend(claim), of: settings.store)
    }

    private func check(
        _ token: VerifiedAccessToken, _ standing: TokenSubject.Status
    ) throws(RefusedRequest) -> Unspent {
        var proof = AccessTokenProof(token)
        let grant: DevelopmentGrant?
        switch standing {
        case .refused(let refusal): throw RefusedRequest(refusal)
        case .good(let found): grant = found
        case .unfinished: preconditionFailure("It has been asked.")
        }
        if let account { proof.note(account) }
        if let deviceAccount { proof.note(deviceAccount) }
        proof.routes = grant?.routes
        if let refusal = refuse(proof, grant) { throw RefusedRequest(refusal) }
        do throws(ProofRefusal) {
            let use = try proofVerifier(at: request.moment).check(
                proven(request, by: token), at: request.moment.date)
            return Unspent(token: token, proof: proof, grant: grant, use: use)
        } catch {
            throw refused(error, request, token)
        }
    }

    /// The token may have expired while the store was asked.
    private func conclude(
        _ unspent: Unspent, by spending: ReplaySpending, at time: Date
    ) throws(RefusedRequest) -> VerifiedResourceRequest {
        let verified: VerifiedProof
        do throws(ProofRefusal) { verified = try unspent.use.concluded(by: spending) } catch {
            throw refused(error, request, unspent.token)
        }
        guard time < unspent.token.claims.expiresAt else {
            throw refused(.expired, try presentedToken(request), at: time)
        }
        return VerifiedResourceRequest(
            identity: unspent.proof.identity, claims: unspent.token.claims, proof: unspent.proof,
            grant: unspent.grant, freshNonce: freshNonce(after: verified, at: request.moment))
    }

    private func verifiedToken(
        _ request: ResourceRequest, at time: Date
    ) throws(RefusedRequest) -> VerifiedAccessToken {
        let presented = try presentedToken(request)
        do throws(AccessTokenRefusal) {
            return try settings.keys.verify(
                presented, issuer: settings.issuer, audience: settings.audience, at: time)
        } catch {
            throw refused(error, presented, at: time)
        }
    }

    private func refused(
        _ refusal: AccessTokenRefusal, _ presented: PresentedToken, at time: Date
    ) -> RefusedRequest {
        let (issuer, audience) = (settings.issuer, settings.audience)
        let failed = FailedCheck(
            refusal.check,
            AccessTokenVerifier.discrepancy(refusal, of: presented, issuer: issuer, audience: audience, at: time))
        return RefusedRequest(
            .token(
                .invalidToken, detail: "access token: \(refusal)", reason: refusal.clientDescription, failed: failed))
    }

    private func presentedToken(_ request: ResourceRequest) throws(RefusedRequest) -> PresentedToken {
        let failed = FailedCheck(.authorization)
        let presented: PresentedToken?
        do throws(AuthorizationRefusal) {
            presented = try PresentedToken.read(authorization: request.authorization)
        } catch {
            let answer: RefusalAnswer =
                switch error {
                case .severalFields: .invalidRequest
                case .otherScheme: .tokenRequired
                case .malformedToken: .invalidToken
                }
            throw RefusedRequest(
                .token(answer, detail: "authorization: \(error)", reason: error.clientDescription, failed: failed))
        }
        guard let presented else {
            throw RefusedRequest(
                .token(
                    .tokenRequired, detail: "no Authorization field", reason: "there is no Authorization field",
                    failed: failed))
        }
        return presented
    }

    private func proofVerifier(at moment: Moment) -> DPoPVerifier {
        let nonces = settings.serverNonces(at: moment)
        return DPoPVerifier(nonces: settings.nonces == .always ? .required(nonces) : .recognised(nonces))
    }

    private func proven(_ request: ResourceRequest, by token: VerifiedAccessToken) -> ProofRequest {
        ProofRequest(proofs: request.proofs, method: request.method, url: request.url, token: BoundToken(token))
    }

    private func refused(
        _ refusal: ProofRefusal, _ request: ResourceRequest, _ token: VerifiedAccessToken
    ) -> RefusedRequest {
        let (time, verifier) = (request.moment.date, proofVerifier(at: request.moment))
        return RefusedRequest(
            .proof(
                refusal,
                request.foreignHost?.discrepancy(refusal)
                    ?? verifier.discrepancy(refusal, of: proven(request, by: token), at: time),
                reason: refusal.reason(at: request.url, request.foreignHost), at: .resource, time: time,
                freshNonce: settings.serverNonces(at: request.moment).nonce(at: time)))
    }

    private func freshNonce(after proof: VerifiedProof, at moment: Moment) -> String? {
        let (time, nonces) = (moment.date, settings.serverNonces(at: moment))
        guard settings.nonces == .always, nonces.isRenewalDue(proof.nonce, at: time) else { return nil }
        return nonces.nonce(at: time)
    }
}

/// A refusal that is thrown within a verifier.
package struct RefusedRequest: Error, Sendable {
    package let refusal: Refusal

    package init(_ refusal: Refusal) { self.refusal = refusal }
}

extension Moment {
    package var date: Date { Date(timeIntervalSince1970: Double(unixMilliseconds) / 1_000) }
}
