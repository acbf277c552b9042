import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Many sessions at once on one reactor, half of which end badly.
    @Suite struct LoadTests {
        /// 2,000, or what the file limit allows: each session takes two of our files (client and target).
        static var sessionCount: Int {
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            return min(2000, (Int(clamping: limit.rlim_cur) - 300) / 3)
        }

        @Test(.timeLimit(.minutes(5)))
        func `two thousand sessions echo without loss while half of them are killed`() async throws {
            let edge = try await Edge.start {
                $0.setting("REACTOR_THREADS", 1).setting("MAX_CONNECTIONS_PER_ADDRESS", 10_000)
                    .setting("LOG_LEVEL", "warning")
            }
            _ = try await edge.gateway.open().close()
            let files = try ProcessMemory.openFiles(of: edge.gateway.processID) + 2
            // A small first wave creates everything that is created only once.
            try await wave(at: edge, count: 100, seed: 1)
            try await settle(edge, to: files)
            let before = try ProcessMemory.residentKiB(of: edge.gateway.processID)
            var afterWaves: [Int] = []
            for seed in 2...3 as ClosedRange<UInt64> {
                try await wave(at: edge, count: Self.sessionCount, seed: seed)
                try await settle(edge, to: files)
                afterWaves.append(try ProcessMemory.residentKiB(of: edge.gateway.processID))
            }
            let peak = try ProcessMemory.peakKiB(of: edge.gateway.processID)
            print("\(Self.sessionCount) sessions: \(before) KiB before, \(peak) at most, \(afterWaves) after each wave")
            let after = try await memoryReturned(at: edge, to: before + max(16 * 1024, (peak - before) / 2))
            print("\(after) KiB in the end")
        }

        /// The allocator returns memory asynchronously: polls until it has.
        private func memoryReturned(at edge: Edge, to limit: Int) async throws -> Int {
            try await Poll.until("at most \(limit) KiB", within: .seconds(40)) {
                let resident = try ProcessMemory.residentKiB(of: edge.gateway.processID)
                if resident <= limit { return resident }
                try await edge.expectHealthy()
                return nil
            }
        }

        /// Opens all sessions, then runs all of them at once; every second one is killed in a random round.
        private func wave(at edge: Edge, count: Int, seed: UInt64) async throws {
            let sockets = try await inParallel(count) { _ in try await edge.gateway.open() }
            let survivors = try await inParallel(count) { index in
                try await talk(sockets[index], index: index, seed: seed)
            }
            #expect(survivors.filter { $0 }.count == count - count / 2)
            _ = try await inParallel(count) { index in await sockets[index].connection.close() }
        }

        /// Twenty rounds of random messages that must be echoed exactly; a victim resets in the middle of one.
        ///
        /// - Returns: whether the session survived to the end.
        private func talk(_ socket: TestWebSocket, index: Int, seed: UInt64) async throws -> Bool {
            var generator = SeededGenerator(seed: seed << 32 | UInt64(index))
            let lastRound = index.isMultiple(of: 2) ? Int.max : Int.random(in: 0..<20, using: &generator)
            for round in 0..<20 {
                let payload = generator.bytes(Int.random(in: 1...300, using: &generator))
                try await socket.send(binary: payload)
                if round == lastRound {
                    await socket.connection.reset()
                    return false
                }
                guard try await socket.receive(payload.count, within: .seconds(60)) == payload else {
                    throw EdgeTestError("session \(index) of seed \(seed) lost bytes in round \(round)")
                }
            }
            return true
        }

        /// Waits until the gateway has closed all connections that the test has left.
        private func settle(_ edge: Edge, to files: Int) async throws {
            try await Poll.untilTrue("at most \(files) open files", within: .seconds(30)) {
                try await edge.expectHealthy()
                return try ProcessMemory.openFiles(of: edge.gateway.processID) <= files
            }
        }
    }
}

/// Runs `work` for 0 to `count - 1`, all at once, and returns the results in order.
func inParallel<Result: Sendable>(
    _ count: Int, _ work: @escaping @Sendable (Int) async throws -> Result
) async throws -> [Result] {
    try await withThrowingTaskGroup(of: (Int, Result).self) { group in
        for index in 0..<count { group.addTask { (index, try await work(index)) } }
        var results: [Int: Result] = [:]
        for try await (index, result) in group { results[index] = result }
        return (0..<count).compactMap { results[$0] }
    }
}
