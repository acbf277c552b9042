/// Requests for a new process to take over. They run one after the other on a thread of their own; only the first that
/// succeeds matters.
final class CopyoverQueue: Sendable {
    typealias Reply = @Sendable (CopyoverOutcome) -> Void

    private static let maximumWaiting = 4

    /// For the consumer that performs them.
    let requests: AsyncStream<(program: String?, reply: Reply)>
    private let waiting: AsyncStream<(program: String?, reply: Reply)>.Continuation

    init() {
        (requests, waiting) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.maximumWaiting))
    }

    /// Call from any thread. `reply` is called on another one.
    ///
    /// - Parameter program: nil: the one that the gateway was started with.
    func ask(_ program: String?, _ reply: @escaping Reply) {
        guard case .enqueued = waiting.yield((program, reply)) else {
            return reply(.unchanged("too many upgrades are waiting, or the gateway is stopping"))
        }
    }
}

/// What came of a copyover.
enum CopyoverOutcome: Sendable {
    case handedOver(CopyoverReport)
    /// The gateway serves as before; the text says why, for the operator.
    case unchanged(String)
}

/// What went to the new process.
package struct CopyoverReport: Codable, Sendable, Equatable {
    /// Of the new process.
    package var processID: Int32
    /// Of the old process.
    package var formerID: Int32
    package var version: String
    /// Sessions that the new process goes on with.
    package var moved: Int
    /// Sessions that stay with the old one until they end.
    package var staying: Int
    /// Minutes after which those are closed.
    package var stayMinutes: Int
    package var milliseconds: Int
}
