/// How long a client has not kept up: from when its queue was full until it was read far enough for its target to be read on.
///
/// A client that reads all the while isn't slow, even if its target is held up: one compressed read of a target's may inflate to megabytes,
/// and the queue stays full until they are through. So the clock begins anew whenever the client has read as much as would have let the
/// target go on otherwise.
struct SlownessClock {
    private let limit: UInt64
    private let enough: Int
    private var since: UInt64?
    private var read = 0

    /// - Parameters:
    ///   - limit: in nanoseconds.
    ///   - enough: bytes that a client has to read within the limit.
    init(limit: UInt64, enough: Int) {
        self.limit = limit
        self.enough = enough
    }

    mutating func update(isBehind: Bool, now: UInt64) {
        since = isBehind ? since ?? now : nil
        if !isBehind { read = 0 }
    }

    /// The client has taken so many bytes off its queue.
    mutating func clientRead(_ bytes: Int, now: UInt64) {
        guard since != nil else { return }
        read += bytes
        guard read >= enough else { return }
        read = 0
        since = now
    }

    /// When the client counts as too slow; nil while it keeps up.
    var end: UInt64? { since.map { $0 + limit } }
}
