import Foundation
import Testing

@testable import portcullis_sim

struct AttackTableTests {
    private static func load(
        p99: Double, cpuSeconds: Double = 0.1, errors: [String: UInt64] = [:]
    ) -> LoadReport {
        let latency = LatencySummary(count: 900, mean: 1, p50: p99 / 2, p90: p99, p99: p99, p999: p99, max: p99)
        return LoadReport(
            scenario: "echo", gateway: "g", clients: 8, seconds: 10,
            connects: .init(opened: 8, failed: 0, perSecond: 4, seconds: 2, latencyMicroseconds: latency),
            traffic: .init(
                messagesSent: 900, messagesAnswered: 900, bytesSent: 1, bytesReceived: 1, messagesPerSecond: 90,
                megabytesPerSecondUp: 0, megabytesPerSecondDown: 0, latencyMicroseconds: latency),
            flapping: nil,
            gatewayProcess: .init(
                cpuSeconds: cpuSeconds, cpuPercent: 1, cpuMicrosecondsPerMessage: nil, cpuMicrosecondsPerConnect: nil,
                residentBytesBefore: 1, residentBytesAfter: 1, residentBytesHighest: 64_000_000, threads: 2,
                counted: nil, countedPerMessage: nil),
            ownProcess: nil, errors: errors, tolerated: [], isGood: errors.isEmpty)
    }

    private static func trial(
        echo: LoadReport? = load(p99: 1_000), connect: LoadReport? = load(p99: 2_000), cpuSeconds: Double? = 0.05,
        bytesSent: UInt64 = 1_000, addresses: Int = 256, isEchoAlwaysJudged: Bool = false, isUnnoticed: Bool = false,
        isGatewayAlive: Bool = true, name: String = "hellos"
    ) -> AttackTrial {
        AttackTrial(
            facts: .init(
                name: cpuSeconds == nil ? "quiet" : name, what: "w", addresses: addresses,
                isEchoAlwaysJudged: isEchoAlwaysJudged, isUnnoticed: isUnnoticed, logBytes: 1_500, auditBytes: 0,
                isGatewayAlive: isGatewayAlive),
            echo: echo, connect: connect,
            attackers: cpuSeconds.map {
                [
                    AttackerReport(
                        seconds: 10, cpuSeconds: $0, connections: 1, answered: 1, refused: 0, bytesSent: bytesSent,
                        bytesReceived: 0)
                ]
            } ?? [])
    }

    private static let quiet = trial(cpuSeconds: nil)

    private static func row(_ trial: AttackTrial) -> AttackRow { AttackRow(trial, quiet: quiet) }

    @Test func `a goal is met at its limit, missed above it, and missed clearly at twice the limit`() {
        for goal in AttackGoal.allCases {
            #expect(goal.verdict(goal.limit) == .met)
            #expect(goal.verdict(goal.limit * 1.01) == .missed)
            #expect(goal.verdict(goal.limit * 1.99) == .missed)
            #expect(goal.verdict(goal.limit * 2) == .missedClearly)
            #expect(goal.verdict(nil) == .unknown)
        }
    }

    @Test func `the gateway's work for honest clients isn't charged to the attack`() throws {
        let row = Self.row(Self.trial(echo: Self.load(p99: 1_000, cpuSeconds: 1.1)))
        #expect(abs(row.gatewayCPUSeconds - 1) < 1e-9 && abs(row.attackerCPUSeconds - 0.05) < 1e-9)
        #expect(abs(try #require(row.amplification) - 20) < 1e-6)
        #expect(row.isGood)
        let worse = Self.row(Self.trial(echo: Self.load(p99: 1_000, cpuSeconds: 2.2)))
        #expect(worse.verdict(.amplification) == .missedClearly && !worse.isGood)
    }

    @Test func `a cost below the judged minimum has no ratio and meets the goal`() {
        let row = Self.row(Self.trial(echo: Self.load(p99: 1_000, cpuSeconds: 0.29), cpuSeconds: 0.000_1))
        #expect(row.amplification == nil && row.verdict(.amplification) == .met && row.isGood)
        let more = Self.row(Self.trial(echo: Self.load(p99: 1_000, cpuSeconds: 0.31), cpuSeconds: 0.000_1))
        #expect(more.verdict(.amplification) == .missedClearly)
    }

    @Test func `a narrowly missed goal doesn't fail the run, and a clearly missed one does`() {
        #expect(Self.row(Self.trial(echo: Self.load(p99: 99_000))).verdict(.echo) == .missed)
        #expect(Self.row(Self.trial(echo: Self.load(p99: 99_000))).isGood)
        #expect(!Self.row(Self.trial(echo: Self.load(p99: 100_000))).isGood)
        #expect(!Self.row(Self.trial(connect: Self.load(p99: 2_000_000))).isGood)
    }

