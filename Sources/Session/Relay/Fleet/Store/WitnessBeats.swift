import Synchronization

/// When the witness of the store's past is to beat.
package final class WitnessBeats: Sendable {
    /// Between two beats at least, unless the store was away.
    private static let pause: Duration = .seconds(10)

    private let next = Mutex(ContinuousClock.now)

    package init() {}

    /// Says so once.
    package func isDue() -> Bool {
        next.withLock { next in
            guard next <= .now else { return false }
            next = .now + Self.pause
            return true
        }
    }

    package func hasten() { next.withLock { $0 = .now } }
}
