package import WireText

/// The decision on a request before its content is examined.
package enum RequestVerdict: Sendable {
    case serve
    case refuse(Refusal)
    /// The connection is closed without an answer.
    case close
}

/// The limit on requests of every kind, by address prefix: unknown paths, `/health`, malformed requests and upgrades
/// count alike.
///
/// Requests are counted over ``windowSeconds``, so a burst may use the whole window's allowance. Above the limit a
/// request is refused; after ``answeredOverLimit`` refusals in a window it isn't answered at all. Refused requests
/// don't count as served, so a client that respects the limit again is served in the next window.
package struct RequestLimits: Sendable {
    /// `REQUESTS_PER_SECOND_PER_ADDRESS`. A phone sends two requests when it connects, and `CHALLENGES_PER_MINUTE`
    /// allows its address ten challenges a second: this allows five times as many, and stops floods.
    package static let defaultRequestsPerSecond = 50
    package static let windowSeconds = 4
    /// The number of refusals sent to one prefix in a window.
    package static let answeredOverLimit = 20

    private let requests: RateTable
    private let answers: RateTable

    /// - Parameter requestsPerSecond: `nil` is no limit. It is read at each request, as ``RateTable`` says.
    package init(
        requestsPerSecond: @autoclosure @escaping @Sendable () -> Int? = defaultRequestsPerSecond,
        maximumEntries: Int = RateTable.defaultMaximumEntries
    ) {
        let window = Duration.seconds(Self.windowSeconds)
        requests = RateTable(
            limit: Self.limit(requestsPerSecond()), window: window, maximumEntries: maximumEntries)
        answers = RateTable(limit: Self.answeredOverLimit, window: window, maximumEntries: maximumEntries)
    }

    /// Counts a request.
    package func judge(_ address: IPAddress, at time: MonotonicTime) -> RequestVerdict {
        guard case .over(let seconds) = requests.count(address.prefix, at: time) else { return .serve }
        guard answers.count(address.prefix, at: time) == .within else { return .close }
        return .refuse(
            Refusal(.rateLimited, detail: "over REQUESTS_PER_SECOND_PER_ADDRESS", retryAfter: seconds))
    }

    private static func limit(_ requestsPerSecond: Int?) -> Int? {
        requestsPerSecond.map { $0.multipliedReportingOverflow(by: windowSeconds) }.map { $0.overflow ? .max : $0.0 }
    }
}
