/// The maximum number of registrations in progress.
enum PendingRegistrations {
    /// 64 bodies of 64 KiB are 4 MiB; at a few milliseconds each, about a second of work for two cores.
    static let maximum = 64
    /// Unregistrations that wait until sessions are closed: a few seconds each, with their bodies.
    static let maximumEnding = 64
    static let retryAfterSeconds = 2
    private static let threadCount = 2

    static func make() -> PendingWork { PendingWork("registrations", threads: threadCount, maximum: maximum) }

    /// For unregistrations that wait until sessions are closed. They use nothing up any more, and a process of later
    /// finishes what is left of them: registrations and copyovers don't wait for them.
    static func makeEnding(_ registrations: PendingWork) -> PendingWork {
        PendingWork(on: registrations.threads, maximum: maximumEnding)
    }
}
