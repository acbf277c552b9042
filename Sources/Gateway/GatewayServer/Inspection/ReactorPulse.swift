import Reactors
import Synchronization

/// How promptly each reactor works: once a second a job is given to each of them, and its delay is noted. Any thread
/// may read.
final class ReactorPulse: Sendable {
    static let interval: Duration = .seconds(1)
    /// A reactor that is slower than this isn't ready; ten times as slow, and it isn't alive.
    static let readyNanoseconds: UInt64 = 2_000_000_000
    static let aliveNanoseconds: UInt64 = 20_000_000_000

    private let reactors: [Reactor]
    private let pulses: Mutex<[Pulse]>

    init(_ reactors: [Reactor]) {
        self.reactors = reactors
        pulses = Mutex(reactors.map { _ in Pulse() })
    }

    /// Until the task is cancelled. One job a reactor is under way at most.
    func run() async {
        while !Task.isCancelled {
            beat()
            try? await Task.sleep(for: Self.interval, clock: .continuous)
        }
    }

    func beat() {
        for (index, reactor) in reactors.enumerated() {
            let now = Reactor.monotonicNow
            let isDue = pulses.withLock { $0[index].begin(at: now) }
            guard isDue else { continue }
            reactor.submit { [self] in
                let waiting = reactor.handshakesWaiting
                pulses.withLock { $0[index].end(at: Reactor.monotonicNow, handshakesWaiting: waiting) }
            }
        }
    }

    /// The longest delay of each reactor in the last minute, in nanoseconds.
    func longestDelays(at now: UInt64 = Reactor.monotonicNow) -> [UInt64] {
        pulses.withLock { pulses in pulses.map { $0.longest(at: now) } }
    }

    /// Of each reactor: how long it hasn't answered, if it hasn't; otherwise the last delay.
    func currentDelays(at now: UInt64 = Reactor.monotonicNow) -> [UInt64] {
        pulses.withLock { pulses in pulses.map { $0.current(at: now) } }
    }

    var handshakesWaiting: Int { pulses.withLock { $0.reduce(0) { $0 + $1.handshakesWaiting } } }
}

/// The delays of one reactor. Times are monotonic nanoseconds.
struct Pulse: Equatable {
    /// As many delays as there are in a minute.
    static let kept = 60

    private var delays: [UInt64] = []
    private var next = 0
    private var begun: UInt64?
    private(set) var handshakesWaiting = 0

    /// - Returns: false while the last job hasn't run.
    mutating func begin(at now: UInt64) -> Bool {
        guard begun == nil else { return false }
        begun = now
        return true
    }

    mutating func end(at now: UInt64, handshakesWaiting: Int) {
        guard let start = begun else { return }
        begun = nil
        self.handshakesWaiting = handshakesWaiting
        let delay = now > start ? now - start : 0
        if delays.count < Self.kept { delays.append(delay) } else { delays[next] = delay }
        next = (next + 1) % Self.kept
    }

    func current(at now: UInt64) -> UInt64 {
        if let begun { return now > begun ? now - begun : 0 }
        return delays.isEmpty ? 0 : delays[(next + Self.kept - 1) % Self.kept]
    }

    func longest(at now: UInt64) -> UInt64 { max(delays.max() ?? 0, current(at: now)) }
}
