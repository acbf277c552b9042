package import Admission
import DPoP
import KeyStore
import WebAuthn

package enum SignInOutcome: Sendable {
    /// - Parameter remark: for the audit log.
    case signedIn(IssuedAccountToken, remark: String?)
    case refused(Refusal)
}

/// Signs players in: `POST /api/auth/passkey/authenticate` and its options, without the HTTP.
package struct SignIn: Sendable {
    private let services: AccountServices

    static let eligibilityRemark = "the passkey's eligibility for backups has changed"

    package init(_ services: AccountServices) { self.services = services }

    /// The options for a passkey of any account, fit for autofill. Nothing is stored. For reactors, too.
    package func options(_ request: TokenRequest) -> Result<[UInt8], RefusedRequest> {
        do throws(RefusedRequest) {
            if let refusal = services.limits.refuseChallenge(to: request.address, at: request.moment.monotonic) {
                throw RefusedRequest(refusal)
            }
            let body = try AccountBody(request.body, maximumBytes: services.maximumBodyBytes)
            let key = try body.keyThumbprint()
            let challenge = services.challenges.issue(
                for: .authentication, binding: key.bytes, at: request.moment)
            return .success(OptionsJSON.request(challenge, services.relyingParty))
        } catch {
            return .failure(error)
        }
    }

    /// Not for reactors: it verifies signatures and waits for the store. The order is rate, failures, body, proof, then
    /// ``SignInSteps``.
    ///
    /// - Parameter refuse: for the block list, with each name of the account whose passkey it is.
    package func signIn(
        _ request: TokenRequest, by gate: Gate, unless refuse: @escaping @Sendable (Identity) -> Refusal?
    ) async -> SignInOutcome {
        let (address, time) = (request.address, request.moment.monotonic)
        if let refusal = services.limits.refuseToken(to: address, at: time)
            ?? gate.refuseSignIn(from: address, at: time)
        {
            return .refused(refusal)
        }
        do throws(RefusedRequest) {
            let body = try AccountBody(request.body, maximumBytes: services.maximumBodyBytes)
            let passkey = try PasskeyProof(try body.credential(), of: services.relyingParty)
            let proof = try services.tokens.checkProof(of: request)
            let steps = SignInSteps(passkey, proof, services, at: request.moment, unless: refuse)
            let signedIn: SignedIn
            switch await Decision(steps).run(at: request.moment, asking: services.waiting) {
            case .success(let decided): signedIn = try decided.get()
            case .failure(let error): throw .storeUnavailable(error)
            }
            let token = try services.pair(for: signedIn.refreshed, at: request.moment)
            let remark = signedIn.isEligibilityChanged ? Self.eligibilityRemark : nil
            return .signedIn(token, remark: remark)
        } catch {
            // It is told in full.
            guard !error.refusal.isCounterRegression else { return .refused(error.refusal) }
            return .refused(gate.afterCountingSignIn(error.refusal, from: address, at: time))
        }
    }
}
