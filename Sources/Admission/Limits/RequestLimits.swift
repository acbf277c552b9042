/// What becomes of a request before anybody looks at what it asks for.
package enum RequestVerdict: Sendable {
    case serve
    case refuse(Refusal)
    /// The connection is closed without an answer.
    case close
}

/// The limit on requests of every kind, by address prefix: unknown paths, `/health`, malformed requests and upgrades count alike.
///
/// Requests are counted over ``windowSeconds``, so that as much as a whole window's share may come at once. Above the limit a request is
/// refused, and above ``answeredOverLimit`` refusals in a window it isn't answered any more. What is refused isn't counted as served, so
/// that a client that keeps to the limit again is served in the next window.
package struct RequestLimits: Sendable {
    /// `REQUESTS_PER_SECOND_PER_ADDRESS`. A phone sends two requests when it connects, and `CHALLENGES_PER_MINUTE` allows its address ten
    /// challenges a second: this leaves room for five times as many, and ends floods.
    package static let defaultRequestsPerSecond = 50
    package static let windowSeconds = 4
    /// Refusals that one prefix is sent in a window.
    package static let answeredOverLimit = 20

    private let requests: RateTable
    private let answers: RateTable

    /// - Parameter requestsPerSecond: `nil` is no limit.
    package init(
        requestsPerSecond: Int? = defaultRequestsPerSecond, maximumEntries: Int = RateTable.defaultMaximumEntries
    ) {
        let window = Duration.seconds(Self.windowSeconds)
        requests = RateTable(
            limit: Self.limit(requestsPerSecond), window: window, maximumEntries: maximumEntries)
        answers = RateTable(limit: Self.answeredOverLimit, window: window, maximumEntries: maximumEntries)
    }

    /// For a reload: what was counted stays counted.
    package func setLimit(requestsPerSecond: Int?) { requests.setLimit(Self.limit(requestsPerSecond)) }

    /// Counts a request.
    package func judge(_ address: ClientAddress, at time: MonotonicTime) -> RequestVerdict {
        guard case .over(let seconds) = requests.count(address.prefix, at: time) else { return .serve }
        guard answers.count(address.prefix, at: time) == .within else { return .close }
        return .refuse(
            Refusal(.rateLimited, detail: "over REQUESTS_PER_SECOND_PER_ADDRESS", retryAfter: seconds))
    }

    private static func limit(_ requestsPerSecond: Int?) -> Int? {
        requestsPerSecond.map { $0.multipliedReportingOverflow(by: windowSeconds) }.map { $0.overflow ? .max : $0.0 }
    }
}
