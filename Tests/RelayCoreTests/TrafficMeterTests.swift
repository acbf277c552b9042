import RelayCore
import Testing

struct TrafficMeterTests {
    private let begin = 1_000 * second

    @Test func `as many messages as a second may have pass, and one more doesn't`() {
        var meter = TrafficMeter(messagesPerSecond: 60, bytesPerSecond: 0)
        for index in 0..<60 { #expect(meter.admit(bytes: 1, now: begin + UInt64(index)) == .pass) }
        #expect(meter.admit(bytes: 1, now: begin + 60) == .over(notice: true))
        #expect(meter.admit(bytes: 1, now: begin + second - 1) == .over(notice: false))
        for _ in 0..<60 { #expect(meter.admit(bytes: 1, now: begin + second) == .pass) }
        #expect(meter.admit(bytes: 1, now: begin + second) == .over(notice: true))
    }

    @Test func `as many bytes as a second may have pass at once, and one more when it is paid for`() {
        var meter = TrafficMeter(messagesPerSecond: 0, bytesPerSecond: 1_000)
        #expect(meter.admit(bytes: 600, now: begin) == .pass)
        #expect(meter.admit(bytes: 401, now: begin) == .over(notice: true))
        #expect(meter.admit(bytes: 400, now: begin) == .pass)
        #expect(meter.admit(bytes: 1, now: begin) == .over(notice: false))
        #expect(meter.admit(bytes: 1, now: begin + second / 1_000 - 1) == .over(notice: false))
        #expect(meter.admit(bytes: 1, now: begin + second / 1_000) == .pass)
    }

    @Test func `a message larger than a second's worth passes, and what follows waits until it is paid for`() {
        var meter = TrafficMeter(messagesPerSecond: 0, bytesPerSecond: 100)
        #expect(meter.admit(bytes: 1_000, now: begin) == .pass)
        #expect(meter.admit(bytes: 1_000, now: begin) == .over(notice: true))
        #expect(meter.admit(bytes: 1, now: begin + 9 * second) == .over(notice: true))
        #expect(meter.admit(bytes: 1, now: begin + 10 * second) == .pass)
    }

    @Test func `what didn't pass counts against nothing`() {
        var meter = TrafficMeter(messagesPerSecond: 2, bytesPerSecond: 10)
        #expect(meter.admit(bytes: 10, now: begin) == .pass)
        for _ in 0..<5 { #expect(meter.admit(bytes: 10, now: begin) != .pass) }
        #expect(meter.admit(bytes: 10, now: begin + second) == .pass)
    }

    @Test func `zero is no limit`() {
        var meter = TrafficMeter(messagesPerSecond: 0, bytesPerSecond: 0)
        for _ in 0..<10_000 { #expect(meter.admit(bytes: 1 << 20, now: begin) == .pass) }
        var pace = PacingBucket(bytesPerSecond: 0)
        pace.spent(1 << 40, now: begin)
        #expect(pace.readableAt(begin) == nil)
    }

    @Test func `a refusal by another limit shares the window's notice`() {
        var meter = TrafficMeter(messagesPerSecond: 1, bytesPerSecond: 0)
        #expect(meter.admit(bytes: 1, now: begin) == .pass)
        #expect(meter.refuse(now: begin) == .over(notice: true))
        #expect(meter.admit(bytes: 1, now: begin) == .over(notice: false))
        #expect(meter.refuse(now: begin + second) == .over(notice: true))
    }

    @Test(arguments: 0..<10)
    func `no second passes more than two seconds' worth, nor a minute more than its own and one`(
        seed: UInt64
    ) {
        var generator = SeededGenerator(seed: seed)
        var meter = TrafficMeter(messagesPerSecond: 60, bytesPerSecond: 1_000)
        var now = begin
        var messages = 0
        var bytes = 0
        while now < begin + 60 * second {
            now += UInt64.random(in: 0...20_000_000, using: &generator)
            let count = Int.random(in: 0...40, using: &generator)
            guard meter.admit(bytes: count, now: now) == .pass else { continue }
            messages += 1
            bytes += count
        }
        #expect(messages <= 61 * 60)
        #expect(bytes <= 61 * 1_000 + 40 && bytes > 55 * 1_000)
    }

    @Test func `a source may be read until it has sent a second's worth, and again when a tenth is paid for`() {
        var pace = PacingBucket(bytesPerSecond: 1_000)
        pace.spent(1_000, now: begin)
        #expect(pace.readableAt(begin) == nil)
        pace.spent(1, now: begin)
        #expect(pace.readableAt(begin) == begin + 101 * second / 1_000)
        #expect(pace.readableAt(begin + second / 1_000) == nil)
        pace.spent(5_000, now: begin)
        #expect(pace.readableAt(begin + second) == begin + 5_101 * second / 1_000)
        #expect(pace.readableAt(begin + 6 * second) == nil)
    }
}
