import WireText

/// The two tables behind the limit on failed upgrades, and on failed signed requests behind a proxy. ``RatePolicy`` and
/// ``SignedAuthorization`` check them before a verification; failures are counted afterwards.
///
/// Many honest clients may share an address with an attacker. So an address with too many failures isn't shut out: its
/// credentials are still checked while its verification budget lasts, and clients with valid ones are admitted.
package struct UpgradeLimits: Sendable {
    /// `FAILED_UPGRADES_PER_MINUTE`.
    package static let defaultFailedUpgradesPerMinute = 10
    /// Twice `FAILED_UPGRADES_PER_MINUTE`.
    package static let defaultVerificationsPerSecond = 20

    private let failures: RateTable
    private let verifications: RateTable

    /// The figures are read at each event, as ``RateTable`` says.
    package init(
        failedUpgradesPerMinute: @autoclosure @escaping @Sendable () -> Int = defaultFailedUpgradesPerMinute,
        verificationsPerSecond: @autoclosure @escaping @Sendable () -> Int = defaultVerificationsPerSecond,
        maximumEntries: Int = RateTable.defaultMaximumEntries
    ) {
        failures = RateTable(limit: failedUpgradesPerMinute(), window: .seconds(60), maximumEntries: maximumEntries)
        verifications = RateTable(
            limit: verificationsPerSecond(), window: .seconds(1), maximumEntries: maximumEntries)
    }

    /// Whether the prefix has reached its limit of failed upgrades.
    func failuresSoFar(of address: IPAddress, at moment: Moment) -> RateDecision {
        failures.peek(address.prefix, at: moment.monotonic)
    }

    /// Counts one failed upgrade; `.over` if it exceeds the limit.
    func countFailure(of address: IPAddress, at moment: Moment) -> RateDecision {
        failures.count(address.prefix, at: moment.monotonic)
    }

    /// The same of a sign-in.
    func failuresSoFar(_ prefix: AddressPrefix, at time: MonotonicTime) -> RateDecision {
        failures.peek(prefix, at: time)
    }

    func countFailure(_ prefix: AddressPrefix, at time: MonotonicTime) -> RateDecision {
        failures.count(prefix, at: time)
    }

    func payForVerification(_ prefix: AddressPrefix, at time: MonotonicTime) -> RateDecision {
        verifications.count(prefix, at: time)
    }

    /// Takes the cost of one verification from the prefix' budget. If the rest of the budget isn't enough, that rest is
    /// used up.
    func payForVerification(of address: IPAddress, cost: Int, at moment: Moment) -> RateDecision {
        for _ in 0..<cost {
            let decision = verifications.count(address.prefix, at: moment.monotonic)
            guard decision == .within else { return decision }
        }
        return .within
    }
}
