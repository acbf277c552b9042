/// When a client sends, and how much: the intended times, fixed before anything is known of the gateway's answers. What is sent later
/// than intended counts as late from then on, so that a slow gateway can't slow down its own measurement.
struct TrafficPlan: Sendable {
    enum Kind: Hashable, Sendable {
        /// Nothing of its own accord.
        case none
        /// Messages of `bytes` at so many a second.
        case steady(perSecond: Double, bytes: Int)
        /// Lines as they were typed, with pauses around `1 / perSecond`.
        case typed(perSecond: Double)
        /// As soon as fewer than `messages` are on their way.
        case window(messages: Int, bytes: Int)
    }

    let kind: Kind
    /// When the next message is intended, in nanoseconds; nil for plans without a time.
    private(set) var next: UInt64?
    private var start: UInt64
    private var index: UInt64 = 0
    private var generator: SeededGenerator

    /// - Parameter start: clients begin spread over their first interval, each at a place of its own.
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

    /// Takes the next message's time off the plan.
    ///
    /// - Returns: when it was intended; nil where none is due by `now`.
    mutating func take(by now: UInt64) -> UInt64? {
        guard let due = next, due <= now else { return nil }
        switch kind {
        case .none, .window: return nil
        case .steady(let perSecond, _):
            index += 1
            // From the start, not from the last one: rounding must not add up.
            next = start + UInt64(Double(index) / perSecond * 1e9)
        case .typed(let perSecond):
            next = due + UInt64(Double.random(in: 0.2...1.8, using: &generator) / perSecond * 1e9)
        }
        return due
    }
}
