package import DPoP
import FoundationEssentials
package import KeyStore
package import WireText

/// A request to `POST /token` or `POST /attest/register` in the token dialect, as received.
package struct TokenRequest: Sendable {
    package var body: [UInt8]
    /// The values of all `DPoP` fields.
    package var proofs: [String]
    package var method: String
    /// As the client sees it.
    package var url: String
    package var address: IPAddress
    package var moment: Moment
    /// Of a request to another host than the gateway's, which `url` can't say.
    package var foreignHost: ForeignHost?

    package init(
        body: [UInt8], proofs: [String], method: String, url: String, address: IPAddress, moment: Moment
    ) {
        self.body = body
        self.proofs = proofs
        self.method = method
        self.url = url
        self.address = address
        self.moment = moment
    }
}

extension TokenSettings {
    /// Verifies that the sender holds the key that the body names. Nothing is used up.
    ///
    /// - Parameter nonces: never required for a registration: clients don't repeat one, and each failed one costs them
    ///   an App Attest key.
    func checkProof(
        of request: TokenRequest, _ body: TokenDialectBody, _ nonces: NonceRule
    ) throws(RefusedRequest) -> UnspentProof {
        let proof = try checkProof(of: request, nonces)
        guard proof.key == body.key else {
            throw RefusedRequest(
                .token(
                    .invalidProofAtToken, detail: "proof: another key than device_key_jwk",
                    reason: "the proof is signed by another key than device_key_jwk",
                    failed: FailedCheck(
                        .deviceKey, expected: "the key \(body.key.thumbprint) of device_key_jwk",
                        received: "a proof by \(proof.key.thumbprint)")))
        }
        guard body.proof.map({ $0.hasSameBytes(as: request.proofs[0]) }) ?? true else {
            throw RefusedRequest(
                .token(
                    .invalidProofAtToken, detail: "proof: dpop is another one than the header's",
                    reason: "dpop is another proof than that of the field DPoP",
                    failed: FailedCheck(.deviceKey)))
        }
        return proof
    }

    /// Verifies the proof of a request whose body names no key. Nothing is used up.
    package func checkProof(of request: TokenRequest) throws(RefusedRequest) -> UnspentProof {
        let nonces = serverNonces(at: request.moment)
        return try checkProof(of: request, self.nonces == .off ? .recognised(nonces) : .required(nonces))
    }

    private func checkProof(
        of request: TokenRequest, _ nonces: NonceRule
    ) throws(RefusedRequest) -> UnspentProof {
        let time = request.moment.date
        let verifier = DPoPVerifier(nonces: nonces)
        let proven = ProofRequest(proofs: request.proofs, method: request.method, url: request.url)
        do throws(ProofRefusal) { return try verifier.check(proven, at: time) } catch {
            throw RefusedRequest(
                .proof(
                    error,
                    request.foreignHost?.discrepancy(error) ?? verifier.discrepancy(error, of: proven, at: time),
                    reason: error.reason(at: request.url, request.foreignHost), at: .token, time: time,
                    freshNonce: serverNonces(at: request.moment).nonce(at: time)))
        }
    }

    /// Refuses a proof that this gateway knows to be used, before what costs more is verified. It uses nothing up:
    /// ``claim(_:at:_:freshBy:)`` does.
    package func refuseUsed(
        _ proof: UnspentProof, at endpoint: ProofEndpoint, in moment: Moment, freshBy sign: FreshnessSign
    ) throws(RefusedRequest) {
        guard let refusal = refusal(of: proof, at: endpoint, moment, freshBy: sign) else { return }
        _ = try conclude(proof, by: refusal, in: moment)
    }

    package func conclude(
        _ proof: UnspentProof, by spending: ReplaySpending, in moment: Moment
    ) throws(RefusedRequest) -> VerifiedProof {
        let time = moment.date
        do throws(ProofRefusal) { return try proof.concluded(by: spending) } catch {
            let discrepancy = error == .perhapsInEarlierLife ? DPoPVerifier.ofEarlierLife : nil
            throw RefusedRequest(
                .proof(
                    error, discrepancy, at: .token, time: time,
                    freshNonce: serverNonces(at: moment).nonce(at: time)))
        }
    }
}

extension RefusedRequest {
    /// Seconds.
    private static let storeRetryAfter = 5

    /// At the endpoints of the token dialect.
    package static func unavailable(_ error: KeyRegistryError) -> RefusedRequest { unavailable("\(error)") }

    static func unavailable(_ detail: String, _ failed: FailedCheck? = nil) -> RefusedRequest {
        RefusedRequest(.token(.tokensUnavailable, detail: detail, retryAfter: storeRetryAfter, failed: failed))
    }
}

extension ChallengeExamination {
    func openInTokenDialect() throws(RefusedRequest) -> OpenChallenge {
        switch self {
        case .open(let challenge): return challenge
        case .refused(let refusal):
            throw RefusedRequest(
                .token(.nonceExpired, detail: refusal.detail, reason: refusal.reason, failed: refusal.failed))
        }
    }
}

extension ChallengeSpending {
    func spentInTokenDialect() throws(RefusedRequest) -> SpentChallenge {
        switch self {
        case .spent(let challenge): return challenge
        default: throw RefusedRequest(tokenRefusal)
        }
    }

    /// Not of `.spent`.
    var tokenRefusal: Refusal {
        if case .full(let seconds) = self {
            return .token(
                .challengesExhausted, detail: "spent challenges are at their maximum", reason: reason,
                retryAfter: seconds)
        }
        return .token(.nonceExpired, detail: detail, reason: reason, failed: failed)
    }
}
