/// The two tables behind the limit on failed upgrades. ``RatePolicy`` asks them before, the gate tells them after.
///
/// Many honest clients may share one address with somebody who is guessing. So an address with too many failures isn't shut out:
/// credentials from there are still checked, as long as the address' budget for checks lasts, and whoever has good ones comes in.
package struct UpgradeLimits: Sendable {
    /// `FAILED_UPGRADES_PER_MINUTE`.
    package static let defaultFailedUpgradesPerMinute = 10
    /// `VERIFICATIONS_PER_SECOND`.
    package static let defaultVerificationsPerSecond = 20

    private let failures: RateTable
    private let verifications: RateTable

    package init(
        failedUpgradesPerMinute: Int = defaultFailedUpgradesPerMinute,
        verificationsPerSecond: Int = defaultVerificationsPerSecond,
        maximumEntries: Int = RateTable.defaultMaximumEntries
    ) {
        failures = RateTable(limit: failedUpgradesPerMinute, window: .seconds(60), maximumEntries: maximumEntries)
        verifications = RateTable(limit: verificationsPerSecond, window: .seconds(1), maximumEntries: maximumEntries)
    }

    /// For a reload: what was counted stays counted.
    package func setLimits(failedUpgradesPerMinute: Int, verificationsPerSecond: Int) {
        failures.setLimit(failedUpgradesPerMinute)
        verifications.setLimit(verificationsPerSecond)
    }

    /// Whether the prefix has had its failed upgrades already.
    func failuresSoFar(_ request: AdmissionRequest) -> RateDecision {
        failures.peek(request.address.prefix, at: request.moment.monotonic)
    }

    /// Counts one failed upgrade; `.over` if it was one too many.
    func countFailure(_ request: AdmissionRequest) -> RateDecision {
        failures.count(request.address.prefix, at: request.moment.monotonic)
    }

    /// Takes the cost of one verification from the prefix' budget; what is left of it where that isn't enough.
    func payForVerification(_ request: AdmissionRequest, cost: Int) -> RateDecision {
        for _ in 0..<cost {
            let decision = verifications.count(request.address.prefix, at: request.moment.monotonic)
            guard decision == .within else { return decision }
        }
        return .within
    }
}
