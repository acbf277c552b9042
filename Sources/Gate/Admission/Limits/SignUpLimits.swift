package import KeyStore
package import WireText

/// `SIGN_UPS_PER_HOUR`: the accounts that clients without a proof may make at an address. A network that has many /64s
/// has no more than ``perNetwork`` times as many as one of them, and a client with a proof ``perClient`` times as many.
/// And the changes of an account.
package struct SignUpLimits: Sendable {
    package static let defaultPerHour = 5
    /// An IPv6 /48 has this many times the accounts of a /64.
    package static let perNetwork = 10
    /// A client with a proof has this many times the accounts of an address without one.
    package static let perClient = 10
    /// Passkeys and devices that join an account or leave it in an hour, at one gateway. Each removal is told to all.
    package static let changesPerHour = 40

    private let addresses: RateTable
    private let networks: RateTable
    /// By the marks of identities. A proof that strangers share has one for each of their networks.
    private let clients: RateLimiter<[UInt8]>
    private let changes: RateLimiter<AccountID>

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
        clients = RateLimiter(
            limit: perHour().multipliedReportingOverflow(by: Self.perClient).partialValue, window: hour,
            maximumEntries: maximumEntries)
        changes = RateLimiter(limit: Self.changesPerHour, window: hour, maximumEntries: maximumEntries)
    }

    /// Counts a sign-up. `nil`: it is allowed. What the address isn't allowed takes nothing from its network.
    package func refuse(_ address: IPAddress, at time: MonotonicTime) -> Refusal? {
        if let refusal = refusal(addresses.count(address.prefix, at: time)) { return refusal }
        return address.isIPv4 ? nil : refusal(networks.count(address.network48, at: time))
    }

    /// The same for a client with a proof; strangers who share one are told apart by their networks.
    package func refuse(_ principal: Principal, at address: IPAddress, _ time: MonotonicTime) -> Refusal? {
        let identity = principal.identity
        let mark = identity.method.holders == .several ? identity.mark(at: address.network48) : identity.mark
        return refusal(clients.count(mark, at: time))
    }

    /// Counts a change of an account.
    package func refuseChange(of account: AccountID, at time: MonotonicTime) -> Refusal? {
        refusal(changes.count(account, at: time), "the limit of changes of an account")
    }

    private func refusal(_ decision: RateDecision, _ limit: String = "SIGN_UPS_PER_HOUR") -> Refusal? {
        switch decision {
        case .within: nil
        case .over(let seconds): Refusal(.rateLimited, detail: "over \(limit)", retryAfter: seconds)
        }
    }
}
