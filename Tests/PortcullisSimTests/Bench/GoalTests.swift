import Testing

@testable import portcullis_sim

struct GoalTests {
    private static func goal(_ limit: Goal.Limit, _ unit: Goal.Unit, _ values: [Double]) -> Goal {
        Goal(what: "w", limit: limit, unit: unit, measured: Spread(values), unmeasured: "nobody looked")
    }

    @Test func `a goal is met at its limit, and missed one unit of the last place above it`() {
        #expect(Self.goal(.atMost(0.96), .times, [0.964]).verdict == .met)
        #expect(Self.goal(.atMost(0.96), .times, [0.966]).verdict == .missed)
        #expect(Self.goal(.atLeast(0.8), .percent, [0.7996]).verdict == .met)
        #expect(Self.goal(.atLeast(0.8), .percent, [0.799]).verdict == .missed)
        #expect(Self.goal(.atMost(0), .count, [0.004]).verdict == .met)
        #expect(Self.goal(.atMost(0), .count, [0.006]).verdict == .missed)
        #expect(Self.goal(.atMost(18), .kibibytes, [18.04]).verdict == .met)
    }

    @Test func `a goal without a figure isn't met and has a reason`() {
        let goal = Self.goal(.atMost(1), .times, [])
        #expect(goal.verdict == .unknown("nobody looked"))
        #expect(GoalRow(goal).verdict == "not measured: nobody looked")
        #expect(GoalRow(goal).measured == "–")
    }

    @Test func `a row shows the median, and the spread where there were rounds`() {
        let times = GoalRow(Self.goal(.atMost(0.2), .times, [0.25, 0.2, 0.3]))
        #expect(times.goal == "≤ 0.20 ×" && times.measured == "0.25 × (0.20–0.30)" && times.verdict == "missed")
        let percent = GoalRow(Self.goal(.atLeast(0.95), .percent, [0.971]))
        #expect(percent.goal == "≥ 95.0 %" && percent.measured == "97.1 %" && percent.verdict == "met")
        #expect(GoalRow(Self.goal(.atMost(0), .count, [0])).goal == "0")
    }

    @Test func `every goal of an empty run is unmeasured, and absent programs are named`() {
        let circumstances = GoalList.Circumstances(absent: [.haproxy, .earlier], cores: 2, hasDatabase: false)
        let goals = GoalList.goals(BenchResults(), circumstances)
        #expect(goals.count == 28)
        let rows = goals.map(GoalRow.init)
        #expect(rows.allSatisfy { $0.verdict.hasPrefix("not measured: ") })
        #expect(rows.contains { $0.verdict.contains("haproxy isn't installed") })
        #expect(rows.contains { $0.verdict.contains("--earlier names no other build") })
        #expect(rows.contains { $0.verdict.contains("not measurable on 2 cores") })
        #expect(rows.contains { $0.verdict.contains("PostgreSQL isn't installed") })
    }

    @Test func `each goal uses its own figures`() {
        var results = BenchResults()
        for (bytes, window) in [(64, 1), (64, 4), (64, 16), (1_024, 1), (16_384, 1)] {
            for (subject, isBurst) in Subject.allCases.flatMap({ [($0, false), ($0, true)] }) {
                let cell = Cell.flood(bytes: bytes, clients: 100, window: window, isBurst: isBurst)
                results.record(10, .cpuPerMessage, of: subject, cell)
                results.record(0, .allocationsPerMessage, of: subject, cell)
                results.record(4, .systemCallsPerMessage, of: subject, cell)
            }
        }
        for (cell, cost) in [(Cell.gated, 500.0), (Cell.withToken, 400), (Cell.ungated, 400)] {
            results.record(cost, .cpuPerConnect, of: .portcullis, cell)
        }
        results.record(500, .cpuPerConnect, of: .earlier, Cell.ungated)
        results.record(20, .cpuPerChallenge, of: .portcullis, Cell.challenge)
        results.record(10, .cpuPerMessage, of: .portcullis, Cell.busy(clients: 100, idle: 0))
        results.record(12.5, .cpuPerMessage, of: .portcullis, Cell.busy(clients: 100, idle: 9_000))
        results.record(17, .residentPerSession, of: .portcullis, Cell.idle)
        results.record(100, .messagesPerSecond, of: .portcullis, Cell.oneReactor)
        results.record(190, .messagesPerSecond, of: .portcullis, Cell.twoReactors)
        for (cell, cost) in [
            (Cell.authorization, 100.0), (Cell.signed(recipe: 1, bytes: 1_024), 120),
            (Cell.signed(recipe: 2, bytes: 1_024), 160),
        ] { results.record(cost, .cpuPerAuthorization, of: .portcullis, cell) }
        for (cell, cost) in [
            (Cell.token, 200.0), (Cell.signIn, 210), (Cell.signInWithDatabase, 260), (Cell.refresh, 150),
        ] { results.record(cost, .cpuPerToken, of: .portcullis, cell) }
        results.record(1_900, .latencyP99, of: .portcullis, Cell.refreshAmongMany)
        let rows = GoalList.goals(results, GoalList.Circumstances(cores: 4)).map(GoalRow.init)
        #expect(rows.filter { $0.measured == "–" }.map(\.what) == ["… websockify in Go"])
        func measured(_ what: String) -> String? { rows.first { $0.what.hasPrefix(what) }?.measured }
        #expect(measured("gated") == "80.0 %")
        #expect(measured("connects a second with an access token") == "1.25 ×")
        #expect(measured("CPU per request to /authz") == "1.20 ×")
        #expect(measured("… signed with its digest") == "1.60 ×")
        #expect(measured("CPU per sign-in with a passkey") == "1.05 ×")
        #expect(measured("CPU per refresh") == "0.75 ×")
        #expect(measured("a refresh, one at a time") == "1900.0 µs")
        #expect(measured("… with PostgreSQL") == "1.30 ×")
        #expect(measured("assertion") == "80.0 µs")
        #expect(measured("CPU per connect") == "0.80 ×")
        #expect(measured("system calls") == "4.00")
        #expect(measured("throughput") == "80.0 %")
        #expect(measured("two reactors") == "1.90 ×")
    }
}
