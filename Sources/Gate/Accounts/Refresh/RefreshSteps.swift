import Admission
import DPoP
import KeyStore

/// Whether a refresh token is good: its proof of possession, at this gateway, then the one step of the store, which
/// uses up the token and in a fleet the proof; then what the account ends with, and the block list.
///
/// A request that is sent again by who has seen it changes nothing: its proof is used up, and without that an old token
/// would end its family. So a proof takes its place before the token is known, also a stranger's, within the limits of
/// his address.
struct RefreshSteps: DecisionSteps {
    private let token: RefreshToken
    private let successor: RefreshToken
    private let proof: UnspentProof
    private let services: AccountServices
    private let began: Moment
    /// For the block list.
    private let refuse: @Sendable (Identity) -> Refusal?
    private var spentProof: VerifiedProof?
    private var refreshed: Refreshed?

    init(
        _ token: RefreshToken, _ proof: UnspentProof, _ services: AccountServices, at moment: Moment,
        unless refuse: @escaping @Sendable (Identity) -> Refusal?
    ) {
        (self.token, successor) = (token, RefreshToken(of: token.family))
        (self.proof, self.services, began, self.refuse) = (proof, services, moment, refuse)
    }

    mutating func next(_ answer: StoreAnswer?, at moment: Moment) -> Step<Result<Refreshed, RefusedRequest>> {
        do throws(RefusedRequest) {
            switch (answer, spentProof, refreshed) {
            case (nil, _, _): return try spendProof()
            case (.refresh(let outcome), let proof?, nil): return try conclude(outcome, proof)
            case (.grant(let standing), _, let refreshed?):
                return try finish(services.tokens.lookAtSignIn(by: standing, to: refreshed.account.id))
            default: wrongAnswer(answer)
            }
        } catch {
            return .decided(.failure(error))
        }
    }

    private mutating func spendProof() throws(RefusedRequest) -> Step<Result<Refreshed, RefusedRequest>> {
        try services.tokens.refuseUsed(proof, at: .token, in: began, freshBy: .proof)
        let (own, claim) = services.tokens.claim(proof, at: .token, began, freshBy: .proof)
        spentProof = try services.tokens.conclude(proof, by: own.found(with: .proof), in: began)
        let time = began.unixMilliseconds
        let use = RefreshUse(
            family: token.family, key: proof.key.thumbprint.bytes, hash: token.hash, successor: successor.hash,
            sealed: token.seal(successor), time: time, expiresAt: time + services.refresh.lifetimeMilliseconds,
            repeatMilliseconds: services.refresh.repeatMilliseconds)
        return .ask(.refresh(use, claim), of: services.tokens.store)
    }

    private mutating func conclude(
        _ outcome: RefreshOutcome, _ proof: VerifiedProof
    ) throws(RefusedRequest) -> Step<Result<Refreshed, RefusedRequest>> {
        switch outcome {
        case .rotated(let grant): return try look(grant, successor, proof)
        case .repeated(let grant, let sealed):
            guard let good = token.open(sealed) else {
                throw .unavailable(.unavailable("a sealed refresh token in the store is damaged"))
            }
            return try look(grant, good, proof)
        case .refused(let spending):
            _ = try services.tokens.conclude(self.proof, by: spending.ofProof, in: began)
            throw .unavailable(.unavailable("the store has refused a proof that it has spent"))
        case .unknown: throw RefreshRefusals.unknown
        case .expired: throw RefreshRefusals.expired
        case .wrongKey(let account): throw RefreshRefusals.wrongKey(account)
        case .repeatedTooOften(let account): throw RefreshRefusals.repeatedTooOften(account)
        case .reused(let account): throw RefreshRefusals.reused(account)
        }
    }

    private mutating func look(
        _ grant: RefreshGrant, _ good: RefreshToken, _ proof: VerifiedProof
    ) throws(RefusedRequest) -> Step<Result<Refreshed, RefusedRequest>> {
        for name in grant.account.names { if let refusal = refuse(name) { throw RefusedRequest(refusal) } }
        if case .device(let key) = grant.beginner, let refusal = refuse(.device(key)) { throw RefusedRequest(refusal) }
        refreshed = Refreshed(
            account: grant.account, beginner: grant.beginner, next: NextRefreshToken(good, expiresAt: grant.expiresAt),
            proof: proof, isFirst: false)
        let credential = AccountCredential(grant.beginner, family: token.family)
        return try finish(services.tokens.lookAtSignIn(to: grant.account, with: credential, at: began))
    }

    private func finish(_ look: SignInLook) throws(RefusedRequest) -> Step<Result<Refreshed, RefusedRequest>> {
        switch look {
        case .ask(let question): return .ask(question, of: services.tokens.store)
        case .refused(let refusal): throw RefusedRequest(refusal)
        case .allowed:
            guard let refreshed else { preconditionFailure("The token is used before the account is looked at.") }
            return .decided(.success(refreshed))
        }
    }
}

/// All but the check and the signer are the same for a client: it isn't told why.
enum RefreshRefusals {
    private static func refusal(
        _ detail: String, _ check: AdmissionCheck, of account: AccountID? = nil
    ) -> RefusedRequest {
        RefusedRequest(
            Refusal.token(
                .invalidToken, detail: detail, reason: "the refresh token isn't good any more: sign in",
                failed: FailedCheck(check)
            ).naming(account?.text))
    }

    static let unknown = refusal("refresh token: its family is unknown or has ended", .refreshKnown)
    static let expired = refusal("refresh token: it has expired", .refreshLifetime)

    static func wrongKey(_ account: AccountID) -> RefusedRequest {
        refusal("refresh token: the proof is of another key than the family's", .refreshKey, of: account)
    }

    static func repeatedTooOften(_ account: AccountID) -> RefusedRequest {
        refusal("refresh token: its use was repeated late before", .refreshRepeat, of: account)
    }

    static func reused(_ account: AccountID) -> RefusedRequest {
        refusal("refresh token: its successor was used before; the family has ended", .refreshUnused, of: account)
    }
}
