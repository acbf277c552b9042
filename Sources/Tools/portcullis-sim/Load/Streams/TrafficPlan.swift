/// The times and sizes of a client's messages. The intended times are fixed before anything is known about the
/// gateway's answers. A message sent later counts as late from its intended time, so that a slow gateway can't slow
/// down its own measurement.
struct TrafficPlan: Sendable {
    enum Kind: Hashable, Sendable {
        /// The client doesn't send unprompted.
        case none
        /// Messages of `bytes` at this rate.
        case steady(perSecond: Double, bytes: Int)
        /// Lines as typed by players, with pauses around `1 / perSecond`.
        case typed(perSecond: Double)
        /// Sends whenever fewer than `messages` are in flight.
        case window(messages: Int, bytes: Int)
    }

    let kind: Kind
    /// The intended time of the next message, in nanoseconds; nil for plans without times.
    private(set) var next: UInt64?
    private var start: UInt64
    private var index: UInt64 = 0
    private var generator: SeededGenerator

    /// - Parameter start: clients begin spread over their first interval, each at its own offset.
    init(_ kind: Kind, start: UInt64, seed: UInt64) {
        self.kind = kind
        self.start = start
        generator = SeededGenerator(seed: seed)
        switch kind {
        case .steady(let perSecond, _), .typed(let perSecond):
            self.start += UInt64(Double.random(in: 0..<1, using: &generator) / perSecond * 1e9)
            next = self.start
        case .none, .window: next = nil
        }
    }

    /// Takes the next message's time from the plan.
    ///
    /// - Returns: its intended time; nil if none is due by `now`.
    mutating func take(by now: UInt64) -> UInt64? {
        guard let due = next, due <= now else { return nil }
        switch kind {
        case .none, .window: return nil
        case .steady(let perSecond, _):
            index += 1
            // Computed from the start, not from the last time: rounding errors must not add up.
            next = start + UInt64(Double(index) / perSecond * 1e9)
        case .typed(let perSecond):
            next = due + UInt64(Double.random(in: 0.2...1.8, using: &generator) / perSecond * 1e9)
        }
        return due
    }
}
