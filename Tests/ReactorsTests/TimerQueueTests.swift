import Testing

@testable import Reactors

/// Deadlines on a reactor. The tests compare only the order, and that no timer fires before its deadline.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct TimerQueueTests {
    private static let millisecond: UInt64 = 1_000_000

    /// Creates timers on the reactor's thread and returns which of them fired, in order, after the last one.
    ///
    /// - Parameter arrange: arms timers; `end` is the last deadline and has its own timer.
    private func firings(
        end milliseconds: UInt64, _ arrange: @escaping @Sendable (_ bench: TimerBench, _ now: UInt64) -> Void
    ) async -> [TimerBench.Firing] {
        await withCheckedContinuation { continuation in
            TestReactor.shared.submit {
                let bench = TimerBench(on: TestReactor.shared) { continuation.resume(returning: $0) }
                let now = TestReactor.shared.now
                arrange(bench, now)
                bench.end(at: now + milliseconds * Self.millisecond)
            }
        }
    }

    @Test func `timers fire in the order of their deadlines, none before its own`() async {
        let fired = await firings(end: 41) { bench, now in
            var generator = SeededGenerator(seed: 3)
            for index in 0..<300 {
                bench.arm(index, at: now + UInt64.random(in: 0...40_000_000, using: &generator))
            }
        }
        #expect(fired.count == 300)
        #expect(Set(fired.map(\.index)).count == 300)
        #expect(fired.map(\.deadline) == fired.map(\.deadline).sorted())
        #expect(fired.allSatisfy { $0.now >= $0.deadline })
    }

    @Test func `timers with the same deadline all fire`() async {
        let fired = await firings(end: 2) { bench, now in
            for index in 0..<50 { bench.arm(index, at: now + Self.millisecond) }
        }
        #expect(Set(fired.map(\.index)) == Set(0..<50))
        #expect(fired.count == 50)
    }

    @Test func `a timer that is moved later fires once, at its new place`() async {
        let fired = await firings(end: 30) { bench, now in
            bench.arm(1, at: now + Self.millisecond)
            bench.arm(1, at: now + 20 * Self.millisecond)
            bench.arm(2, at: now + 10 * Self.millisecond)
        }
        #expect(fired.map(\.index) == [2, 1])
        #expect(fired.allSatisfy { $0.now >= $0.deadline })
    }

    @Test func `a timer that is moved earlier fires once, at its new place`() async {
        let fired = await firings(end: 20) { bench, now in
            bench.arm(1, at: now + 15 * Self.millisecond)
            bench.arm(2, at: now + 5 * Self.millisecond)
            bench.arm(1, at: now + Self.millisecond)
        }
        #expect(fired.map(\.index) == [1, 2])
    }

    @Test func `a timer that is moved back and forth fires once, at its last deadline`() async {
        let fired = await firings(end: 40) { bench, now in
            for milliseconds: UInt64 in [30, 5, 35, 1, 5, 20] {
                bench.arm(1, at: now + milliseconds * Self.millisecond)
            }
            bench.arm(2, at: now + 10 * Self.millisecond)
            bench.arm(3, at: now + 25 * Self.millisecond)
        }
        #expect(fired.map(\.index) == [2, 1, 3])
    }

    @Test func `a cancelled timer doesn't fire, and can be armed again`() async {
        let fired = await firings(end: 20) { bench, now in
            bench.arm(1, at: now + Self.millisecond)
            bench.arm(2, at: now + Self.millisecond)
            bench.arm(3, at: now + 10 * Self.millisecond)
            bench.cancel(1)
            bench.cancel(2)
            bench.arm(2, at: now + 5 * Self.millisecond)
        }
        #expect(fired.map(\.index) == [2, 3])
    }

    /// Otherwise a cancelled timer would stay until its deadline, however far off.
    @Test func `the queue releases a cancelled timer at once`() async {
        await TestReactor.shared.run {
            let target = TimerBench(on: TestReactor.shared) { _ in }
            var timer: ReactorTimer? = ReactorTimer(on: TestReactor.shared)
            weak let watched = timer
            timer?.arm(at: TestReactor.shared.now + 3_600_000 * Self.millisecond, calling: target)
            timer?.arm(at: TestReactor.shared.now + 7_200_000 * Self.millisecond, calling: target)
            timer?.cancel()
            timer = nil
            #expect(watched == nil)
        }
    }

    @Test func `a deadline that has passed fires without delay, but never inside the call that arms it`() async {
        let fired = await firings(end: 1) { bench, now in
            bench.arm(1, at: 0)
            #expect(bench.firings.isEmpty)
            bench.arm(2, at: now)
        }
        #expect(fired.map(\.index) == [1, 2])
    }

    /// libuv serves timers before it polls, until none is due: such a timer would never let it poll.
    @Test(.timeLimit(.minutes(5)))
    func `timers that are always due don't starve other work`() async {
        let reactor = TestReactor.shared
        let restless = Restless()
        let count = await withCheckedContinuation { done in
            reactor.submit {
                restless.begin(on: reactor)
                // The loop has to poll for this job, too.
                reactor.submit { done.resume(returning: restless.end()) }
            }
        }
        #expect(count > 0)
    }

    @Test func `a timer may arm itself again when it fires`() async {
        let fired = await firings(end: 20) { bench, now in
            bench.repeats = 3
            bench.arm(1, at: now + Self.millisecond)
        }
        #expect(fired.map(\.index) == [1, 1, 1, 1])
    }

    @Test func `an armed timer retains its target until it fires`() async {
        let fired = await firings(end: 10) { bench, now in
            bench.arm(1, at: now + Self.millisecond)
            bench.forget(1)
            bench.arm(2, at: now + 2 * Self.millisecond)
        }
        #expect(fired.map(\.index) == [1, 2])
    }

    @Test func `a cancelled timer releases its target at once`() async {
        await TestReactor.shared.run {
            let timer = ReactorTimer(on: TestReactor.shared)
            var target: TimerBench? = TimerBench(on: TestReactor.shared) { _ in }
            weak let watched = target
            timer.arm(at: TestReactor.shared.now + 3_600_000 * Self.millisecond, calling: target!)
            target = nil
            #expect(watched != nil)
            timer.cancel()
            #expect(watched == nil)
        }
    }

    @Test(arguments: 0..<10)
    func `after random operations each armed timer fires once, in order`(seed: UInt64) async {
        let expected = Expected()
        let fired = await firings(end: 31) { bench, now in
            var generator = SeededGenerator(seed: seed)
            for _ in 0..<2_000 {
                let index = Int.random(in: 0..<40, using: &generator)
                if Int.random(in: 0..<4, using: &generator) == 0 {
                    bench.cancel(index)
                    expected.deadlines[index] = nil
                } else {
                    let deadline = now + UInt64.random(in: 0...30, using: &generator) * Self.millisecond
                    bench.arm(index, at: deadline)
                    expected.deadlines[index] = deadline
                }
            }
        }
        #expect(fired.count == expected.deadlines.count)
        #expect(Dictionary(fired.map { ($0.index, $0.deadline) }) { first, _ in first } == expected.deadlines)
        #expect(fired.map(\.deadline) == fired.map(\.deadline).sorted())
        #expect(fired.allSatisfy { $0.now >= $0.deadline })
    }
}

