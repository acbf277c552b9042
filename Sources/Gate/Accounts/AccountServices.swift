package import Admission
package import KeyStore
package import WebAuthn

/// `ACCOUNT_SIGN_UP`: how an account begins.
package enum SignUpRule: String, CaseIterable, Sendable {
    /// No new ones.
    case off
    /// With a proof that upgrades accept.
    case proven
    /// Anyone may make one.
    case open
}

/// The settings of players' accounts, and the state that they share with the rest of the gateway.
package struct AccountServices: Sendable {
    /// The service's name, for the dialog of the player's system.
    package var name: String
    package var relyingParty: RelyingParty
    /// `PASSKEY_ATTESTATION`, with the trust anchors.
    package var policy: RegistrationPolicy
    package var signUp: SignUpRule
    /// `MAX_ACCOUNTS`
    package var maximumAccounts: Int
    /// `MAX_BODY_BYTES`
    package var maximumBodyBytes: Int
    /// With ``TokenSettings/accounts``.
    package var tokens: TokenSettings
    package var store: any AccountStore
    /// The part of the devices' store that waits.
    package var keys: any KeyRegistry
    package var challenges: PasskeyChallenges
    package var limits: EndpointLimits
    package var signUps: SignUpLimits
    package var refresh: RefreshRules
    /// Pages, `https://…`: browsers let those of other domains use its passkeys by a file, and they may call its
    /// endpoints. Apps on iOS have an origin that isn't among them, unless it is a page's, too.
    package var relatedOrigins: [String] = []

    package init(
        name: String, relyingParty: RelyingParty, policy: RegistrationPolicy, signUp: SignUpRule, maximumAccounts: Int,
        maximumBodyBytes: Int, tokens: TokenSettings, store: any AccountStore, keys: any KeyRegistry,
        challenges: PasskeyChallenges, limits: EndpointLimits, signUps: SignUpLimits,
        refresh: RefreshRules = RefreshRules()
    ) {
        (self.name, self.relyingParty, self.policy, self.signUp) = (name, relyingParty, policy, signUp)
        (self.maximumAccounts, self.maximumBodyBytes, self.tokens) = (maximumAccounts, maximumBodyBytes, tokens)
        (self.store, self.keys, self.challenges) = (store, keys, challenges)
        (self.limits, self.signUps, self.refresh) = (limits, signUps, refresh)
    }
}

extension AccountServices {
    var waiting: WaitingStore { WaitingStore(keys: keys, accounts: store) }

    /// The method of players who sign in.
    package static let method = Identity.account(.random()).method

    /// A challenge that this gateway has found to be unused counts as spent when the whole fleet knows it.
    func confirm(_ challenge: SpentPasskeyChallenge, at moment: Moment) async throws(RefusedRequest) {
        guard let (mark, incarnation) = challenge.mark else { return }
        guard let fleet = tokens.fleet else { throw .rejected("challenge of a fleet", .challenge) }
        let spending: MarkSpending
        do throws(KeyRegistryError) {
            spending = try await fleet.spend(mark, in: incarnation, at: moment.monotonic)
        } catch {
            throw .storeUnavailable(error)
        }
        guard spending == .spent else { throw .refused(challenge: spending) }
    }
}

extension RefusedRequest {
    /// Seconds.
    private static let storeRetryAfter = 5

    static func storeUnavailable(_ error: KeyRegistryError) -> RefusedRequest {
        RefusedRequest(Refusal(.storeUnavailable, detail: "\(error)", retryAfter: storeRetryAfter))
    }

    /// The client isn't told which check has failed.
    static func rejected(
        _ detail: String, _ check: AdmissionCheck, expected: String? = nil, received: String? = nil
    ) -> RefusedRequest {
        RefusedRequest(
            Refusal(
                .passkeyRejected, detail: detail,
                failed: FailedCheck(check, expected: expected, received: received)))
    }

    /// Of a challenge of which the fleet has the last word. One for which it has no room isn't spent there, and
    /// nobody's failure.
    static func refused(challenge spending: MarkSpending) -> RefusedRequest {
        guard spending == .full else { return .rejected("challenge: the fleet says \(spending)", .challenge) }
        return .challengesExhausted(retryAfter: 1)
    }

    /// - Parameter seconds: until there may be room.
    static func challengesExhausted(retryAfter seconds: Int) -> RefusedRequest {
        RefusedRequest(
            Refusal(.challengesExhausted, detail: "spent challenges are at their maximum", retryAfter: seconds))
    }

    /// Of a counter behind a right signature: the operator is told which passkey may have been copied.
    func ofPasskey(_ mark: PasskeyMark, in account: AccountID) -> RefusedRequest {
        RefusedRequest(refusal.signed(by: account.text, "passkey \(mark.text), \(refusal.detail)"))
    }

    /// - Parameter problem: names members, and quotes nothing.
    static func malformed(_ problem: String, _ detail: String? = nil) -> RefusedRequest {
        RefusedRequest(
            Refusal(.invalidRequest, detail: detail ?? problem, reason: problem, failed: FailedCheck(.body)))
    }
}

/// Asks a store, and turns its failure into a refusal.
func stored<Value>(
    _ call: () async throws(KeyRegistryError) -> Value
) async throws(RefusedRequest) -> Value {
    do throws(KeyRegistryError) { return try await call() } catch { throw .storeUnavailable(error) }
}
