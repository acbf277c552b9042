import Testing
import WireText

@testable import Admission

struct RefusalDigestTests {
    /// A digest that `#expect` may change.
    private final class Book {
        private var digest: RefusalDigest

        init(linesPerPeriod: Int = RefusalDigest.defaultLinesPerPeriod, maximumKinds: Int = RefusalDigest.maximumKinds)
        {
            digest = RefusalDigest(linesPerPeriod: linesPerPeriod, maximumKinds: maximumKinds)
        }

        var kindCount: Int { digest.kindCount }
        var linesPerPeriod: Int {
            get { digest.linesPerPeriod }
            set { digest.linesPerPeriod = newValue }
        }

        func note(_ kind: RefusalKind, _ mark: RefusalMark, at time: MonotonicTime) -> Bool {
            digest.note(kind, mark, at: time)
        }
        func takeDue(at time: MonotonicTime) -> [RefusalSummary] { digest.takeDue(at: time) }
        func takeAll() -> [RefusalSummary] { digest.takeAll() }
    }

    private func kind(
        _ text: String, _ code: RefusalCode = .appAuthRequired, _ event: RefusedEvent = .upgrade
    ) -> RefusalKind {
        RefusalKind(prefix: address(text).prefix, event: event, code: code)
    }

    private func mark(_ number: Int) -> RefusalMark {
        RefusalMark(requestID: "r\(number)", unixMilliseconds: start.unixMilliseconds + Int64(number))
    }

