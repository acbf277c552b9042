import RelayCore
import Testing

struct FairPaceTests {
    private let begin = 1_000 * second

    @Test func `a single client may send the whole budget at once, and waits for one more`() {
        var pace = FairPace(perSecond: 50)
        var member = FairPace.Member()
        for _ in 0..<50 { #expect(pace.spend(&member, now: begin) == nil) }
        let until = pace.spend(&member, now: begin)
        #expect(until == begin + second / 50 + second / 10)
        #expect(pace.readableAt(begin + second / 50, &member) == nil)
    }

    @Test func `a wait is at most a second, then the pace is asked again`() {
        var pace = FairPace(perSecond: 1)
        var member = FairPace.Member()
        for _ in 0..<1_000 { _ = pace.spend(&member, now: begin) }
        #expect(pace.readableAt(begin, &member) == begin + second)
        #expect(pace.readableAt(begin + 998 * second, &member) == begin + 999 * second)
        #expect(pace.readableAt(begin + 1_000 * second, &member) == nil)
    }

    @Test(arguments: [1, 2, 5])
    func `a client that sends little never waits, however much the others send`(floods: Int) {
        var address = Address(perSecond: 100, begin: begin)
        // A read of tiny messages: many seconds of the budget.
        for _ in 0..<floods { address.sources.append(Source(greedyWithReadsOf: 2_000)) }
        address.sources.append(Source(every: 100_000_000))
        address.run(seconds: 120)
        let modest = address.sources[floods]
        #expect(modest.sent >= 1_199 && modest.waits == 0)
        #expect(address.sources[0].waits > 0)
    }

    @Test func `busy clients get equal shares, whatever the size of a read`() {
        var address = Address(perSecond: 240, begin: begin)
        for size in [1, 10, 100, 1_000] { address.sources.append(Source(greedyWithReadsOf: size)) }
        address.run(seconds: 300)
        let fair = 300 * 240 / 4
        for source in address.sources { #expect(abs(source.sent - fair) <= fair / 20 + 1_240, "\(source.sent)") }
    }

    @Test func `an unused share may be used and isn't charged afterwards`() {
        var address = Address(perSecond: 100, begin: begin)
        address.sources = [Source(greedyWithReadsOf: 5), Source(every: second), Source(every: second)]
        address.run(seconds: 300)
        #expect(address.sources[0].sent > 95 * 300)
        let before = address.sources[0].sent
        address.sources.append(Source(greedyWithReadsOf: 5))
        address.run(seconds: 60)
        // Two who want all that there is, and two who take a hundredth each.
        #expect(address.sources[0].sent - before > 60 * 100 / 4)
        #expect(address.sources[3].sent > 60 * 100 / 4)
    }

    @Test func `all clients together send at most the budget, a second's burst and one read each`() {
        for seed in 0..<10 as Range<UInt64> {
            var generator = SeededGenerator(seed: seed)
            var address = Address(perSecond: 60, begin: begin)
            var reads = 0
            for _ in 0..<Int.random(in: 1...20, using: &generator) {
                let size = Int.random(in: 1...50, using: &generator)
                reads += size
                address.sources.append(Source(greedyWithReadsOf: size))
            }
            address.run(seconds: 120)
            let sent = address.sources.reduce(0) { $0 + $1.sent }
            #expect(sent <= 60 * 121 + 2 * reads + 60, "\(sent)")
            #expect(sent >= 60 * 115, "\(sent)")
        }
    }

    @Test func `a share grows again when others have gone`() {
        var address = Address(perSecond: 100, begin: begin)
        address.sources = (0..<10).map { _ in Source(greedyWithReadsOf: 5) }
        address.run(seconds: 30)
        address.sources.removeLast(9)
        let before = address.sources[0].sent
        address.run(seconds: 30)
        #expect(address.sources[0].sent - before > 28 * 100)
    }

    @Test func `zero is no limit, and a new rate applies at once`() {
        var pace = FairPace(perSecond: 0)
        var member = FairPace.Member()
        for _ in 0..<10_000 { #expect(pace.spend(&member, now: begin) == nil) }
        pace.setRate(perSecond: 10)
        for _ in 0..<10 { #expect(pace.spend(&member, now: begin) == nil) }
        #expect(pace.spend(&member, now: begin) != nil)
        pace.setRate(perSecond: 0)
        #expect(pace.readableAt(begin, &member) == nil)
    }

    @Test func `slightly different clocks are read as the latest of them`() {
        var pace = FairPace(perSecond: 10)
        var members = [FairPace.Member(), FairPace.Member()]
        for index in 0..<100 {
            let skew = UInt64(index % 2) * 5_000_000
            _ = pace.spend(&members[index % 2], now: begin + UInt64(index) * 1_000_000 - skew)
        }
        #expect(pace.readableAt(begin, &members[0]) != nil)
        #expect(pace.readableAt(begin + 100 * second, &members[0]) == nil)
    }

    @Test func `the longest times and the largest rates overflow nothing`() {
        var pace = FairPace(perSecond: 1_000_000_000)
        var member = FairPace.Member()
        for now: UInt64 in [0, 1, .max / 4, .max / 2] { _ = pace.spend(&member, now: now) }
        pace.setRate(perSecond: 1)
        for _ in 0..<1_000 { _ = pace.spend(&member, now: .max / 2) }
        #expect(pace.readableAt(.max / 2, &member) == .max / 2 + second)
    }
}

/// The sessions of one address and what they want to send, over time.
private struct Address {
    var pace: FairPace
    var sources: [Source] = []
    private var now: UInt64

    init(perSecond: Int, begin: UInt64) {
        pace = FairPace(perSecond: perSecond)
        now = begin
    }

    mutating func run(seconds: UInt64) {
        let end = now + seconds * second
        while now < end {
            for index in sources.indices { sources[index].step(&pace, now) }
            now += 5_000_000
        }
    }
}

private struct Source {
    /// Messages that one read brings.
    private var readSize = 1
    /// Nil: there is always more to read.
    private var interval: UInt64?
    private var next: UInt64 = 0
    private var until: UInt64?
    private var member = FairPace.Member()
    private(set) var sent = 0
    private(set) var waits = 0

    init(greedyWithReadsOf size: Int) { readSize = size }
    init(every interval: UInt64) { self.interval = interval }

    mutating func step(_ pace: inout FairPace, _ now: UInt64) {
        if let waited = until {
            guard now >= waited else { return }
            until = pace.readableAt(now, &member)
            guard until == nil else { return }
        }
        if let interval {
            guard now >= next else { return }
            next = now + interval
        }
        for _ in 0..<readSize { until = pace.spend(&member, now: now) }
        sent += readSize
        if until != nil { waits += 1 }
    }
}
