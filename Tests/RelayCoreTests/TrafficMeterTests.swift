import RelayCore
import Testing

extension TrafficMeter {
    fileprivate mutating func count(bytes: Int, isMessage: Bool, now: UInt64) {
        if isMessage { countMessage(now: now) }
        count(octets: bytes, steps: 0, now: now)
    }
}

struct TrafficMeterTests {
    @Test func `the counts of two meters add up, less what has recovered`() {
        var (one, other) = (
            TrafficMeter(messagesPerSecond: 10, bytesPerSecond: 0),
            TrafficMeter(messagesPerSecond: 10, bytesPerSecond: 0)
        )
        let now = 50 * second
        for _ in 0..<8 { one.count(bytes: 1, isMessage: true, now: now) }
        for _ in 0..<8 { other.count(bytes: 1, isMessage: true, now: now) }
        var sum = one
        #expect(one.readableAt(now) == nil && other.readableAt(now) == nil)
        sum.add(other, now: now)
        #expect(sum.readableAt(now) == now + 700_000_000)
        var late = one
        late.add(other, now: now + 10 * second)
        #expect(late.readableAt(now + 10 * second) == nil)
    }

    private let begin = 1_000 * second

    @Test func `a second's allowance of messages may arrive at once, and the next one waits`() {
        var meter = TrafficMeter(messagesPerSecond: 50, bytesPerSecond: 0)
        for _ in 0..<50 { meter.count(bytes: 1_000, isMessage: true, now: begin) }
        #expect(meter.readableAt(begin) == nil)
        meter.count(bytes: 1, isMessage: true, now: begin)
        // For itself, and for a tenth of a second's allowance.
        #expect(meter.readableAt(begin) == begin + second / 50 + second / 10)
        #expect(meter.readableAt(begin + second / 50 - 1) != nil)
        #expect(meter.readableAt(begin + second / 50) == nil)
    }

    @Test func `a burst counts in full, and the client waits for all of it`() {
        var meter = TrafficMeter(messagesPerSecond: 60, bytesPerSecond: 0)
        for _ in 0..<150 { meter.count(bytes: 1, isMessage: true, now: begin) }
        let until = meter.readableAt(begin) ?? 0
        #expect(until > begin + 15 * second / 10 && until < begin + 17 * second / 10)
        #expect(meter.readableAt(until) == nil)
    }

    @Test func `at one message per second there is room for one when the client is read again`() {
        var meter = TrafficMeter(messagesPerSecond: 1, bytesPerSecond: 0)
        meter.count(bytes: 1, isMessage: true, now: begin)
        #expect(meter.readableAt(begin) == nil)
        meter.count(bytes: 1, isMessage: true, now: begin)
        #expect(meter.readableAt(begin) == begin + 2 * second)
        meter.count(bytes: 1, isMessage: true, now: begin + 2 * second)
        #expect(meter.readableAt(begin + 2 * second) == nil)
    }

    @Test func `the pieces of a message are one message, and all their bytes count`() {
        var meter = TrafficMeter(messagesPerSecond: 2, bytesPerSecond: 1_000)
        meter.count(bytes: 500, isMessage: true, now: begin)
        for _ in 0..<5 { meter.count(bytes: 100, isMessage: false, now: begin) }
        #expect(meter.readableAt(begin) == nil)
        meter.count(bytes: 1, isMessage: false, now: begin)
        #expect(meter.readableAt(begin) == begin + 101 * second / 1_000)
    }

    @Test func `a message larger than a second's allowance counts, and the next one waits for it`() {
        var meter = TrafficMeter(messagesPerSecond: 0, bytesPerSecond: 100)
        meter.count(bytes: 1_000, isMessage: true, now: begin)
        #expect(meter.readableAt(begin) == begin + 9 * second + second / 10)
    }

    @Test func `the later time of two limits applies`() {
        var meter = TrafficMeter(messagesPerSecond: 10, bytesPerSecond: 100)
        for _ in 0..<30 { meter.count(bytes: 10, isMessage: true, now: begin) }
        #expect(meter.readableAt(begin) == begin + 2 * second + second / 10)
        meter.count(bytes: 100, isMessage: false, now: begin)
        #expect(meter.readableAt(begin) == begin + 3 * second + second / 10)
    }

    @Test func `each step costs its price beside the octets`() {
        var meter = TrafficMeter(messagesPerSecond: 0, bytesPerSecond: 100 * (TrafficMeter.stepBytes + 7))
        for _ in 0..<100 { meter.count(octets: 7, steps: 1, now: begin) }
        #expect(meter.readableAt(begin) == nil)
        var (withOctet, withStep) = (meter, meter)
        withOctet.count(octets: 1, steps: 0, now: begin)
        withStep.count(octets: 0, steps: 1, now: begin)
        #expect(withOctet.readableAt(begin) != nil)
        #expect(withStep.readableAt(begin) ?? 0 > withOctet.readableAt(begin) ?? 0)
    }

    @Test func `zero is no limit`() {
        var meter = TrafficMeter(messagesPerSecond: 0, bytesPerSecond: 0)
        for _ in 0..<10_000 { meter.count(bytes: 1 << 20, isMessage: true, now: begin) }
        #expect(meter.readableAt(begin) == nil)
        var pace = PacingBucket(perSecond: 0)
        pace.spend(1 << 40, now: begin)
        #expect(pace.readableAt(begin) == nil)
    }

    @Test(arguments: 0..<10)
    func `a minute never has more than its allowance, a second's burst and one read`(
        seed: UInt64
    ) {
        var generator = SeededGenerator(seed: seed)
        var meter = TrafficMeter(messagesPerSecond: 60, bytesPerSecond: 1_000)
        var now = begin
        var messages = 0
        var bytes = 0
        while now < begin + 60 * second {
            now = max(meter.readableAt(now) ?? 0, now + UInt64.random(in: 0...5_000_000, using: &generator))
            for _ in 0..<Int.random(in: 1...30, using: &generator) {
                let count = Int.random(in: 0...40, using: &generator)
                meter.count(bytes: count, isMessage: true, now: now)
                messages += 1
                bytes += count
            }
        }
        #expect(messages <= 61 * 60 + 30)
        #expect(bytes <= 61 * 1_000 + 1_200 && bytes > 55 * 1_000)
    }

    @Test func `a source is read until it has used a second's allowance, and again when a tenth has recovered`() {
        var pace = PacingBucket(perSecond: 1_000)
        pace.spend(1_000, now: begin)
        #expect(pace.readableAt(begin) == nil)
        pace.spend(1, now: begin)
        #expect(pace.readableAt(begin) == begin + 101 * second / 1_000)
        #expect(pace.readableAt(begin + second / 1_000) == nil)
        pace.spend(5_000, now: begin)
        #expect(pace.readableAt(begin + second) == begin + 5_101 * second / 1_000)
        #expect(pace.readableAt(begin + 6 * second) == nil)
    }
}
