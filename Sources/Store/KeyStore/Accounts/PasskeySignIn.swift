/// A player signs in with a passkey whose signature is right: its use, and the family of refresh tokens that begins.
package struct PasskeySignIn: Hashable, Sendable {
    package let use: PasskeyUse
    /// Of the passkey, and of the account that has it.
    package let family: RefreshFamily

    package init(_ use: PasskeyUse, beginning family: RefreshFamily) { (self.use, self.family) = (use, family) }
}

/// What a sign-in spends where several gateways share the store; nil where one alone uses it, and knows what is spent.
package struct SignInMarks: Sendable {
    package typealias Mark = (mark: SingleUseMark, incarnation: StoreIncarnation)

    /// Of the proof of possession. That of another incarnation, or an expired one, refuses nothing: the challenge says
    /// whether the request is fresh.
    package let proof: Mark?
    /// Of the challenge that the passkey has signed. It is spent after the proof.
    package let challenge: Mark?
    /// As ``RefreshUse/askedAt``.
    package let askedAt: Int64?

    package init(proof: Mark? = nil, challenge: Mark? = nil, askedAt: Int64? = nil) {
        (self.proof, self.challenge, self.askedAt) = (proof, challenge, askedAt)
    }
}

/// The outcome of a sign-in in the store.
package enum PasskeySigningIn: Hashable, Sendable {
    /// The proof couldn't be spent: ``MarkSpending/alreadySpent`` or ``MarkSpending/full``. Nothing was changed.
    case proofRefused(MarkSpending)
    /// As the use alone. If it is `.used`, the family has begun, too; beyond ``RefreshLimits/maximumFamilies`` the
    /// account's family that was used longest ago has ended.
    case passkey(PasskeySpending)
}

/// The rule of all stores for one use of a passkey that is there. Each store applies it in one step with its change.
extension PasskeyUse {
    package func outcome(isClosed: Bool, after stored: UInt32) -> PasskeySpending {
        guard !isClosed else { return .closed }
        return Passkey.mayFollow(signCount, after: stored) ? .used : .notHigher(stored: stored)
    }
}

extension MarkSpending {
    /// Whether a proof with this outcome refuses a sign-in.
    package var refusesProof: Bool { self == .alreadySpent || self == .full }
}
