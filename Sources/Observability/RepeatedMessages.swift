/// Suppresses repeated messages, so that a peer can't fill the disk by causing them.
///
/// For each key, `burst` messages pass in each `interval`; the first one after a suppression reports how many were suppressed. A value type
/// without a clock: the owner passes the time and holds the lock. At most `maximumKeys` keys are remembered; when all are in use, further
/// keys share one allowance.
package struct RepeatedMessages: Sendable {
    package enum Verdict: Equatable, Sendable {
        /// Log the message, with the number of suppressed ones.
        case log(suppressed: UInt64)
        case suppress
    }

    private struct Window {
        var start: UInt64
        var passed: Int
        var suppressed: UInt64

        func isOver(at now: UInt64, interval: UInt64) -> Bool {
            now >= start && now - start >= interval
        }
    }

    private let burst: Int
    private let interval: UInt64
    private let maximumKeys: Int
    private var windows: [String: Window] = [:]
    private var shared: Window?

    /// - Parameters:
    ///   - burst: messages of one key in an interval, at least one.
    ///   - interval: nanoseconds.
    package init(burst: Int = 10, interval: UInt64 = 60_000_000_000, maximumKeys: Int = 256) {
        self.burst = max(1, burst)
        self.interval = interval
        self.maximumKeys = max(0, maximumKeys)
    }

    /// - Parameter now: nanoseconds of a clock that never goes back.
    package mutating func verdict(for key: String, at now: UInt64) -> Verdict {
        let interval = interval
        if windows[key] == nil && windows.count >= maximumKeys {
            windows = windows.filter { !$0.value.isOver(at: now, interval: interval) }
        }
        guard windows[key] != nil || windows.count < maximumKeys else {
            return Self.count(in: &shared, at: now, burst: burst, interval: interval)
        }
        return Self.count(in: &windows[key], at: now, burst: burst, interval: interval)
    }

    private static func count(in window: inout Window?, at now: UInt64, burst: Int, interval: UInt64) -> Verdict {
        guard var current = window, !current.isOver(at: now, interval: interval) else {
            let held = window?.suppressed ?? 0
            window = Window(start: now, passed: 1, suppressed: 0)
            return .log(suppressed: held)
        }
        defer { window = current }
        guard current.passed < burst else {
            current.suppressed += 1
            return .suppress
        }
        current.passed += 1
        return .log(suppressed: 0)
    }
}