    @Test func `an attack beyond the goals' conditions isn't judged, unless its echo always is`() {
        let slow = Self.load(p99: 500_000)
        #expect(!Self.row(Self.trial(echo: slow, bytesSent: 9_999_999)).isGood)
        #expect(Self.row(Self.trial(echo: slow, bytesSent: 10_000_000)).isGood)
        #expect(Self.row(Self.trial(echo: slow, addresses: 257)).isGood)
        let judged = Self.row(Self.trial(echo: slow, bytesSent: 10_000_000, isEchoAlwaysJudged: true))
        #expect(!judged.isGood && judged.unjudged == ["median", "connect", "amplification", "text"])
    }

    @Test func `an attack that must not be noticed is judged by its median and its connects, whatever its size`() {
        // The median is half of the 99th percentile here.
        #expect(Self.row(Self.trial(echo: Self.load(p99: 20_000))).isGood)
        let row = Self.row(Self.trial(echo: Self.load(p99: 20_000), bytesSent: 10_000_000, isUnnoticed: true))
        #expect(row.verdict(.echo) == .met && row.verdict(.median) == .missedClearly && !row.isGood)
        #expect(row.unjudged == ["amplification", "text"])
        let refused = Self.load(p99: 1_000, errors: ["not_connected": 1])
        #expect(!Self.row(Self.trial(connect: refused, bytesSent: 10_000_000, isUnnoticed: true)).isGood)
    }

    @Test func `hostile text is judged by the gateway's work for 64 KiB`() throws {
        // Ten texts a second for ten seconds; 1 s of work is 10 ms for each.
        func row(_ cpuSeconds: Double, name: String = "text-bodies") -> AttackRow {
            Self.row(
                Self.trial(
                    echo: Self.load(p99: 1_000, cpuSeconds: 0.1 + cpuSeconds), cpuSeconds: 10,
                    bytesSent: 100 * 65_536, name: name))
        }
        #expect(abs(try #require(row(1).millisecondsPerText) - 10) < 1e-9)
        #expect(row(1).verdict(.text) == .met && row(3).verdict(.text) == .missed && row(3).isGood)
        #expect(row(4.1).verdict(.text) == .missedClearly && !row(4.1).isGood)
        #expect(row(4.1, name: "hellos").unjudged.contains("text") && row(4.1, name: "hellos").isGood)
    }

    @Test func `a lost byte, a refused client, a missing report and a dead gateway fail the run`() {
        let lost = Self.load(p99: 1_000, errors: ["lost_bytes": 3])
        #expect(Self.row(Self.trial(echo: lost)).complaints == ["echo: 3 × lost_bytes"])
        #expect(!Self.row(Self.trial(echo: lost, bytesSent: 10_000_000)).isGood)
        let refused = Self.load(p99: 1_000, errors: ["refused_429_rate_limited": 1])
        #expect(Self.row(Self.trial(connect: refused)).complaints == ["connect: 1 × refused_429_rate_limited"])
        #expect(Self.row(Self.trial(connect: refused, bytesSent: 10_000_000)).isGood)
        #expect(!Self.row(Self.trial(echo: nil)).isGood)
        #expect(!Self.row(Self.trial(connect: nil)).isGood)
        #expect(!Self.row(Self.trial(isGatewayAlive: false)).isGood)
    }

    @Test func `the table has the quiet run, then each attack, and marks what isn't judged`() throws {
        let table = AttackTable(
            quiet: Self.quiet,
            trials: [
                Self.trial(echo: Self.load(p99: 200_000, cpuSeconds: 1.1)),
                Self.trial(echo: Self.load(p99: 200_000), bytesSent: 49_000_000),
            ])
        let lines = table.text.split(separator: "\n").map(String.init)
        #expect(lines.count == 4 && !table.isGood)
        #expect(lines[1].hasPrefix("quiet ") && lines[1].hasSuffix("–"))
        #expect(lines[2].contains("200 ms") && lines[2].contains("MISSED") && lines[2].contains("1.50 kB"))
        #expect(lines[3].contains("4.90 MB/s") && lines[3].contains("(missed)") && !lines[3].contains("MISSED"))
        #expect(try JSONDecoder().decode(AttackTable.self, from: Data(table.json.utf8)) == table)
    }

    @Test func `a quiet gateway that refuses its clients fails the run`() {
        let quiet = Self.trial(connect: Self.load(p99: 1_000, errors: ["not_connected": 1]), cpuSeconds: nil)
        let table = AttackTable(quiet: quiet, trials: [])
        #expect(!table.isGood && table.text.contains("quiet: connect: 1 × not_connected"))
    }
}
