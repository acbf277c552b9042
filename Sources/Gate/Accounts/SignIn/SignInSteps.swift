import Admission
import DPoP
import KeyStore

/// A player who has signed in.
struct SignedIn: Sendable {
    let refreshed: Refreshed
    /// The authenticator has changed whether the passkey may be backed up. It is recorded, and refuses nobody.
    let isEligibilityChanged: Bool
}

/// Whether a player signs in: the challenge as it is, so that nobody is told without one which passkeys are known; the
/// passkey; the challenge, which is used up, whatever follows; the ceremony, the account
/// and what it ends with; and then what is used up: proof of possession, at this gateway, and in one step of the store
/// the proof and the challenge in the fleet, and the counter. A family of refresh tokens begins with that step.
///
/// The limits and the proof's signature come before.
struct SignInSteps: DecisionSteps {
    private let passkey: PasskeyProof
    private let proof: UnspentProof
    private let services: AccountServices
    private let began: Moment
    /// For the block list.
    private let refuse: @Sendable (Identity) -> Refusal?
    private var verified: Verified?
    private var refreshed: Refreshed?

    private struct Verified: Sendable {
        let account: AccountStanding
        let use: PasskeyUse
        let challenge: SpentPasskeyChallenge
        let isEligibilityChanged: Bool
    }

    init(
        _ passkey: PasskeyProof, _ proof: UnspentProof, _ services: AccountServices, at moment: Moment,
        unless refuse: @escaping @Sendable (Identity) -> Refusal?
    ) {
        (self.passkey, self.proof, self.services, began) = (passkey, proof, services, moment)
        self.refuse = refuse
    }

    mutating func next(_ answer: StoreAnswer?, at moment: Moment) -> Step<Result<SignedIn, RefusedRequest>> {
        do throws(RefusedRequest) {
            switch (answer, verified) {
            case (nil, _):
                let refusal = services.challenges.refusal(
                    of: passkey.challenge, for: .authentication, binding: proof.key.thumbprint.bytes,
                    at: began.monotonic)
                if let refusal { throw .rejected(refusal.detail, .challenge) }
                return ask(.passkey(passkey.mark))
            case (.passkey(let found), nil): return try verify(found)
            case (.grant(let standing), let verified?):
                return try look(services.tokens.lookAtSignIn(by: standing, to: verified.account.id))
            case (.signIn(let outcome), let verified?): return .decided(.success(try conclude(verified, outcome)))
            default: wrongAnswer(answer)
            }
        } catch {
            return .decided(.failure(error))
        }
    }

    private func ask(_ question: StoreQuestion) -> Step<Result<SignedIn, RefusedRequest>> {
        .ask(question, of: services.tokens.store)
    }

    private mutating func verify(
        _ found: FoundPasskey?
    ) throws(RefusedRequest) -> Step<Result<SignedIn, RefusedRequest>> {
        guard let found else {
            throw RefusedRequest(Refusal(.unknownCredential, detail: "no account has this passkey"))
        }
        try services.tokens.refuseUsed(proof, at: .token, in: began, freshBy: .challenge)
        let challenge = try services.challenges.spend(
            passkey.challenge, for: .authentication, binding: proof.key.thumbprint.bytes, at: began.monotonic
        ).spent()
        let (use, isChanged) = try passkey.verify(found, of: services.relyingParty, at: began)
        for name in found.account.names { if let refusal = refuse(name) { throw RefusedRequest(refusal) } }
        verified = Verified(
            account: found.account, use: use, challenge: challenge, isEligibilityChanged: isChanged)
        return try look(
            services.tokens.lookAtSignIn(
                to: found.account, with: AccountCredential(passkey: passkey.mark), at: began))
    }

    private mutating func look(_ look: SignInLook) throws(RefusedRequest) -> Step<Result<SignedIn, RefusedRequest>> {
        switch look {
        case .ask(let question): return ask(question)
        case .refused(let refusal): throw RefusedRequest(refusal)
        case .allowed:
            guard let verified else { preconditionFailure("The account is looked at after the passkey.") }
            return try record(verified)
        }
    }

    private mutating func record(
        _ verified: Verified
    ) throws(RefusedRequest) -> Step<Result<SignedIn, RefusedRequest>> {
        let (own, claim) = services.tokens.claim(proof, at: .token, began, freshBy: .challenge)
        let spentProof = try services.tokens.conclude(proof, by: own.found(with: .challenge), in: began)
        let beginner = RefreshBeginner.passkey(passkey.mark)
        let (family, next) = services.family(
            beginner, of: verified.account.id, key: proof.key.thumbprint.bytes, at: began)
        refreshed = Refreshed(
            account: verified.account, beginner: beginner, next: next, proof: spentProof, isFirst: true)
        return ask(
            .signIn(
                PasskeySignIn(verified.use, beginning: family), proof: own == .spent ? claim : nil,
                challenge: verified.challenge.mark))
    }

    private func conclude(_ verified: Verified, _ outcome: PasskeySigningIn) throws(RefusedRequest) -> SignedIn {
        switch outcome {
        case .proofRefused(let spending):
            _ = try services.tokens.conclude(proof, by: spending.ofProof, in: began)
            throw .unavailable(.unavailable("the store has refused a proof that it has spent"))
        case .passkey(let spending): return try conclude(verified, spending)
        }
    }

    private func conclude(_ verified: Verified, _ outcome: PasskeySpending) throws(RefusedRequest) -> SignedIn {
        switch outcome {
        case .used: break
        case .refused(let spending): throw .refused(challenge: spending)
        case .notHigher(let stored):
            throw .rejected(
                "counter was used by another request meanwhile", .counterStored, expected: "a counter above \(stored)",
                received: "\(verified.use.signCount)"
            ).ofPasskey(passkey.mark, in: verified.account.id)
        case .unknown:
            throw RefusedRequest(Refusal(.unknownCredential, detail: "the passkey was removed meanwhile"))
        case .closed:
            throw RefusedRequest(
                Refusal(.deviceBlocked, detail: "the account was closed meanwhile", failed: FailedCheck(.account)))
        }
        guard let refreshed else { preconditionFailure("The proof is used up before the passkey.") }
        return SignedIn(refreshed: refreshed, isEligibilityChanged: verified.isEligibilityChanged)
    }
}
