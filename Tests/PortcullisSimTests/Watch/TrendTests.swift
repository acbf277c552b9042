import Testing

@testable import portcullis_sim

struct TrendTests {
    private static func samples(_ count: Int, _ value: (Double) -> Double) -> [(x: Double, y: Double)] {
        (0..<count).map { (Double($0), value(Double($0))) }
    }

    @Test func `a line has its slope and no error`() throws {
        let trend = try #require(Trend(Self.samples(120) { 7 + 3 * $0 }))
        #expect(abs(trend.slope - 3) < 1e-9)
        #expect(trend.standardError < 1e-9)
        #expect(trend.rises(faster: 2.9))
        #expect(!trend.rises(faster: 3.1))
    }

    @Test func `scattered values have no rise`() throws {
        var generator = SeededGenerator(seed: 11)
        for _ in 0..<50 {
            // A random walk with a restoring force: neighbouring values are correlated, like a process's samples.
            var level = 0.0
            let trend = try #require(
                Trend(
                    Self.samples(240) { _ in
                        level = 0.9 * level + Double.random(in: -1...1, using: &generator)
                        return level
                    }))
            #expect(!trend.rises(faster: 0.02), "\(trend)")
        }
    }

    @Test func `a rise is detected through scatter`() throws {
        var generator = SeededGenerator(seed: 12)
        let trend = try #require(Trend(Self.samples(240) { $0 / 10 + Double.random(in: -2...2, using: &generator) }))
        #expect(trend.rises(faster: 0.05))
        #expect(!trend.rises(faster: 0.15))
    }

    @Test func `a step isn't a certain rise`() throws {
        let trend = try #require(Trend(Self.samples(120) { $0 < 60 ? 0 : 100 }))
        #expect(trend.slope > 0)
        #expect(trend.standardError > 0.1)
    }

    @Test func `too few samples have no trend`() {
        #expect(Trend(Self.samples(2) { $0 }) == nil)
        #expect(Trend(Self.samples(3) { $0 }) != nil)
        #expect(Trend([(1, 1), (1, 2), (1, 3)]) == nil)
    }
}
