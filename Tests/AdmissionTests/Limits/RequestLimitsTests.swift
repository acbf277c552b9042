import Admission
import Testing
import WireText

struct RequestLimitsTests {
    private let one = address("192.0.2.1")

    @Test func `four seconds' worth may come at once, and the next request is told when to come back`() throws {
        let limits = RequestLimits(requestsPerSecond: 50)
        for _ in 0..<200 { #expect(limits.judge(one, at: start.monotonic).isServed) }
        let refusal = try #require(limits.judge(one, at: (start + 1_500).monotonic).refusal)
        #expect(refusal.answer == .rateLimited && refusal.retryAfter == 3)
        #expect(!limits.judge(one, at: (start + 3_999).monotonic).isServed)
        #expect(limits.judge(one, at: (start + 4_000).monotonic).isServed)
    }

    @Test func `by default an address has 50 requests a second`() {
        #expect(RequestLimits.defaultRequestsPerSecond == 50 && RequestLimits.windowSeconds == 4)
        let limits = RequestLimits()
        for _ in 0..<200 { #expect(limits.judge(one, at: start.monotonic).isServed) }
        #expect(!limits.judge(one, at: start.monotonic).isServed)
    }

    @Test func `twenty requests above the limit are answered, and further ones close the connection`() {
        let limits = RequestLimits(requestsPerSecond: 1)
        for _ in 0..<4 { #expect(limits.judge(one, at: start.monotonic).isServed) }
        for _ in 0..<20 { #expect(limits.judge(one, at: start.monotonic).refusal != nil) }
        for _ in 0..<100 { #expect(limits.judge(one, at: (start + 3_999).monotonic).isClosed) }
        #expect(limits.judge(one, at: (start + 4_000).monotonic).isServed, "the flood has prolonged nothing")
    }

    @Test func `a flood limits its own address only, and a /64 is one address`() {
        let limits = RequestLimits(requestsPerSecond: 1)
        for _ in 0..<100 { _ = limits.judge(one, at: start.monotonic) }
        #expect(limits.judge(address("127.0.0.1"), at: start.monotonic).isServed)
        for number in 1...4 { #expect(limits.judge(address("2001:db8::\(number)"), at: start.monotonic).isServed) }
        #expect(limits.judge(address("2001:db8::5"), at: start.monotonic).refusal != nil)
        #expect(limits.judge(address("2001:db8:0:1::5"), at: start.monotonic).isServed)
    }

    @Test func `when the table is full new addresses share one allowance, and known ones keep theirs`() {
        let limits = RequestLimits(requestsPerSecond: 1, maximumEntries: 2)
        #expect(limits.judge(one, at: start.monotonic).isServed)
        #expect(limits.judge(address("192.0.2.2"), at: start.monotonic).isServed)
        for number in 3...6 { #expect(limits.judge(address("192.0.2.\(number)"), at: start.monotonic).isServed) }
        #expect(limits.judge(address("192.0.2.7"), at: start.monotonic).refusal != nil)
        for _ in 0..<3 { #expect(limits.judge(one, at: start.monotonic).isServed) }
        #expect(!limits.judge(one, at: start.monotonic).isServed)
    }

    @Test func `a reload changes or removes the limit`() {
        let current = Current<Int?>(1)
        let limits = RequestLimits(requestsPerSecond: current.now)
        for _ in 0..<5 { _ = limits.judge(one, at: start.monotonic) }
        current.replace(with: 2)
        for _ in 0..<4 { #expect(limits.judge(one, at: start.monotonic).isServed) }
        #expect(!limits.judge(one, at: start.monotonic).isServed)
        current.replace(with: nil)
        for _ in 0..<1_000 { #expect(limits.judge(one, at: start.monotonic).isServed) }
        current.replace(with: .max)
        #expect(limits.judge(one, at: start.monotonic).isServed)
    }
}

extension RequestVerdict {
    fileprivate var isServed: Bool { if case .serve = self { true } else { false } }
    fileprivate var isClosed: Bool { if case .close = self { true } else { false } }
    fileprivate var refusal: Refusal? { if case .refuse(let refusal) = self { refusal } else { nil } }
}
