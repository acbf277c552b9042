/// The maximum number of registrations in progress.
enum PendingRegistrations {
    /// 64 bodies of 64 KiB are 4 MiB; at a few milliseconds each, about a second of work for two cores.
    static let maximum = 64
    static let retryAfterSeconds = 2
    private static let threadCount = 2

    static func make() -> PendingWork { PendingWork("registrations", threads: threadCount, maximum: maximum) }
}
