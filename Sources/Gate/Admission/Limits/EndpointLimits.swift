package import WireText

/// The limits on the endpoints for attestation and tokens, by address prefix. Generous, because a carrier's NAT puts
/// many phones behind one address.
package struct EndpointLimits: Sendable {
    /// `CHALLENGES_PER_MINUTE`.
    package static let defaultChallengesPerMinute = 600
    /// A tenth of `CHALLENGES_PER_MINUTE`.
    package static let defaultRegistrationsPerMinute = 60

    /// `CHALLENGES_PER_MINUTE`, too.
    package static let defaultTokensPerMinute = 600

    private let challenges: RateTable
    private let registrations: RateTable
    private let tokens: RateTable

    /// The figures are read at each event, as ``RateTable`` says.
    package init(
        challengesPerMinute: @autoclosure @escaping @Sendable () -> Int = defaultChallengesPerMinute,
        registrationsPerMinute: @autoclosure @escaping @Sendable () -> Int = defaultRegistrationsPerMinute,
        tokensPerMinute: @autoclosure @escaping @Sendable () -> Int = defaultTokensPerMinute,
        maximumEntries: Int = RateTable.defaultMaximumEntries
    ) {
        challenges = RateTable(limit: challengesPerMinute(), window: .seconds(60), maximumEntries: maximumEntries)
        registrations = RateTable(
            limit: registrationsPerMinute(), window: .seconds(60), maximumEntries: maximumEntries)
        tokens = RateTable(limit: tokensPerMinute(), window: .seconds(60), maximumEntries: maximumEntries)
    }

    /// Counts a request for a challenge. `nil`: it is allowed.
    package func refuseChallenge(to address: IPAddress, at time: MonotonicTime) -> Refusal? {
        refusal(challenges.count(address.prefix, at: time), "challenges per minute")
    }

    /// Counts a registration. `nil`: it is allowed.
    package func refuseRegistration(from address: IPAddress, at time: MonotonicTime) -> Refusal? {
        refusal(registrations.count(address.prefix, at: time), "registrations per minute")
    }

    /// Counts a request for an access token. `nil`: it is allowed.
    package func refuseToken(to address: IPAddress, at time: MonotonicTime) -> Refusal? {
        refusal(tokens.count(address.prefix, at: time), "tokens per minute")
    }

    private func refusal(_ decision: RateDecision, _ limit: String) -> Refusal? {
        switch decision {
        case .within: nil
        case .over(let seconds): Refusal(.rateLimited, detail: "over the limit of \(limit)", retryAfter: seconds)
        }
    }
}
