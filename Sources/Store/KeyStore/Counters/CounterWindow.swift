/// `ASSERTION_WINDOW`: how far below the highest counter of a key another one may be, and still be used once. An app
/// that sends several requests at a time has them arrive out of order.
package struct CounterWindow: Hashable, Sendable {
    package static let sizes = 0...64

    /// A counter passes if it is lower than the highest by less than this. 0 and 1 admit only higher ones.
    package let size: Int

    /// - Returns: nil for a size that isn't in ``sizes``.
    package init?(size: Int) {
        guard Self.sizes.contains(size) else { return nil }
        self.size = size
    }

    private init() { size = 0 }

    /// Only higher counters.
    package static let strict = CounterWindow()

    /// The counters below the highest that this window doesn't reach, as in ``KeyCounters/seen``. They count as used,
    /// so that none of them passes when the window is widened.
    package var closed: Int64 {
        switch size {
        case ...1: KeyCounters.all
        case ...KeyCounters.depth: KeyCounters.all & ~(KeyCounters.bit(size) - 1)
        default: 0
        }
    }
}

/// One use of a key's counter: what the store is to do in one step.
package struct CounterUse: Hashable, Sendable {
    package let counter: UInt32
    package let window: CounterWindow
    /// Whether a lower counter within the window is good, too. Every use marks the window.
    package let admitsLower: Bool
    /// A counter that is higher by more is refused.
    package let maximumRise: UInt32

    package init(
        _ counter: UInt32, in window: CounterWindow = .strict, admitsLower: Bool = false, maximumRise: UInt32 = .max
    ) {
        (self.counter, self.window) = (counter, window)
        (self.admitsLower, self.maximumRise) = (admitsLower, maximumRise)
    }

    /// The counter has to be less than this below the highest, if it isn't above it.
    package var reach: Int { admitsLower ? window.size : 0 }
}

/// The counters of one key. Stores follow this rule in their own language; their contract tests compare them.
package struct KeyCounters: Hashable, Sendable {
    /// All counters that are remembered, as used.
    package static let all = Int64.max
    /// The farthest counter below the highest that is remembered.
    package static let depth = 63

    package private(set) var highest: UInt32
    /// Bit 0 is the counter just below the highest: set if it is used.
    package private(set) var seen: Int64

    /// - Parameter seen: nil where nothing is known: then all below the highest are used.
    package init(highest: UInt32, seen: Int64? = nil) {
        self.highest = highest
        self.seen = seen ?? Self.all
    }

    /// Leaves everything as it is, unless it returns `.advanced`.
    package mutating func take(_ use: CounterUse) -> CounterAdvance {
        if use.counter > highest { return rise(to: use) }
        let distance = Int(highest - use.counter)
        guard distance > 0, distance < use.reach, seen & Self.bit(distance) == 0 else {
            return .notHigher(stored: highest)
        }
        seen |= Self.bit(distance)
        return .advanced
    }

    private mutating func rise(to use: CounterUse) -> CounterAdvance {
        let distance = Int(use.counter - highest)
        guard distance <= Int(use.maximumRise) else { return .tooHigh(stored: highest) }
        let earlier = distance < Self.depth ? seen << Int64(distance) & Self.all : 0
        let former = distance <= Self.depth ? Self.bit(distance) : 0
        (highest, seen) = (use.counter, earlier | former | use.window.closed)
        return .advanced
    }

    /// - Parameter distance: 1...``depth``.
    static func bit(_ distance: Int) -> Int64 { 1 << Int64(distance - 1) }
}
