import Admission
import Testing
import WireText

struct RateTableTests {
    private let one = address("192.0.2.1").prefix
    private let two = address("192.0.2.2").prefix

    @Test func `events up to the limit pass, and the next one doesn't`() {
        let table = RateTable(limit: 3, window: .seconds(60))
        for _ in 0..<3 { #expect(table.count(one, at: start.monotonic) == .within) }
        #expect(table.count(one, at: start.monotonic) == .over(retryAfter: 60))
    }

    @Test func `a limit of zero passes nothing`() {
        let table = RateTable(limit: 0, window: .seconds(60))
        #expect(table.count(one, at: start.monotonic) == .over(retryAfter: 60))
    }

    @Test func `without a limit everything passes, and nothing is remembered`() {
        let table = RateTable(limit: nil, window: .seconds(1), maximumEntries: 1)
        for number in 0..<1_000 { #expect(table.count(prefix(number), at: start.monotonic) == .within) }
        #expect(table.entryCount == 0)
    }

    @Test func `a limit of messages a second holds for all connections of an address together`() {
        let table = RateTable(limit: 240, window: .seconds(1))
        for _ in 0..<240 { #expect(table.count(one, at: start.monotonic) == .within) }
        #expect(table.count(one, at: (start + 999).monotonic) == .over(retryAfter: 1))
        #expect(table.count(two, at: (start + 999).monotonic) == .within)
        #expect(table.count(one, at: (start + 1_000).monotonic) == .within)
    }

    @Test func `a new limit applies at once, also to open windows`() {
        let limit = Current<Int?>(1)
        let table = RateTable(limit: limit.now, window: .seconds(60))
        #expect(table.count(one, at: start.monotonic) == .within)
        limit.replace(with: 2)
        #expect(table.count(one, at: start.monotonic) == .within)
        #expect(table.count(one, at: start.monotonic) != .within)
        limit.replace(with: 1)
        #expect(table.count(two, at: start.monotonic) == .within)
        #expect(table.count(two, at: start.monotonic) != .within)
        limit.replace(with: nil)
        #expect(table.count(one, at: start.monotonic) == .within)
    }

    @Test func `each prefix has its own limit`() {
        let table = RateTable(limit: 1, window: .seconds(60))
        #expect(table.count(one, at: start.monotonic) == .within)
        #expect(table.count(two, at: start.monotonic) == .within)
        #expect(table.count(one, at: start.monotonic) != .within)
    }

    @Test func `the window begins with the first event and ends after its length`() {
        let table = RateTable(limit: 1, window: .seconds(60))
        #expect(table.count(one, at: start.monotonic) == .within)
        #expect(table.count(one, at: (start + 30_500).monotonic) == .over(retryAfter: 30))
        #expect(table.count(one, at: (start + 59_999).monotonic) == .over(retryAfter: 1))
        #expect(table.count(one, at: (start + 60_000).monotonic) == .within)
        #expect(table.count(one, at: (start + 60_001).monotonic) == .over(retryAfter: 60))
    }

    @Test func `being refused doesn't prolong the window`() {
        let table = RateTable(limit: 1, window: .seconds(60))
        #expect(table.count(one, at: start.monotonic) == .within)
        for second in 1..<60 { #expect(table.count(one, at: (start + second * 1_000).monotonic) != .within) }
        #expect(table.count(one, at: (start + 60_000).monotonic) == .within)
    }

    @Test func `a query doesn't count`() {
        let table = RateTable(limit: 1, window: .seconds(60))
        for _ in 0..<5 { #expect(table.peek(one, at: start.monotonic) == .within) }
        #expect(table.entryCount == 0)
        #expect(table.count(one, at: start.monotonic) == .within)
        #expect(table.peek(one, at: start.monotonic) == .over(retryAfter: 60))
    }

    @Test func `when the table is full new addresses share one window and no entry is evicted`() {
        let table = RateTable(limit: 2, window: .seconds(60), maximumEntries: 2)
        for prefix in [one, two] { #expect(table.count(prefix, at: start.monotonic) == .within) }
        let newcomers = (1...3).map { address("203.0.113.\($0)").prefix }
        #expect(table.count(newcomers[0], at: start.monotonic) == .within)
        #expect(table.count(newcomers[1], at: start.monotonic) == .within)
        #expect(table.count(newcomers[2], at: start.monotonic) == .over(retryAfter: 60))
        #expect(table.peek(newcomers[0], at: start.monotonic) == .over(retryAfter: 60))
        #expect(table.entryCount == 2)
        #expect(table.count(one, at: start.monotonic) == .within)
        #expect(table.count(one, at: start.monotonic) != .within)
    }

    @Test func `prefixes whose window has ended make room`() {
        let table = RateTable(limit: 1, window: .seconds(60), maximumEntries: 2)
        for prefix in [one, two] { _ = table.count(prefix, at: start.monotonic) }
        let later = (start + 60_000).monotonic
        for number in 1...2 { #expect(table.count(address("203.0.113.\(number)").prefix, at: later) == .within) }
        #expect(table.entryCount == 2)
        #expect(table.count(one, at: later) == .within)
        #expect(table.count(two, at: later) != .within, "one and two share a window now")
    }

    @Test func `a prefix that returns for hours has one entry`() {
        let table = RateTable(limit: 5, window: .seconds(1), maximumEntries: 4)
        for step in 0..<10_000 {
            let prefix = address("192.0.2.\(step % 3)").prefix
            #expect(table.count(prefix, at: (start + step * 400).monotonic) == .within)
            #expect(table.entryCount <= 4)
        }
    }

    @Test func `removing a prefix's old window keeps its new one`() {
        let table = RateTable(limit: 1, window: .seconds(60))
        let prefixes = (0..<5).map { prefix($0) }
        for prefix in prefixes { _ = table.count(prefix, at: start.monotonic) }
        let later = (start + 60_000).monotonic
        #expect(table.count(prefixes[4], at: later) == .within)
        for _ in 0..<5 { _ = table.peek(one, at: later) }
        #expect(table.count(prefixes[4], at: later) == .over(retryAfter: 60))
        #expect(table.entryCount == 1)
    }

    @Test func `a flood of prefixes stays within the table and is removed after it`() {
        let table = RateTable(limit: 1, window: .seconds(60), maximumEntries: 1_000)
        for number in 0..<5_000 { _ = table.count(prefix(number), at: start.monotonic) }
        #expect(table.entryCount == 1_000)
        for number in 0..<1_000 { _ = table.count(prefix(number), at: (start + 60_000).monotonic) }
        #expect(table.entryCount <= 1_000)
        for number in 0..<1_000 { _ = table.peek(prefix(number), at: (start + 120_000).monotonic) }
        #expect(table.entryCount == 0)
    }

    @Test func `65,536 prefixes fit by default, and the next ones share`() {
        let table = RateTable(limit: 1, window: .seconds(60))
        for number in 0..<65_536 where table.count(prefix(number), at: start.monotonic) != .within {
            Issue.record("refused \(number)")
        }
        #expect(table.count(prefix(65_536), at: start.monotonic) == .within)
        #expect(table.count(prefix(65_537), at: start.monotonic) != .within)
        #expect(table.entryCount == 65_536)
    }

    @Test func `a clock that is behind doesn't reopen an old window`() {
        let table = RateTable(limit: 1, window: .seconds(60))
        #expect(table.count(one, at: (start + 1_000).monotonic) == .within)
        #expect(table.count(one, at: start.monotonic) == .over(retryAfter: 60))
        #expect(table.count(one, at: (start + 61_000).monotonic) == .within)
        #expect(table.count(one, at: start.monotonic) != .within)
    }

    @Test func `exactly the limit of a hundred threads passes`() {
        let table = RateTable(limit: 37, window: .seconds(60))
        let prefix = one
        let outcomes = race(100) { _ in table.count(prefix, at: start.monotonic) }
        #expect(outcomes.filter { $0 == .within }.count == 37)
    }

    private func prefix(_ number: Int) -> AddressPrefix {
        IPAddress(ipv4: (10, UInt8(number >> 16 & 255), UInt8(number >> 8 & 255), UInt8(number & 255))).prefix
    }
}

/// An address that must be well formed.
func address(_ text: String) -> IPAddress {
    guard let address = IPAddress(text: text) else {
        Issue.record("\(text) is no address")
        return IPAddress(ipv4: (0, 0, 0, 0))
    }
    return address
}
