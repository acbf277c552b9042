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

    /// The suites that take longest begin first: one that begins last runs on alone while the other lanes are empty.
    private static let longest: Set = [
        "HostileTargetTests", "WebClientRefreshTests", "WebClientReturnTests", "RefreshRaceTests", "PrometheusTests",
        "FleetFaultTests", "ReloadTests", "FleetResumeTests", "SplitUpgradeTests", "FleetCopyoverTests",
    ]

    private struct Lanes {
        var free: Int
        /// Suites that go before others.
        var longWaiting = 0
    }

    private static let lanes = Awaited(Lanes(free: max(1, count)))
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
                try await Self.inLane(isLong: Self.longest.contains(test.name)) {
                    try await ParallelizationTrait.serialized.provideScope(
                        for: test, testCase: testCase, performing: function)
                }
            }.value
        }
    }

    private static func inLane(isLong: Bool, _ run: () async throws -> Void) async throws {
        try await takeLane(isLong: isLong)
        defer { lanes.update { $0.free += 1 } }
        try await run()
    }

    private static func takeLane(isLong: Bool) async throws {
        if isLong { lanes.update { $0.longWaiting += 1 } }
        defer { if isLong { lanes.update { $0.longWaiting -= 1 } } }
        try await lanes.wait(for: "a lane", within: patience) { lanes -> Void? in
            guard lanes.free > 0, isLong || lanes.longWaiting == 0 else { return nil }
            lanes.free -= 1
            return ()
        }
    }
}

extension Trait where Self == EdgeLanes {
    static var lanes: EdgeLanes { EdgeLanes() }
}
