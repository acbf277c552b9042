package import Admission
import DPoP
import KeyStore
import WebAuthn

/// Keeps players signed in: `POST /api/auth/token/validate`, without the HTTP.
///
/// A sign-in with a passkey or with a device that has joined an account begins a family of refresh tokens; a ticket
/// never does. A token is a family's name and 256 random bits, and useless without the key that the family is bound to.
/// Each use gives a successor, in one atomic step of the store. The store has the hash of the good token, and the good
/// token sealed under a key that only the token before it gives. So:
///
/// - Who repeats the last use (the loser of a race, a client that lost the answer, a phone that slept) gets the same
///   successor, as long as that is unused: within `REFRESH_REPEAT_SECONDS` as often as he likes, later once.
/// - Who uses an older token has it from somewhere else: the family ends, and with it its access tokens, tickets and
///   sessions (``RefreshRefusals/reused(_:)``).
/// - Who hasn't the key is refused, and changes nothing. So a thief of a token can't log a player out.
/// - Who reads the store can't make a token.
///
/// An access token names its family, as it names its passkey. What ends a family is told like the end of a passkey.
///
/// The rule for one use is ``RefreshFamily/using(_:)``, the decision ``RefreshSteps``.
package struct Refresh: Sendable {
    private let services: AccountServices

    package init(_ services: AccountServices) { self.services = services }

    /// Not for reactors: it verifies signatures and waits for the store. The order is rate, failures, body, proof, the
    /// audit log, the signing key, then ``RefreshSteps``.
    ///
    /// - Parameters:
    ///   - refuse: for the block list, with each name of the account and with the device that began the family.
    ///   - unrecorded: why no use can be recorded now. Then the token isn't used up: whoever loses the answer may
    ///     repeat a use for a while, and later once only.
    package func validate(
        _ request: TokenRequest, by gate: Gate, unless refuse: @escaping @Sendable (Identity) -> Refusal?,
        or unrecorded: () -> Refusal? = { nil }
    ) async -> SignInOutcome {
        let (address, time) = (request.address, request.moment.monotonic)
        if let refusal = services.limits.refuseToken(to: address, at: time)
            ?? gate.refuseSignIn(from: address, at: time)
        {
            return .refused(refusal)
        }
        do throws(RefusedRequest) {
            let body = try AccountBody(request.body, maximumBytes: services.maximumBodyBytes)
            let token = try body.refreshToken()
            let proof = try services.tokens.checkProof(of: request)
            if let refusal = unrecorded() { throw RefusedRequest(refusal) }
            try services.tokens.signer(at: request.moment)
            let steps = RefreshSteps(token, proof, services, at: request.moment, unless: refuse)
            let refreshed: Refreshed
            switch await Decision(steps).run(at: request.moment, asking: services.waiting) {
            case .success(let decided): refreshed = try decided.get()
            case .failure(let error): throw .unavailable(error)
            }
            return .signedIn(try services.pair(for: refreshed, at: request.moment), remark: nil)
        } catch {
            return .refused(gate.afterCountingSignIn(error.refusal, from: address, at: time))
        }
    }
}

extension AccountBody {
    /// `refreshToken`
    func refreshToken() throws(RefusedRequest) -> RefreshToken {
        guard let text = self.text("refreshToken") else { throw .malformed("refreshToken is missing") }
        guard text.utf8.count <= RefreshLimits.maximumTokenBytes, let token = RefreshToken(text: text) else {
            throw .malformed("refreshToken is not a refresh token")
        }
        return token
    }
}

extension AccountServices {
    /// A family for a player who signs in, and its first token.
    func family(
        _ beginner: RefreshBeginner, of account: AccountID, key: [UInt8], at moment: Moment
    ) -> (RefreshFamily, NextRefreshToken) {
        let (token, time) = (RefreshToken(), moment.unixMilliseconds)
        let family = RefreshFamily(
            id: token.family, account: account, beginner: beginner, key: key, hash: token.hash, at: time,
            expiresAt: time + refresh.lifetimeMilliseconds)
        return (family, NextRefreshToken(token, expiresAt: family.expiresAt))
    }

    /// Begins a family for a player whose device has just signed him in.
    func begin(
        by device: KeyID, of account: AccountID, key: [UInt8], at moment: Moment
    ) async throws(RefusedRequest) -> NextRefreshToken {
        let (family, next) = family(.device(device), of: account, key: key, at: moment)
        let begun = try await stored { () throws(KeyRegistryError) in
            try await waiting.begin(family, of: tokens.store, at: moment)
        }
        switch begun {
        case .begun: return next
        case .ended:
            throw RefusedRequest(
                Refusal(.deviceBlocked, detail: "the account has ended meanwhile", failed: FailedCheck(.account)))
        }
    }

    /// The pair of tokens that a client gets.
    func pair(for refreshed: Refreshed, at moment: Moment) throws(RefusedRequest) -> IssuedAccountToken {
        let credential = AccountCredential(refreshed.beginner, family: refreshed.next.token.family)
        var issued = try tokens.accountToken(
            for: refreshed.account, by: credential, app: relyingParty.id, refreshed.proof, at: moment)
        issued.refresh = IssuedAccountToken.Refresh(
            text: refreshed.next.token.text,
            lifetimeSeconds: Int(max(0, refreshed.next.expiresAt - moment.unixMilliseconds) / 1_000),
            isFirst: refreshed.isFirst)
        return issued
    }
}

/// A refresh token for a client.
struct NextRefreshToken: Sendable {
    let token: RefreshToken
    /// Unix milliseconds.
    let expiresAt: Int64

    init(_ token: RefreshToken, expiresAt: Int64) { (self.token, self.expiresAt) = (token, expiresAt) }
}

/// A player who is signed in: what the pair of tokens is made of.
struct Refreshed: Sendable {
    let account: AccountStanding
    let beginner: RefreshBeginner
    let next: NextRefreshToken
    /// Of the key that the tokens are bound to, used up.
    let proof: VerifiedProof
    /// The family begins.
    let isFirst: Bool
}

/// `REFRESH_TOKEN_TTL_DAYS` and `REFRESH_REPEAT_SECONDS`.
package struct RefreshRules: Sendable, Equatable {
    package var lifetimeDays = RefreshLimits.defaultLifetimeDays
    package var repeatSeconds = RefreshLimits.defaultRepeatSeconds

    package init() {}

    package init(lifetimeDays: Int, repeatSeconds: Int) {
        (self.lifetimeDays, self.repeatSeconds) = (lifetimeDays, repeatSeconds)
    }

    var lifetimeMilliseconds: Int64 { Int64(lifetimeDays) * 86_400_000 }
    var repeatMilliseconds: Int64 { Int64(repeatSeconds) * 1_000 }
}
