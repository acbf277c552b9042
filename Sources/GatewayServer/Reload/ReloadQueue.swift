import Settings

/// Reloads that were asked for. They happen one after the other, on a thread of their own: they read files, and write to the logs.
final class ReloadQueue: Sendable {
    typealias Reply = @Sendable (ReloadOutcome) -> Void

    private static let maximumWaiting = 32

    /// For the one who does them.
    let requests: AsyncStream<Reply>
    private let waiting: AsyncStream<Reply>.Continuation

    init() {
        (requests, waiting) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.maximumWaiting))
    }

    /// From any thread. `reply` is called on some other one.
    func ask(_ reply: @escaping Reply) {
        guard case .enqueued = waiting.yield(reply) else {
            return reply(.refused(["too many reloads are waiting, or the gateway is stopping"]))
        }
    }
}
