import Foundation
import StallTestKit
import Synchronization
import Testing

@testable import BlockingWork

/// The kernel's name of the calling thread.
private func threadName() -> String {
    let text = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
    return text?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
}

private final class Counter: Sendable {
    private let count = Mutex(0)
    var value: Int { count.withLock { $0 } }
    func add(_ number: Int) { count.withLock { $0 += number } }
}

struct BlockingThreadsTests {
    @Test func `work runs on a thread of the given name, and its result comes back`() async throws {
        let threads = BlockingThreads("a name of twenty b")
        #expect(try await threads.run(within: .seconds(60)) { threadName() } == "a name of twent")
        #expect(threadName() != "a name of twent")
    }

    @Test func `as many calls as threads run at once, and the next one waits`() async throws {
        let (gate, threads) = (Gate(), BlockingThreads("two", count: 2))
        async let first: Void = threads.run(within: .seconds(60)) { gate.pass() }
        async let second: Void = threads.run(within: .seconds(60)) { gate.pass() }
        await gate.arrivals(2)
        async let third: Bool = threads.run(within: .seconds(60)) { gate.isHolding }
        await waiting(1, in: threads, at: gate)
        #expect(gate.isHolding)
        gate.open()
        try await first
        try await second
        #expect(try await !third)
    }

    @Test func `calls that are stuck delay neither the pool nor other threads`() async throws {
        let (gate, stuck, other) = (Gate(), BlockingThreads("stuck"), BlockingThreads("other"))
        let calls = 2 * ProcessInfo.processInfo.activeProcessorCount
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<calls { group.addTask { try await stuck.run(within: .seconds(60)) { gate.pass() } } }
            await gate.arrivals(1)
            await waiting(calls - 1, in: stuck, at: gate)
            #expect(await Task { gate.isHolding }.value)
            #expect(try await other.run(within: .seconds(60)) { gate.isHolding })
            gate.open()
            try await group.waitForAll()
        }
    }

    @Test(arguments: [0, 1, 5])
    func `a call above the limit is refused at once and never runs`(limit: Int) async throws {
        let (gate, threads) = (Gate(), BlockingThreads("full", maximumWaiting: limit))
        let ran = Counter()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await threads.run(within: .seconds(60)) { gate.pass() } }
            await gate.arrivals(1)
            for _ in 0..<limit {
                group.addTask { try await threads.run(within: .seconds(60)) { ran.add(1) } }
            }
            await waiting(limit, in: threads, at: gate)
            await #expect(throws: BlockingRefusal.full) {
                try await threads.run(within: .seconds(60)) { ran.add(100) }
            }
            #expect(gate.isHolding)
            gate.open()
            try await group.waitForAll()
        }
        #expect(ran.value == limit)
        try await threads.run(within: .seconds(60)) { ran.add(1) }
        #expect(ran.value == limit + 1)
    }

    @Test func `a call that no thread takes in time is refused while all are stuck, and never runs`() async throws {
        let (gate, threads) = (Gate(), BlockingThreads("late", maximumWaiting: 1))
        async let stuck: Void = threads.run(within: .seconds(60)) { gate.pass() }
        await gate.arrivals(1)
        for _ in 0..<3 {
            // Each gives its place in the queue back.
            await #expect(throws: BlockingRefusal.late) {
                try await threads.run(within: .milliseconds(1)) { Issue.record("it ran") }
            }
        }
        #expect(gate.isHolding)
        gate.open()
        try await stuck
        #expect(try await threads.run(within: .seconds(60)) { 7 } == 7)
    }

    @Test func `a task that prefers the threads runs only on them, whatever it awaits`() async {
        let threads = BlockingThreads("of a task")
        let names = await Task(executorPreference: threads) {
            let before = threadName()
            await Task { await Task.yield() }.value
            let between = threadName()
            try? await Task.sleep(for: .milliseconds(1))
            return [before, between, threadName()]
        }.value
        #expect(names == ["of a task", "of a task", "of a task"])
    }

    @Test func `the threads end when their owner is released`() async throws {
        var threads: BlockingThreads? = BlockingThreads("short-lived", count: 2)
        _ = try await threads?.run(within: .seconds(60)) {}
        #expect(try count("short-lived") >= 1)
        threads = nil
        let end = ContinuousClock.now + .seconds(20)
        while try count("short-lived") > 0, ContinuousClock.now < end { await Task.yield() }
        #expect(try count("short-lived") == 0)
    }

    private func count(_ name: String) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count { thread in
            (try? String(contentsOfFile: "/proc/self/task/\(thread)/comm", encoding: .utf8)) == name + "\n"
        }
    }

    /// Returns when this many wait, or when the gate has given up, which the test then detects.
    private func waiting(_ count: Int, in threads: BlockingThreads, at gate: Gate) async {
        while threads.waiting != count, gate.isHolding { await Task.yield() }
    }
}
