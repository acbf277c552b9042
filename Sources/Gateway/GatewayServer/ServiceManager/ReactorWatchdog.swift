import Reactors

/// Tells the service manager that the process is alive, as long as every reactor takes its jobs.
///
/// A reactor that hangs ends the notifications, and the manager then ends the process. A disk that stalls doesn't:
/// reactors never wait for one, and this runs on a thread of its own.
struct ReactorWatchdog {
    let reactors: [Reactor]
    let interval: Duration
    let isAlive: @Sendable () -> Void

    /// Until it is cancelled.
    func run() async {
        while !Task.isCancelled {
            await round()
            try? await Task.sleep(for: interval, clock: .continuous)
        }
    }

    /// Asks each reactor and, when all have answered, reports it. It waits as long as a reactor hangs.
    func round() async {
        for reactor in reactors {
            await withCheckedContinuation { continuation in reactor.submit { continuation.resume() } }
        }
        isAlive()
    }
}
