/// How long a client has not kept up: from when its queue was full until it was read far enough for its target to be read on.
struct SlownessClock {
    private let limit: UInt64
    private var since: UInt64?

    /// - Parameter limit: in nanoseconds.
    init(limit: UInt64) {
        self.limit = limit
    }

    mutating func update(isBehind: Bool, now: UInt64) {
        since = isBehind ? since ?? now : nil
    }

    /// When the client counts as too slow; nil while it keeps up.
    var end: UInt64? { since.map { $0 + limit } }
}
