import DPoP
package import FoundationEssentials
package import KeyStore

/// Verifies an access token together with its proof, for any request. WebSocket upgrades and forward authentication both use it.
///
/// The order: `Authorization`, the token, the standing of its subject, the caller's checks, then the proof, whose use is recorded
/// last. It runs on reactors: the standing is read from the store's synchronous part.
package struct ResourceVerifier: Sendable {
    private let settings: TokenSettings

    package init(_ settings: TokenSettings) { self.settings = settings }

    /// - Parameter refuse: called for a valid token before its proof is checked and spent; for routes and lists.
    package func verify(
        _ request: ResourceRequest,
        unless refuse: (Identity, DevelopmentGrant?) -> Refusal? = { _, _ in nil }
    ) throws(KeyRegistryError) -> Result<VerifiedResourceRequest, RefusedRequest> {
        let time = request.moment.date
        let token: VerifiedAccessToken
        do throws(RefusedRequest) {
            token = try verifiedToken(request, at: time)
        } catch {
            return .failure(error)
        }
        var proof = AccessTokenProof(token)
        let grant: DevelopmentGrant?
        switch try TokenSubject(settings).standing(of: proof, at: request.moment) {
        case .refused(let refusal): return .failure(RefusedRequest(refusal))
        case .good(let found): grant = found
        }
        proof.routes = grant?.routes
        if let refusal = refuse(proof.identity, grant) { return .failure(RefusedRequest(refusal)) }
        do throws(RefusedRequest) {
            let verified = try verifiedProof(request, for: token, at: time)
            return .success(
                VerifiedResourceRequest(
                    identity: proof.identity, claims: token.claims, proof: proof, grant: grant,
                    freshNonce: freshNonce(after: verified, at: time)))
        } catch {
            return .failure(error)
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
            throw RefusedRequest(.token(.invalidToken, detail: "access token: \(error)", failed: failed))
        }
    }

    private func presentedToken(_ request: ResourceRequest) throws(RefusedRequest) -> PresentedToken {
        let failed = FailedCheck(.authorization)
        let presented: PresentedToken?
        do throws(AuthorizationRefusal) {
            presented = try PresentedToken.read(authorization: request.authorization)
        } catch {
            let answer: RefusalAnswer = error.code == .invalidRequest ? .invalidRequest : .invalidToken
            throw RefusedRequest(.token(answer, detail: "authorization: \(error)", failed: failed))
        }
        guard let presented else {
            throw RefusedRequest(.token(.tokenRequired, detail: "no Authorization field", failed: failed))
        }
        return presented
    }

    private func verifiedProof(
        _ request: ResourceRequest, for token: VerifiedAccessToken, at time: Date
    ) throws(RefusedRequest) -> VerifiedProof {
        let rule: NonceRule = settings.nonces == .always ? .required(settings.keys.nonces) : .ignored
        let verifier = DPoPVerifier(nonces: rule)
        let proven = ProofRequest(
            proofs: request.proofs, method: request.method, url: request.url, token: BoundToken(token))
        do throws(ProofRefusal) {
            return try verifier.verify(proven, at: time, spending: settings.replays.resource)
        } catch {
            throw RefusedRequest(
                .proof(
                    error, verifier.discrepancy(error, of: proven, at: time), at: .resource, time: time,
                    freshNonce: settings.keys.nonces.nonce(at: time)))
        }
    }

    private func freshNonce(after proof: VerifiedProof, at time: Date) -> String? {
        guard settings.nonces == .always, settings.keys.nonces.isRenewalDue(proof.nonce, at: time) else { return nil }
        return settings.keys.nonces.nonce(at: time)
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
