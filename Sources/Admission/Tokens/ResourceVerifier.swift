import DPoP
package import FoundationEssentials
package import KeyStore

/// Verifies an access token together with its proof, for any request. WebSocket upgrades and forward authentication both use it.
///
/// The order: `Authorization`, the token, the standing of its subject, the caller's checks, then the proof, whose use is recorded
/// last. It runs on reactors: the standing is read from the store's synchronous part, and in a fleet it answers later.
package struct ResourceVerifier: Sendable {
    package typealias Outcome = Result<VerifiedResourceRequest, RefusedRequest>

    private let settings: TokenSettings

    package init(_ settings: TokenSettings) { self.settings = settings }

    /// In a fleet. Then the call that answers at once fails.
    package var answersLater: Bool { settings.fleet != nil }

    /// For a gateway that is alone.
    ///
    /// - Parameter refuse: called for a valid token before its proof is checked and spent; for routes and lists.
    package func verify(
        _ request: ResourceRequest,
        unless refuse: (Identity, DevelopmentGrant?) -> Refusal? = { _, _ in nil }
    ) throws(KeyRegistryError) -> Outcome {
        guard !answersLater else { throw .unavailable("a fleet doesn't answer at once") }
        let token: VerifiedAccessToken
        do throws(RefusedRequest) { token = try verifiedToken(request, at: request.moment.date) } catch {
            return .failure(error)
        }
        switch try check(request, token, unless: refuse) {
        case .failure(let refused): return .failure(refused)
        case .success(let unspent):
            let life = settings.life(at: request.moment)
            let spending = settings.replays.resource.spend(unspent.use.use, at: request.moment.date, in: life)
            return conclude(unspent, by: spending, request)
        }
    }

    /// The same by a gateway of a fleet. The answer comes on any thread, once.
    package func verify(
        _ request: ResourceRequest,
        unless refuse: @escaping @Sendable (Identity, DevelopmentGrant?) -> Refusal? = { _, _ in nil },
        then: @escaping @Sendable (Result<Outcome, KeyRegistryError>) -> Void
    ) {
        let token: VerifiedAccessToken
        do throws(RefusedRequest) { token = try verifiedToken(request, at: request.moment.date) } catch {
            return then(.success(.failure(error)))
        }
        prepare(AccessTokenProof(token), at: request.moment) { hasRoom in
            guard hasRoom else { return then(.failure(.queueFull)) }
            spend(request, token, unless: refuse, then)
        }
    }

    private func spend(
        _ request: ResourceRequest, _ token: VerifiedAccessToken,
        unless refuse: (Identity, DevelopmentGrant?) -> Refusal?,
        _ then: @escaping @Sendable (Result<Outcome, KeyRegistryError>) -> Void
    ) {
        let checked: Result<Unspent, RefusedRequest>
        do throws(KeyRegistryError) { checked = try check(request, token, unless: refuse) } catch {
            return then(.failure(error))
        }
        switch checked {
        case .failure(let refused): then(.success(.failure(refused)))
        case .success(let unspent):
            settings.spend(unspent.use, at: .resource, request.moment) { spending in
                then(spending.map { conclude(unspent, by: $0, request) })
            }
        }
    }

    /// Fetches the standing of the token's subject if it isn't known. What follows verifies a signature: not on the store's thread.
    ///
    /// - Parameter then: called with false if there is no room for another computation.
    private func prepare(
        _ proof: AccessTokenProof, at moment: Moment, then: @escaping @Sendable (Bool) -> Void
    ) {
        guard let fleet = settings.fleet, case .device(let id) = proof.subject,
            fleet.standings.current(of: id, at: moment.monotonic) == nil
        else { return then(true) }
        fleet.standings.load(id, at: moment.monotonic) { _ in
            if !fleet.compute({ then(true) }) { then(false) }
        }
    }

    // MARK: Steps

    /// All is verified, but the proof isn't used up.
    private struct Unspent: Sendable {
        let token: VerifiedAccessToken
        let proof: AccessTokenProof
        let grant: DevelopmentGrant?
        let use: UnspentProof
    }

    private func check(
        _ request: ResourceRequest, _ token: VerifiedAccessToken,
        unless refuse: (Identity, DevelopmentGrant?) -> Refusal?
    ) throws(KeyRegistryError) -> Result<Unspent, RefusedRequest> {
        var proof = AccessTokenProof(token)
        let grant: DevelopmentGrant?
        switch try TokenSubject(settings).standing(of: proof, at: request.moment) {
        case .refused(let refusal): return .failure(RefusedRequest(refusal))
        case .good(let found): grant = found
        }
        proof.routes = grant?.routes
        if let refusal = refuse(proof.identity, grant) { return .failure(RefusedRequest(refusal)) }
        do throws(ProofRefusal) {
            let use = try proofVerifier(at: request.moment).check(
                proven(request, by: token), at: request.moment.date)
            return .success(Unspent(token: token, proof: proof, grant: grant, use: use))
        } catch {
            return .failure(refused(error, request, token))
        }
    }

    private func conclude(_ unspent: Unspent, by spending: ReplaySpending, _ request: ResourceRequest) -> Outcome {
        do throws(ProofRefusal) {
            let verified = try unspent.use.concluded(by: spending)
            return .success(
                VerifiedResourceRequest(
                    identity: unspent.proof.identity, claims: unspent.token.claims, proof: unspent.proof,
                    grant: unspent.grant, freshNonce: freshNonce(after: verified, at: request.moment)))
        } catch {
            return .failure(refused(error, request, unspent.token))
        }
    }

    private func verifiedToken(
        _ request: ResourceRequest, at time: Date
    ) throws(RefusedRequest) -> VerifiedAccessToken {
        let presented = try presentedToken(request)
        do throws(AccessTokenRefusal) {
            return try settings.keys.verify(
                presented, issuer: settings.issuer, audience: settings.audience, at: time)
        } catch {
            let (issuer, audience) = (settings.issuer, settings.audience)
            let failed = FailedCheck(
                error.check,
                AccessTokenVerifier.discrepancy(error, of: presented, issuer: issuer, audience: audience, at: time))
            throw RefusedRequest(
                .token(
                    .invalidToken, detail: "access token: \(error)", reason: error.clientDescription, failed: failed))
        }
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
