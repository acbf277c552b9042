/// Requests for access tokens that are verified or stored at once.
enum PendingTokens {
    /// Their bodies are 16 MiB at most; at less than a millisecond each, a fraction of a second of work.
    static let maximum = 256
    static let retryAfterSeconds = 1
    private static let threadCount = 2

    static func make() -> PendingWork { PendingWork("tokens", threads: threadCount, maximum: maximum) }
}
