import EdgeTestKit
import Foundation
import Testing

/// Runs the suites inside `EdgeTests` in a few lanes: the tests of a suite one after another, and as many suites at
/// once as there are lanes.
///
/// Most tests wait for a time limit or for a process to start, so one lane leaves the cores idle. A test inside a suite
/// may change what the next one finds (a port, a memory figure), so suites are never interleaved with themselves. The
/// wait for a lane comes before the tests begin, and their time limits don't count it.
struct EdgeLanes: SuiteTrait, TestTrait, TestScoping {
    let isRecursive = true

    /// `PORTCULLIS_EDGE_LANES`; the default was measured on two cores.
    static let count = ProcessInfo.processInfo.environment["PORTCULLIS_EDGE_LANES"].flatMap { Int($0) } ?? 4

    private static let free = Awaited(max(1, count))
    /// Stops a broken run only: all lanes together take minutes.
    private static let patience = Duration.seconds(3_600)

    func scopeProvider(for test: Test, testCase: Test.Case?) -> EdgeLanes? {
        test.isSuite && test.name != "\(EdgeTests.self)" ? self : nil
    }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        // All other tests queue for the threads of the usual priority, and a gateway's time limits don't wait for them.
        try await withoutActuallyEscaping(function) { function in
            try await Task(priority: .high) {
                try await Self.inLane {
                    try await ParallelizationTrait.serialized.provideScope(
                        for: test, testCase: testCase, performing: function)
                }
            }.value
        }
    }

    private static func inLane(_ run: () async throws -> Void) async throws {
        try await free.wait(for: "a lane", within: patience) { free -> Void? in
            guard free > 0 else { return nil }
            free -= 1
            return ()
        }
        defer { free.update { $0 += 1 } }
        try await run()
    }
}

extension Trait where Self == EdgeLanes {
    static var lanes: EdgeLanes { EdgeLanes() }
}