/// - Note: `@unchecked Sendable` because it is written on the reactor's thread and read after the last timer has fired.
private final class Expected: @unchecked Sendable {
    var deadlines: [Int: UInt64] = [:]
}

/// Numbered timers that record their firings. Reactor thread only; it retains itself until its last timer has fired.
final class TimerBench: TimerTarget {
    struct Firing: Sendable {
        let index: Int
        let deadline: UInt64
        let now: UInt64
    }

    private final class Numbered: TimerTarget {
        let index: Int
        var deadline: UInt64 = 0
        private unowned let bench: TimerBench

        init(_ index: Int, _ bench: TimerBench) {
            self.index = index
            self.bench = bench
        }

        func timerFired(now: UInt64) { bench.fired(self, now) }
    }

    private let reactor: Reactor
    private let done: ([Firing]) -> Void
    private var targets: [Int: Numbered] = [:]
    private var timers: [Int: ReactorTimer] = [:]
    private lazy var last = ReactorTimer(on: reactor)
    private var myself: TimerBench?
    private(set) var firings: [Firing] = []
    /// How many times each timer rearms itself.
    var repeats = 0

    init(on reactor: Reactor, done: @escaping ([Firing]) -> Void) {
        self.reactor = reactor
        self.done = done
    }

    func arm(_ index: Int, at deadline: UInt64) {
        let target = targets[index] ?? Numbered(index, self)
        targets[index] = target
        target.deadline = deadline
        let timer = timers[index] ?? ReactorTimer(on: reactor)
        timers[index] = timer
        timer.arm(at: deadline, calling: target)
    }

    func cancel(_ index: Int) { timers[index]?.cancel() }

    func forget(_ index: Int) { targets[index] = nil }

    func end(at deadline: UInt64) {
        myself = self
        last.arm(at: deadline, calling: self)
    }

    func timerFired(now: UInt64) {
        done(firings)
        myself = nil
    }

    private func fired(_ target: Numbered, _ now: UInt64) {
        firings.append(Firing(index: target.index, deadline: target.deadline, now: now))
        if repeats > 0 {
            repeats -= 1
            arm(target.index, at: target.deadline + 1_000)
        }
    }
}

/// Whenever its timer fires, it arms it again for a time that has passed. Reactor thread only.
private final class Restless: TimerTarget, @unchecked Sendable {
    private var timer: ReactorTimer?
    private var firings = 0

    func begin(on reactor: Reactor) {
        timer = ReactorTimer(on: reactor)
        timer?.arm(at: 0, calling: self)
    }

    func end() -> Int {
        timer?.cancel()
        timer = nil
        return firings
    }

    func timerFired(now: UInt64) {
        firings += 1
        timer?.arm(at: now, calling: self)
    }
}