    @Test func `ten refusals of a kind are written in full, and further ones are counted`() {
        let digest = Book()
        let one = kind("192.0.2.1")
        for number in 0..<10 { #expect(digest.note(one, mark(number), at: start.monotonic)) }
        #expect(digest.takeAll() == [], "what was written is not counted")
        for number in 0..<15 { #expect(digest.note(one, mark(number), at: start.monotonic) == (number < 10)) }
        #expect(digest.takeAll() == [RefusalSummary(kind: one, count: 5, first: mark(10), last: mark(14))])
        #expect(digest.takeAll() == [])
    }

    @Test func `address, event and reason distinguish kinds, and a /64 is one address`() {
        let digest = Book()
        let kinds = [
            kind("192.0.2.1"), kind("192.0.2.2"), kind("192.0.2.1", .notFound), kind("192.0.2.1", .notFound, .ticket),
            kind("2001:db8::1"), kind("2001:db8:0:1::1"),
        ]
        for kind in kinds { for _ in 0..<10 { #expect(digest.note(kind, mark(0), at: start.monotonic)) } }
        #expect(!digest.note(kind("2001:db8::2"), mark(0), at: start.monotonic))
        #expect(digest.kindCount == kinds.count)
    }

    @Test func `a period ends sixty seconds after its first refusal`() {
        let digest = Book()
        let one = kind("192.0.2.1")
        for number in 0..<11 { _ = digest.note(one, mark(number), at: (start + 500).monotonic) }
        #expect(digest.takeDue(at: (start + 60_499).monotonic) == [])
        #expect(
            digest.takeDue(at: (start + 60_500).monotonic)
                == [RefusalSummary(kind: one, count: 1, first: mark(10), last: mark(10))])
        #expect(digest.takeDue(at: (start + 999_999).monotonic) == [])
        #expect(digest.note(one, mark(20), at: (start + 60_500).monotonic), "it begins anew")
        #expect(digest.kindCount == 1)
    }

    @Test func `without refusals nothing is due`() {
        let digest = Book()
        #expect(digest.takeDue(at: start.monotonic) == [])
        #expect(digest.takeDue(at: MonotonicTime(nanoseconds: .max)) == [])
    }

    @Test func `half of a period's lines are full lines, for all addresses together`() {
        let digest = Book(linesPerPeriod: 20)
        for number in 1...10 { #expect(digest.note(kind("192.0.2.\(number)"), mark(number), at: start.monotonic)) }
        #expect(!digest.note(kind("192.0.2.11"), mark(11), at: start.monotonic))
        #expect(!digest.note(kind("192.0.2.1"), mark(12), at: start.monotonic))
        #expect(
            digest.takeAll() == [
                RefusalSummary(kind: kind("192.0.2.11"), count: 1, first: mark(11), last: mark(11)),
                RefusalSummary(kind: kind("192.0.2.1"), count: 1, first: mark(12), last: mark(12)),
            ])
    }

    @Test func `counts fill the other half, and above it the smallest are merged into one line`() {
        let digest = Book(linesPerPeriod: 8)
        func flood(kinds: Int) -> [RefusalSummary] {
            for number in 1...kinds {
                for _ in 0..<number { _ = digest.note(kind("192.0.2.\(number)"), mark(number), at: start.monotonic) }
            }
            return digest.takeAll()
        }
        // These are written in full: one of the first, two of the second, and one of the third.
        #expect(flood(kinds: 6).map(\.count) == [6, 5, 4, 2])
        let summaries = flood(kinds: 7)
        #expect(summaries.map(\.kind) == [kind("192.0.2.7"), kind("192.0.2.6"), kind("192.0.2.5"), nil])
        #expect(summaries.last == RefusalSummary(kind: nil, count: 6, first: mark(3), last: mark(4)))
    }

    @Test func `a full table counts new kinds together, and known kinds keep their counts`() {
        let digest = Book(maximumKinds: 2)
        for number in 1...2 { #expect(digest.note(kind("192.0.2.\(number)"), mark(number), at: start.monotonic)) }
        #expect(!digest.note(kind("192.0.2.3"), mark(3), at: start.monotonic))
        #expect(!digest.note(kind("192.0.2.4"), mark(4), at: start.monotonic))
        for number in 5...14 { _ = digest.note(kind("192.0.2.1"), mark(number), at: start.monotonic) }
        #expect(digest.kindCount == 2)
        #expect(
            digest.takeAll() == [
                RefusalSummary(kind: kind("192.0.2.1"), count: 1, first: mark(14), last: mark(14)),
                RefusalSummary(kind: nil, count: 2, first: mark(3), last: mark(4)),
            ])
        #expect(digest.kindCount == 0)
    }

    @Test func `4,096 kinds have room by default`() {
        #expect(RefusalDigest.maximumKinds == 4_096)
        let digest = Book(linesPerPeriod: 1_000_000)
        for number in 0..<4_096 {
            let text = "10.0.\(number / 256).\(number % 256)"
            if !digest.note(kind(text), mark(number), at: start.monotonic) { Issue.record("no room for \(text)") }
        }
        #expect(!digest.note(kind("10.1.0.0"), mark(5_000), at: start.monotonic))
    }

    @Test func `no input exceeds a period's lines or loses a refusal`() {
        var dice = Dice(7)
        for lines in [2, 3, 7, 20, 300] {
            let digest = Book(linesPerPeriod: lines, maximumKinds: 50)
            let total = 5_000
            var inFull = 0
            for number in 0..<total {
                let text = "10.0.0.\(Int.random(in: 0..<200, using: &dice))"
                if digest.note(kind(text), mark(number), at: start.monotonic) { inFull += 1 }
            }
            let summaries = digest.takeAll()
            #expect(inFull + summaries.count <= lines)
            #expect(inFull + summaries.reduce(0) { $0 + $1.count } == total)
        }
    }

    @Test func `a new number of lines applies to the current period`() {
        let digest = Book(linesPerPeriod: 2)
        #expect(digest.note(kind("192.0.2.1"), mark(1), at: start.monotonic))
        #expect(!digest.note(kind("192.0.2.1"), mark(2), at: start.monotonic))
        digest.linesPerPeriod = 4
        #expect(digest.note(kind("192.0.2.1"), mark(3), at: start.monotonic))
        #expect(!digest.note(kind("192.0.2.1"), mark(4), at: start.monotonic))
        #expect(digest.takeAll().map(\.count) == [2])
        #expect(digest.linesPerPeriod == 4, "and for those after it")
    }
}
