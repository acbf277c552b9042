import Settings

/// A queue of requested reloads. They run one after the other on their own thread, because they read files and write to
/// the logs.
final class ReloadQueue: Sendable {
    typealias Reply = @Sendable (ReloadOutcome) -> Void

    private static let maximumWaiting = 32

    /// For the consumer that performs them.
    let requests: AsyncStream<Reply>
    private let waiting: AsyncStream<Reply>.Continuation

    init() {
        (requests, waiting) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.maximumWaiting))
    }

    /// Call from any thread. `reply` is called on another one.
    func ask(_ reply: @escaping Reply) {
        guard case .enqueued = waiting.yield(reply) else {
            return reply(.refused(["too many reloads are waiting, or the gateway is stopping"]))
        }
    }
}
