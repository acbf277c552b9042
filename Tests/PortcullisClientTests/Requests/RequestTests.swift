import EdgeTestKit
import Foundation
import PortcullisClientNIO
import Testing

@testable import PortcullisClient

@Suite("Time limits, shared runs and back-off")
struct RequestTests {
    private func guarded(_ clock: ManualClock) throws -> OperationGuard {
        OperationGuard(.token, ClientPlatform(transport: try NIOTransport(), clock: clock, random: { 1 }))
    }

    private static let passing = GateError.refused(Refusal(status: 503))
    private static let lasting = GateError.refused(Refusal(status: 403))

    // MARK: Time limits

    @Test func `a call that hangs is given up, and isn't waited for`() async throws {
        let clock = ManualClock()
        let call = Task {
            try await clock.limit(30, .attestKey) {
                await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
            }
        }
        try await clock.pass(30...30)
        await #expect(throws: GateError.timedOut(.attestKey)) { try await call.value }
    }

    @Test func `a call that ends in time leaves no alarm`() async throws {
        let clock = ManualClock()
        #expect(try await clock.limit(30, .request) { 7 } == 7)
        await #expect(throws: GateError.notConnected) {
            try await clock.limit(30, .request) { throw GateError.notConnected }
        }
        while !clock.sleeps.isEmpty { await Task.yield() }
    }

    @Test func `a cancelled caller is let go at once`() async throws {
        let clock = ManualClock()
        let task = Task {
            try await clock.limit(30, .request) {
                await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
            }
        }
        while clock.sleeps.isEmpty { await Task.yield() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    // MARK: Shared runs

    @Test func `a hundred callers share one run, and its error`() async throws {
        for fails in [false, true] {
            let (flight, runs, gate) = (SingleFlight<Int>(), Awaited(0), Awaited(false))
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<100 {
                    group.addTask {
                        do {
                            return try await flight.run {
                                let run = runs.update { runs -> Int in
                                    runs += 1
                                    return runs
                                }
                                try await gate.wait(for: "the gate") { $0 ? () : nil }
                                if fails { throw GateError.notConnected }
                                return run
                            }
                        } catch GateError.notConnected { return -1 }
                    }
                }
                // All of them are there: the run goes on only then.
                try await runs.wait(for: "a run") { $0 > 0 ? () : nil }
                gate.update { $0 = true }
                for try await value in group { #expect(fails ? value == -1 : value >= 1) }
            }
        }
    }

    @Test func `a caller that is cancelled leaves alone, and the last one ends the run`() async throws {
        let (flight, ended) = (SingleFlight<Int>(), Awaited(false))
        let started = Awaited(0)
        let callers = (0..<2).map { _ in
            Task {
                try await flight.run {
                    started.update { $0 += 1 }
                    do { try await Task.sleep(nanoseconds: 60_000_000_000) } catch { ended.update { $0 = true } }
                    return 1
                }
            }
        }
        try await started.wait(for: "the run") { $0 > 0 ? () : nil }
        callers[0].cancel()
        await #expect(throws: CancellationError.self) { try await callers[0].value }
        callers[1].cancel()
        await #expect(throws: CancellationError.self) { try await callers[1].value }
        try await ended.wait(for: "the run's end") { $0 ? () : nil }
        #expect(try await flight.run { 2 } == 2)
    }

    @Test func `a run that has to be finished goes on without callers`() async throws {
        let flight = SingleFlight<Int>(isFinishedAlways: true)
        let (started, gate, ended) = (Awaited(false), Awaited(false), Awaited(false))
        let caller = Task {
            try await flight.run {
                started.update { $0 = true }
                try await gate.wait(for: "the gate") { $0 ? () : nil }
                try Task.checkCancellation()
                ended.update { $0 = true }
                return 1
            }
        }
        try await started.wait(for: "the run") { $0 ? () : nil }
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
        gate.update { $0 = true }
        try await ended.wait(for: "the run's end") { $0 ? () : nil }
    }

    @Test func `a turnstile lets one in at a time, in order`() async throws {
        let (turnstile, inside) = (Turnstile(), Awaited((now: 0, most: 0)))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    await turnstile.pass {
                        inside.update { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                        await Task.yield()
                        inside.update { $0.now -= 1 }
                    }
                }
            }
        }
        #expect(inside.current == (0, 1))
    }

    // MARK: Back-off and breaker

    @Test func `a passing failure is repeated twice, after 1 s and 2 s`() async throws {
        let clock = ManualClock()
        let (attempts, guarded) = (Awaited(0), try guarded(clock))
        let result = Task {
            try await guarded.run {
                attempts.update { $0 += 1 }
                throw Self.passing
            }
        }
        try await clock.pass(1...1)
        try await clock.pass(2...2)
        await #expect(throws: Self.passing) { try await result.value }
        #expect(attempts.current == 3)
        #expect(await guarded.state == .closed)
    }

    @Test func `the next call waits for the back-off, or is told to`() async throws {
        let clock = ManualClock()
        let (attempts, guarded) = (Awaited(0), try guarded(clock))
        let slow = GateError.refused(Refusal(status: 429, code: "rate_limited", retryAfter: 100))
        await #expect(throws: slow) {
            try await guarded.run {
                attempts.update { $0 += 1 }
                throw slow
            }
        }
        await #expect(throws: GateError.mustWait(.token, retryAfter: 100)) { try await guarded.run {} }
        clock.advance(91)
        async let later: Void = guarded.run {}
        try await clock.pass(9...9)
        try await later
        #expect(attempts.current == 1)
    }

    @Test func `three lasting failures open the breaker, which says when and can be reset`() async throws {
        let clock = ManualClock()
        let (attempts, guarded) = (Awaited(0), try guarded(clock))
        func fail() async -> GateError? {
            do {
                try await guarded.run {
                    attempts.update { $0 += 1 }
                    throw Self.lasting
                }
                return nil
            } catch { return error as? GateError }
        }
        for _ in 0..<3 { #expect(await fail() == Self.lasting) }
        #expect(await guarded.state == .open(retryAfter: 300))
        #expect(await fail() == .circuitOpen(.token, retryAfter: 300))
        #expect(attempts.current == 3)
        await guarded.tryAgain()
        #expect(await fail() == Self.lasting)
        clock.advance(300)
        #expect(await guarded.state == .closed)
    }

    @Test func `a success closes everything, and errors of the caller count nothing`() async throws {
        let clock = ManualClock()
        let guarded = try guarded(clock)
        for _ in 0..<2 { await #expect(throws: Self.lasting) { try await guarded.run { throw Self.lasting } } }
        try await guarded.run {}
        for error in [GateError.cancelled, .configuration(.invalidURL), .appAttestUnsupported] {
            for _ in 0..<5 { await #expect(throws: error) { try await guarded.run { throw error } } }
        }
        #expect(await guarded.state == .closed)
    }

    // MARK: The queue

    @Test func `a queue hands over in order, and holds its producer back`() async throws {
        let queue = HandoverQueue<Int>(maximumCount: 4, maximumCost: 1_000)
        let pushed = Awaited(0)
        let producer = Task {
            for number in 0..<1_000 {
                await queue.push(number, cost: 1)
                pushed.update { $0 = number + 1 }
            }
            queue.finish()
        }
        try await pushed.wait(for: "a full queue") { $0 >= 3 ? () : nil }
        for _ in 0..<1_000 { await Task.yield() }
        #expect(pushed.current <= 4)
        var received: [Int] = []
        while let number = await queue.next() { received.append(number) }
        #expect(received == Array(0..<1_000))
        await producer.value
    }

    @Test func `a queue is full by cost, too, and one element may be larger`() async throws {
        let queue = HandoverQueue<Int>(maximumCount: 100, maximumCost: 10)
        let pushed = Awaited(0)
        let producer = Task {
            for cost in [50, 1] {
                await queue.push(cost, cost: cost)
                pushed.update { $0 += 1 }
            }
        }
        for _ in 0..<1_000 { await Task.yield() }
        #expect(pushed.current == 0)
        #expect(await queue.next() == 50)
        #expect(await queue.next() == 1)
        await producer.value
    }

    @Test func `a cancelled or finished consumer gets nil, and elements aren't lost`() async throws {
        let queue = HandoverQueue<Int>()
        for _ in 0..<100 {
            let consumer = Task { await queue.next() }
            await Task.yield()
            consumer.cancel()
            #expect(await consumer.value == nil)
        }
        queue.post(1)
        #expect(await queue.next() == 1)
        queue.finish()
        queue.post(2)
        #expect(await queue.next() == nil)
    }
}
