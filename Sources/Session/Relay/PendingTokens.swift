/// The maximum number of requests for access tokens in progress.
enum PendingTokens {
    /// Their bodies are at most 16 MiB; at less than a millisecond each, they are a fraction of a second of work.
    static let maximum = 256
    static let retryAfterSeconds = 1
    private static let threadCount = 2

    static func make() -> PendingWork { PendingWork("tokens", threads: threadCount, maximum: maximum) }
}
