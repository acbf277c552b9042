package import Admission
import Crypto
import DPoP
import KeyStore

/// Signs players in by a device that has joined their account: `POST /api/auth/device/authenticate` and its options,
/// without the HTTP.
package struct DeviceSignIn: Sendable {
    private let services: AccountServices

    package init(_ services: AccountServices) { self.services = services }

    /// A challenge for the device's assertion, which is bound to the key of the proof. Nothing is stored. For reactors,
    /// too.
    package func options(_ request: TokenRequest) -> Result<[UInt8], RefusedRequest> {
        do throws(RefusedRequest) {
            if let refusal = services.limits.refuseChallenge(to: request.address, at: request.moment.monotonic) {
                throw RefusedRequest(refusal)
            }
            let body = try AccountBody(request.body, maximumBytes: services.maximumBodyBytes)
            let key = try body.keyThumbprint()
            return .success(
                services.challenges.issue(for: .deviceAuthentication, binding: key.bytes, at: request.moment))
        } catch {
            return .failure(error)
        }
    }

    /// What the device signs: it names the key that the tokens will be bound to, and no other assertion of it is over
    /// the same.
    private static func clientDataHash(_ challenge: [UInt8], for key: [UInt8]) -> [UInt8] {
        Array(SHA256.hash(data: Array("portcullis device sign-in\0".utf8) + challenge + key))
    }

    /// Not for reactors. The body has `assertion`, as for a device that joins. The order is rate, failures, body,
    /// proof, challenge, assertion, account, block list. The proof takes its place once the assertion is verified.
    ///
    /// - Parameter refuse: for the block list, with the device and with each name of the account.
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
            guard let devices = services.tokens.devices else {
                throw RefusedRequest(Refusal(.appAttestNotConfigured, detail: "App Attest is not configured"))
            }
            let body = try AccountBody(request.body, maximumBytes: services.maximumBodyBytes)
            let assertion = try DeviceAssertion(try body.object("assertion"), devices)
            let unspent = try services.tokens.checkProof(of: request)
            let (account, proof) = try await verify(assertion, devices, unspent, at: request.moment, unless: refuse)
            let next = try await services.begin(
                by: assertion.id, of: account.id, key: proof.key.thumbprint.bytes, at: request.moment)
            let refreshed = Refreshed(
                account: account, beginner: .device(assertion.id), next: next, proof: proof, isFirst: true)
            return .signedIn(try services.pair(for: refreshed, at: request.moment), remark: nil)
        } catch {
            return .refused(gate.afterCountingSignIn(error.refusal, from: address, at: time))
        }
    }

    private func verify(
        _ assertion: DeviceAssertion, _ devices: AppAttestSettings, _ unspent: UnspentProof, at moment: Moment,
        unless refuse: @Sendable (Identity) -> Refusal?
    ) async throws(RefusedRequest) -> (AccountStanding, VerifiedProof) {
        if let refusal = refuse(.device(assertion.id)) { throw RefusedRequest(refusal) }
        try services.tokens.refuseUsed(unspent, at: .token, in: moment, freshBy: .challenge)
        let challenge = try services.challenges.spend(
            assertion.challenge, for: .deviceAuthentication, binding: unspent.key.thumbprint.bytes,
            at: moment.monotonic
        ).spent()
        let id = try await devices.verifyDevice(
            assertion.id, assertion.object,
            over: Self.clientDataHash(assertion.challenge, for: unspent.key.thumbprint.bytes), spending: challenge,
            asking: services.keys, at: moment)
        // The challenge was used once in the fleet, and is bound to the proof's key.
        let own = services.tokens.claim(unspent, at: .token, moment, freshBy: .challenge).own
        let proof = try services.tokens.conclude(unspent, by: own.found(with: .challenge), in: moment)
        let account = try await stored { () throws(KeyRegistryError) in try await services.store.account(ofDevice: id) }
        guard let account else { throw Self.notJoined }
        let found = try await stored { () throws(KeyRegistryError) in
            try await services.store.standing(ofAccount: account)
        }
        guard let found else { throw Self.notJoined }
        for name in found.names { if let refusal = refuse(name) { throw RefusedRequest(refusal) } }
        try await look(at: found, of: id, at: moment)
        return (found, proof)
    }

    /// What the account ends with.
    private func look(at account: AccountStanding, of device: KeyID, at moment: Moment) async throws(RefusedRequest) {
        let credential = AccountCredential(device: device)
        var look = services.tokens.lookAtSignIn(to: account, with: credential, at: moment)
        if case .ask(let question) = look {
            let answer = try await stored { () throws(KeyRegistryError) in
                try await services.waiting.ask(question, of: services.tokens.store, at: moment)
            }
            guard case .grant(let standing) = answer else { wrongAnswer(answer) }
            look = services.tokens.lookAtSignIn(by: standing, to: account.id)
        }
        if case .refused(let refusal) = look { throw RefusedRequest(refusal) }
    }

    private static let notJoined = RefusedRequest(
        Refusal(.unknownCredential, detail: "the device has joined no account", failed: FailedCheck(.account)))
}
