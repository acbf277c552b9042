import Admission
import Settings

/// The gate's limits, as figures: one immutable value of each reload, which is read at each event.
struct LiveFigures: Sendable {
    private(set) var maximumSessions = 0
    /// Nil: no limit.
    private(set) var requestsPerSecond: Int? = 0
    private(set) var failedUpgradesPerMinute = 0
    private(set) var verificationsPerSecond = 0
    private(set) var challengesPerMinute = 0
    private(set) var registrationsPerMinute = 0
    private(set) var tokensPerMinute = 0

    /// Nothing is allowed until the settings are known.
    init() {}

    init(_ live: LiveConfiguration) {
        let limits = live.limits
        maximumSessions = live.session.maximumSessions ?? FileLimit.capacity
        requestsPerSecond = limits.requestsPerSecond
        failedUpgradesPerMinute = limits.failedUpgradesPerMinute
        verificationsPerSecond = limits.verificationsPerSecond
        challengesPerMinute = limits.challengesPerMinute
        registrationsPerMinute = limits.registrationsPerMinute
        tokensPerMinute = limits.tokensPerMinute
    }
}
