package import WireText

/// The limits on the attestation endpoints, by address prefix. Generous, because a carrier's NAT puts many phones behind one address.
package struct EndpointLimits: Sendable {
    /// `CHALLENGES_PER_MINUTE`.
    package static let defaultChallengesPerMinute = 600
    /// `REGISTRATIONS_PER_MINUTE`.
    package static let defaultRegistrationsPerMinute = 60

    private let challenges: RateTable
    private let registrations: RateTable

    package init(
        challengesPerMinute: Int = defaultChallengesPerMinute,
        registrationsPerMinute: Int = defaultRegistrationsPerMinute,
        maximumEntries: Int = RateTable.defaultMaximumEntries
    ) {
        challenges = RateTable(limit: challengesPerMinute, window: .seconds(60), maximumEntries: maximumEntries)
        registrations = RateTable(limit: registrationsPerMinute, window: .seconds(60), maximumEntries: maximumEntries)
    }

    /// For a reload: existing counts are kept.
    package func setLimits(challengesPerMinute: Int, registrationsPerMinute: Int) {
        challenges.setLimit(challengesPerMinute)
        registrations.setLimit(registrationsPerMinute)
    }

    /// Counts a request for a challenge. `nil`: it is allowed.
    package func refuseChallenge(to address: IPAddress, at time: MonotonicTime) -> Refusal? {
        refusal(challenges.count(address.prefix, at: time), "challenges per minute")
    }

    /// Counts a registration. `nil`: it is allowed.
    package func refuseRegistration(from address: IPAddress, at time: MonotonicTime) -> Refusal? {
        refusal(registrations.count(address.prefix, at: time), "registrations per minute")
    }

    private func refusal(_ decision: RateDecision, _ limit: String) -> Refusal? {
        switch decision {
        case .within: nil
        case .over(let seconds): Refusal(.rateLimited, detail: "over the limit of \(limit)", retryAfter: seconds)
        }
    }
}
