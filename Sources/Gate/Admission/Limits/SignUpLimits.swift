package import WireText

/// `SIGN_UPS_PER_HOUR`: the accounts that clients without a proof may make, by address. A network that has many /64s has
/// no more than ``perNetwork`` times as many as one of them.
package struct SignUpLimits: Sendable {
    package static let defaultPerHour = 5
    /// An IPv6 /48 has this many times the accounts of a /64.
    package static let perNetwork = 10

    private let addresses: RateTable
    private let networks: RateTable

    /// - Parameter perHour: of an IPv4 address, or an IPv6 /64. It is read at each event, as ``RateTable`` says.
    package init(
        perHour: @autoclosure @escaping @Sendable () -> Int = defaultPerHour,
        maximumEntries: Int = RateTable.defaultMaximumEntries
    ) {
        let hour = Duration.seconds(3_600)
        addresses = RateTable(limit: perHour(), window: hour, maximumEntries: maximumEntries)
        networks = RateTable(
            limit: perHour().multipliedReportingOverflow(by: Self.perNetwork).partialValue, window: hour,
            maximumEntries: maximumEntries)
    }

    /// Counts a sign-up. `nil`: it is allowed.
    package func refuse(_ address: IPAddress, at time: MonotonicTime) -> Refusal? {
        if !address.isIPv4, let refusal = refusal(networks.count(address.network48, at: time)) { return refusal }
        return refusal(addresses.count(address.prefix, at: time))
    }

    private func refusal(_ decision: RateDecision) -> Refusal? {
        switch decision {
        case .within: nil
        case .over(let seconds): Refusal(.rateLimited, detail: "over SIGN_UPS_PER_HOUR", retryAfter: seconds)
        }
    }
}
