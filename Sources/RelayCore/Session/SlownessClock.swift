/// How long the queue toward a client has been above its mark without a break.
struct SlownessClock {
    private let mark: Int
    private let limit: UInt64
    private var since: UInt64?

    /// - Parameter limit: in nanoseconds.
    init(mark: Int, limit: UInt64) {
        self.mark = mark
        self.limit = limit
    }

    mutating func update(queued: Int, now: UInt64) {
        since = queued > mark ? since ?? now : nil
    }

    mutating func reset() {
        since = nil
    }

    /// When the client counts as too slow; nil while it keeps up.
    var end: UInt64? { since.map { $0 + limit } }
}
