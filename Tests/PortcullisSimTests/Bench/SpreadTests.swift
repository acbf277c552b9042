import Testing

@testable import portcullis_sim

struct SpreadTests {
    @Test(arguments: [([3.0, 1, 2], 2.0), ([4, 1, 2, 3], 2.5), ([7], 7), ([1, 1, 9], 1)] as [([Double], Double)])
    func `the median is the middle value or the mean of the two middle ones`(values: [Double], median: Double) throws {
        let spread = try #require(Spread(values))
        #expect(spread.median == median)
        #expect(spread.least == values.min() && spread.most == values.max() && spread.rounds == values.count)
    }

    @Test func `values without a number have no spread`() {
        #expect(Spread([]) == nil)
        #expect(Spread([.nan, .infinity]) == nil)
        #expect(Spread([.nan, 5])?.rounds == 1)
    }

    @Test func `a ratio is taken round by round, over the rounds that both have`() throws {
        var results = BenchResults()
        for (round, pair) in [(1.0, 2.0), (30, 20), (4, 8)].enumerated() {
            results.record(pair.0, .cpuPerMessage, of: .portcullis, "w", round: round)
            results.record(pair.1, .cpuPerMessage, of: .floor, "w", round: round)
        }
        // A round that only the floor has, because ours failed.
        results.record(5, .cpuPerMessage, of: .floor, "w", round: 3)
        results.record(nil, .cpuPerMessage, of: .portcullis, "w", round: 3)
        let ratio = try #require(results.ratio(.cpuPerMessage, of: .portcullis, "w", to: .floor))
        #expect(ratio.median == 0.5 && ratio.most == 1.5 && ratio.rounds == 3)
        #expect(results.ratio(.cpuPerMessage, of: .portcullis, "w", to: .haproxy) == nil)
        #expect(results.spread(.cpuPerMessage, of: .floor, "w")?.rounds == 4)
    }

    @Test func `a division by zero has no ratio`() {
        var results = BenchResults()
        results.record(1, .cpuPerMessage, of: .portcullis, "w")
        results.record(0, .cpuPerMessage, of: .floor, "w")
        #expect(results.ratio(.cpuPerMessage, of: .portcullis, "w", to: .floor) == nil)
    }
}
