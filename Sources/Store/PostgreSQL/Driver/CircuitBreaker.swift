/// Decides whether statements are sent at all, so that nobody waits for a database that doesn't answer. A value; all
/// times in nanoseconds.
///
///     closed ── failures in a row ──▶ open ── pause ──▶ one probe at a time ── success ──▶ closed
///                                      ▲                        │
///                                      └── failure, longer pause ┘
struct CircuitBreaker: Sendable {
    /// Failures in a row that open it.
    static let maximumFailures = 5

    enum Passage: Hashable {
        case pass
        /// Let through alone, to find out whether the database answers.
        case probe
        case refuse(retryAfterSeconds: Int)
    }

    private enum State {
        case closed(failures: Int)
        case open(until: UInt64)
    }

    private var state = State.closed(failures: 0)
    private var pauses = Backoff()

    var isOpen: Bool { if case .open = state { true } else { false } }

    mutating func passage(at time: UInt64) -> Passage {
        guard case .open(let until) = state else { return .pass }
        guard time >= until else { return .refuse(retryAfterSeconds: Int((until - time) / 1_000_000_000) + 1) }
        // A probe that is never answered must not keep it open for ever.
        state = .open(until: time + Backoff.longest)
        return .probe
    }

    /// The server answered, even if only with an error.
    mutating func succeeded() {
        state = .closed(failures: 0)
        pauses.reset()
    }

    /// A statement that was sent wasn't answered in time, or its connection was lost.
    ///
    /// - Parameter random: any number.
    mutating func failed(at time: UInt64, random: UInt64) {
        if case .closed(let failures) = state, failures + 1 < Self.maximumFailures {
            state = .closed(failures: failures + 1)
        } else {
            open(at: time, random: random)
        }
    }

    /// No connection is left, and none can be made.
    mutating func open(at time: UInt64, random: UInt64) {
        state = .open(until: time + pauses.next(random: random))
    }
}

/// Growing pauses between attempts, each shortened by up to half at random, so that gateways don't come back together.
struct Backoff: Sendable {
    static let shortest: UInt64 = 100_000_000
    static let longest: UInt64 = 3_000_000_000

    private var pause = shortest

    /// - Parameter random: any number.
    mutating func next(random: UInt64) -> UInt64 {
        defer { pause = min(pause * 2, Self.longest) }
        return pause - random % (pause / 2)
    }

    mutating func reset() { pause = Self.shortest }
}
