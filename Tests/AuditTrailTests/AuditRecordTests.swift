import Observability
import Testing

@testable import AuditTrail

@Suite("A line of the audit log")
struct AuditRecordTests {
    @Test func `reads as it was written`() throws {
        let record = try #require(
            AuditRecord(
                Lines.entry(detail: "a \u{202E}\n\"text\"") {
                    $0.who = "key"
                    ($0.check, $0.expected, $0.received) = ("counter", "above 7", "6")
                }))
        #expect(record.time == Lines.time && record.event == "upgrade" && record.outcome == "refused")
        #expect(record.method == "app_attest" && record.reason == "assertion_rejected" && record.who == "key")
        #expect(record.detail == "a \u{202E}\n\"text\"" && record.requestID == Lines.id)
        #expect(record["check"] == "counter" && record["expected"] == "above 7" && record["received"] == "6")
        #expect(record.address == "203.0.113.9" && record.summary == nil)
        let summary = try #require(AuditRecord(Lines.summary())?.summary)
        #expect(summary.count == 12 && summary.ids == ["aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"])
        let first = Lines.time.unixMilliseconds
        #expect(summary.spans(Timestamp(unixMilliseconds: first)))
        #expect(summary.spans(Timestamp(unixMilliseconds: first + 50_000)))
        #expect(!summary.spans(Timestamp(unixMilliseconds: first + 50_001)))
        #expect(!summary.spans(Timestamp(unixMilliseconds: first - 1)))
    }

    @Test func `may have members of later versions`() {
        let line =
            #"{"time":"2026-11-22T21:00:00.123Z","event":"upgrade","new":[1,{}],"requestId":"x","truncated":true}"#
        #expect(AuditRecord(Array(line.utf8))?.requestID == "x")
    }

    @Test(arguments: [
        "", "{}", "[]", "portcullis: starting", #"{"time":"yesterday","event":"upgrade"}"#,
        #"{"time":"2026-11-22T21:00:00.123Z"}"#, #"{"event":"upgrade"}"#,
        #"{"time":"2026-11-22T21:00:00.123Z","event":"upgrade","event":"session"}"#,
        #"{"time":"2026-11-22T21:00:00.123Z","event":7}"#,
        #"{"time":"2026-11-22T21:00:00.123Z","event":"upgrade"}{}"#,
    ])
    func `is nothing else`(text: String) {
        #expect(AuditRecord(Array(text.utf8)) == nil)
    }

    @Test func `cut anywhere is no line`() {
        let line = Lines.entry(detail: "cut")
        for length in 0..<line.count { #expect(AuditRecord(Array(line.prefix(length))) == nil) }
    }

    @Test func `comes out of a stream however that is cut`() {
        let lines = [Lines.entry(id: "1"), [], Lines.summary(), Array("not one".utf8), Lines.entry(id: "2")]
        let stream = Array(lines.joined(separator: [0x0A]))
        for size in 1...stream.count {
            var splitter = LineSplitter()
            var found: [[UInt8]] = []
            var rest = stream[...]
            while !rest.isEmpty {
                splitter.add(rest.prefix(size)) { found.append($0) }
                rest = rest.dropFirst(size)
            }
            splitter.finish { found.append($0) }
            #expect(found == lines.filter { !$0.isEmpty } && splitter.skipped == 0)
        }
    }

    @Test func `longer than any that is written is skipped and counted`() {
        let limit = LineSplitter.maximumLineBytes
        for (length, expected) in [(limit, 0), (limit + 1, 1)] {
            var splitter = LineSplitter()
            var found: [Int] = []
            let stream = [UInt8](repeating: 0x61, count: length) + [0x0A, 0x62, 0x0A]
            for start in stride(from: 0, to: stream.count, by: 4_096) {
                splitter.add(stream[start..<min(start + 4_096, stream.count)]) { found.append($0.count) }
            }
            #expect(splitter.skipped == expected && found == (expected == 0 ? [length, 1] : [1]))
        }
    }
}
