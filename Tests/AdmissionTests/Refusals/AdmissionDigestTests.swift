import Testing
import WireText

@testable import Admission

/// How many lines admitted clients cause, and that nothing is lost of what is only counted.
@Suite("The digest of admissions")
struct AdmissionDigestTests {
    private final class Book {
        var digest: AdmissionDigest
        private(set) var total = 0
        private(set) var inFull = 0

        init(lines: Int = 300, kinds: Int = AdmissionDigest.maximumKinds) {
            digest = AdmissionDigest(linesPerPeriod: lines, maximumKinds: kinds)
        }

        /// - Returns: how many of them are written in full.
        @discardableResult
        func admit(
            _ count: Int, _ who: String?, from text: String = "192.0.2.1", _ event: AdmittedEvent = .upgrade,
            _ outcome: AdmissionOutcome = .admitted, at moment: Moment = start
        ) -> Int {
            let place = address(text).prefix
            let method = who == nil ? AnonymousMethod.name : AppAttestMethod.name
            let kind = AdmissionKind(event, outcome, by: method, who: who, from: place)
            let before = inFull
            for number in 0..<count {
                let mark = RefusalMark(
                    requestID: "r\(total)", unixMilliseconds: moment.unixMilliseconds + Int64(number))
                total += 1
                inFull += digest.note(kind, from: place, mark, at: moment.monotonic) ? 1 : 0
            }
            return inFull - before
        }
    }

    @Test func `writes the first twenty of an identity in full, and one count of the others`() throws {
        let book = Book()
        #expect(book.admit(20, "alice") == 20)
        #expect(book.admit(980, "alice") == 0)
        let summaries = book.digest.takeAll()
        let summary = try #require(summaries.first)
        #expect(summaries.count == 1 && summary.count == 980 && summary.kind?.client == .identity("alice"))
        #expect(summary.first.requestID == "r20" && summary.last.requestID == "r999")
        #expect(book.digest.takeAll().isEmpty && book.admit(1, "alice") == 1)
    }

    @Test func `counts an identity wherever it is, and each event and outcome by itself`() {
        let book = Book()
        for host in 1...100 { book.admit(1, "alice", from: "192.0.2.\(host)") }
        #expect(book.inFull == AdmissionDigest.inFullPerKind)
        #expect(book.admit(1, "alice", from: "198.51.100.1", .ticket) == 1)
        #expect(book.admit(1, "alice", from: "198.51.100.1", .upgrade, .reported) == 1)
    }

    @Test func `counts what came of an admission that was only counted`() throws {
        let book = Book()
        let ended = AdmissionKind(
            .session, .ended, by: AppAttestMethod.name, who: "alice", from: address("192.0.2.1").prefix)
        for number in 0..<3 {
            let mark = RefusalMark(requestID: "e\(number)", unixMilliseconds: Int64(number))
            book.digest.add(ended, mark, at: start.monotonic)
        }
        #expect(book.digest.takeDue(at: (start + 59_999).monotonic).isEmpty)
        let summary = try #require(book.digest.takeDue(at: (start + 60_000).monotonic).first)
        #expect(summary.kind == ended && summary.count == 3)
        #expect(summary.first.requestID == "e0" && summary.last.requestID == "e2")
    }

    @Test func `leaves other identities their lines`() {
        let book = Book()
        book.admit(10_000, "mallory")
        #expect(book.admit(20, "alice") == 20)
        #expect(book.admit(20, "bob", from: "198.51.100.1") == 20)
    }

    @Test func `writes sixty lines of one address in full, and names everybody in a count`() {
        let book = Book()
        for number in 0..<200 { book.admit(1, "device \(number)") }
        #expect(book.inFull == AdmissionDigest.inFullPerAddress)
        #expect(book.admit(1, "elsewhere", from: "198.51.100.1") == 1)
        let summaries = book.digest.takeAll()
        #expect(summaries.count == 140 && summaries.allSatisfy { $0.kind != nil && $0.count == 1 })
    }

    @Test func `counts strangers by address, and bounds their lines from any number of addresses`() {
        let book = Book(lines: 40)
        for number in 0..<5_000 { book.admit(3, nil, from: "2001:db8:\(String(number, radix: 16))::1") }
        #expect(book.inFull == 20)
        #expect(book.admit(20, "alice") == 20)
        let summaries = book.digest.takeAll()
        #expect(summaries.count == 20)
        #expect(summaries.reduce(0) { $0 + $1.count } == 15_000 - 20)
        #expect(book.admit(25, nil, from: "192.0.2.7") == 20)
        book.digest.setLinesPerPeriod(60)
        #expect(book.admit(25, nil, from: "192.0.2.8") == 10)
    }

    @Test func `has counts that add up, also when kinds share one`() {
        let book = Book()
        for number in 0..<3_000 { book.admit(number % 50, "device \(number)", from: "10.0.\(number % 7).1") }
        let summaries = book.digest.takeAll()
        #expect(summaries.count == AdmissionDigest.maximumSummaries && summaries.last?.kind == nil)
        #expect(book.inFull + summaries.reduce(0) { $0 + $1.count } == book.total)
    }

    @Test func `writes an identity in full that finds no room, and counts a stranger`() {
        let book = Book(kinds: 2)
        for who in ["a", "b", nil, nil] { book.admit(1, who) }
        #expect(book.admit(1, "c") == 1)
        #expect(book.admit(1, nil, from: "192.0.2.2") == 1)
        #expect(book.admit(1, nil, from: "192.0.2.3") == 0)
    }

    @Test func `ends a period after a minute`() {
        let book = Book()
        book.admit(30, "alice")
        #expect(book.digest.takeDue(at: (start + 59_999).monotonic).isEmpty)
        #expect(book.digest.takeDue(at: (start + 60_000).monotonic).map(\.count) == [10])
        #expect(book.admit(1, "alice", at: start + 60_000) == 1)
    }
}
