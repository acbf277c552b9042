import Admission
import KeyStore

/// Changes of an account need a passkey that was used for them: an access token alone, which lives for minutes and may
/// be refreshed by a page that nobody watches, isn't enough.
///
/// The passkey signs a challenge of the sign-in's options. So it was used within ``PasskeyChallenges/timeToLive``,
/// once, and by who holds the key of the access token.
struct FreshPasskey {
    private let services: AccountServices

    init(_ services: AccountServices) { self.services = services }

    /// - Parameters:
    ///   - body: has the credential in its member `passkey`.
    ///   - key: the thumbprint of the access token's key.
    /// - Returns: a remark for the audit log; nil: there is none.
    @discardableResult
    func require(
        _ body: AccountBody, of account: AccountID, key: [UInt8], at moment: Moment
    ) async throws(RefusedRequest) -> String? {
        guard let credential = try body.credential(in: "passkey") else {
            throw RefusedRequest(
                Refusal(
                    .freshPasskeyRequired, detail: "no passkey in the body",
                    reason: "the member passkey is missing: the result of navigator.credentials.get()"))
        }
        let passkey = try PasskeyProof(credential, of: services.relyingParty)
        let refusal = services.challenges.refusal(
            of: passkey.challenge, for: .authentication, binding: key, at: moment.monotonic)
        if let refusal { throw .rejected(refusal.detail, .challenge) }
        let found = try await stored { () throws(KeyRegistryError) in try await services.store.passkey(passkey.mark) }
        guard let found, found.account.id == account else {
            throw RefusedRequest.rejected("passkey: not one of the account's", .passkeyKnown)
        }
        let challenge = try services.challenges.spend(
            passkey.challenge, for: .authentication, binding: key, at: moment.monotonic
        ).spent()
        let (use, isChanged) = try passkey.verify(found, of: services.relyingParty, isOwnerKnown: true, at: moment)
        let spending = try await stored { () throws(KeyRegistryError) in
            try await services.store.use(use, spending: challenge.mark)
        }
        switch spending {
        case .used: return isChanged ? SignIn.eligibilityRemark : nil
        case .refused(let refusal): throw .refused(challenge: refusal)
        case .notHigher:
            throw .rejected("counter was used by another request meanwhile", .counterStored)
                .ofPasskey(passkey.mark, in: account)
        case .unknown, .closed: throw .rejected("passkey: removed meanwhile", .passkeyKnown)
        }
    }
}
