package import DPoP
import FoundationEssentials
package import KeyStore

/// An access token for an account, before it is sent.
package struct IssuedAccountToken: Sendable {
    /// Secret.
    package let text: String
    package let lifetimeSeconds: Int
    package let account: AccountID
    /// `jti`, for the audit log.
    package let id: String
    /// For `DPoP-Nonce`; nil if the client needs no new one.
    package let freshNonce: String?
    package var refresh: Refresh?

    /// The refresh token beside it.
    package struct Refresh: Sendable {
        /// Secret.
        package let text: String
        package let lifetimeSeconds: Int
        /// The player has signed in; otherwise he has used the refresh token before.
        package let isFirst: Bool

        package init(text: String, lifetimeSeconds: Int, isFirst: Bool) {
            (self.text, self.lifetimeSeconds, self.isFirst) = (text, lifetimeSeconds, isFirst)
        }
    }
}

/// Whether a player may sign in to an account.
package enum SignInLook: Sendable {
    case allowed
    case refused(Refusal)
    /// The answer is for ``TokenSettings/lookAtSignIn(by:to:)``.
    case ask(StoreQuestion)
}

extension TokenSettings {
    /// By the same rules as for the use of a token.
    package func lookAtSignIn(
        to account: AccountStanding, with credential: AccountCredential, at moment: Moment
    ) -> SignInLook {
        let subject = AccountSubject(account.id, credential, key: [])
        return look(TokenSubject(self).standing(of: subject, account, at: moment))
    }

    package func lookAtSignIn(by grant: GrantStatus, to account: AccountID) -> SignInLook {
        look(TokenSubject.status(ofGrant: "of the account \(account)", grant))
    }

    private func look(_ standing: TokenSubject.Status) -> SignInLook {
        switch standing {
        case .good: .allowed
        case .refused(let refusal): .refused(refusal)
        case .unfinished(let question): .ask(question)
        }
    }

    /// Signs a token for a player who has just signed in.
    ///
    /// Services that verify it themselves see that its account ends with a development token.
    ///
    /// - Parameters:
    ///   - app: `client_id`.
    ///   - proof: of the key that the token is bound to, used up.
    package func accountToken(
        for account: AccountStanding, by credential: AccountCredential, app: String, _ proof: VerifiedProof,
        at moment: Moment
    ) throws(RefusedRequest) -> IssuedAccountToken {
        let (time, nonces) = (moment.date, serverNonces(at: moment))
        let lifetime = accounts?.lifetimeSeconds ?? AccountSettings.defaultLifetimeSeconds
        let id = TokenID.make()
        var claims = AccessTokenClaims(
            issuer: issuer, audience: [audience], subject: account.id.text, app: app,
            admissionMethod: credential.method.label, tokenID: id, issuedAt: time,
            expiresAt: time + Double(lifetime), boundKey: proof.key.thumbprint,
            isDevelopment: account.origin.kind == .development)
        credential.note(in: &claims)
        guard let text = try? claims.sign(with: try signer(at: moment)) else { throw Self.noSigner }
        let isRenewalDue = self.nonces != .off && nonces.isRenewalDue(proof.nonce, at: time)
        return IssuedAccountToken(
            text: text, lifetimeSeconds: lifetime, account: account.id, id: id,
            freshNonce: isRenewalDue ? nonces.nonce(at: time) : nil)
    }

    /// What signs access tokens now. Ask for it before a token is used up that could give none.
    @discardableResult
    package func signer(at moment: Moment) throws(RefusedRequest) -> SigningKey {
        guard let signer = keys.signer(at: moment.date) else { throw Self.noSigner }
        return signer
    }

    private static let noSigner = RefusedRequest.unavailable("there is no signing key", FailedCheck(.signingKey))
}
