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

    /// U+0085 is a C1 control, U+009B begins control sequences, U+202E reverses text, U+E0001 is a tag, and U+7F and
    /// tabs are ASCII's.
    @Test func `is printed as JSON without anything invisible, and with the same meaning`() throws {
        let text = "\u{85}\u{9B}31m\u{202E}\u{E0001}\u{7F}\u{2028}é\u{1F409}\\\\"
        let line = #"{"time":"2026-11-22T21:00:00.123Z",\#t"event":"upgrade" \#r,"detail":"\#(text)"}"#
        let record = try #require(AuditRecord(Array(line.utf8)))
        let json = record.json
        #expect(
            json == #"{"time":"2026-11-22T21:00:00.123Z", "event":"upgrade"  ,"detail":"#
                + #""\u0085\u009B31m\u202E\uDB40\uDC01\u007F\u2028é\#u{1F409}\\"}"#)
        let again = try #require(AuditRecord(Array(json.utf8)))
        #expect(again.detail == record.detail && again.detail?.hasSuffix("\u{1F409}\\") == true)
        #expect(again.json == json)
        let plain = Lines.entry(detail: "text")
        #expect(AuditRecord(plain)?.json == String(decoding: plain, as: UTF8.self))
    }

    @Test func `is shown without anything invisible by counts and explanations too`() throws {
        let line = Lines.entry()
        let hostile = String(decoding: line, as: UTF8.self)
            .replacing("assertion_rejected", with: "a\u{9B}\u{202E}b").replacing("app_attest", with: "\u{E0001}")
        let record = try #require(AuditRecord(Array(hostile.utf8)))
        var tally = AuditTally(by: [.reason, .method])
        tally.add(record)
        var explanation = Explanation(of: Lines.id, at: nil)
        explanation.add(record)
        for json in tally.jsonLines + [explanation.json] {
            #expect(json.contains(#"a\u009B\u202Eb"#) && json.contains(#"\uDB40\uDC01"#), "\(json)")
            #expect(!json.unicodeScalars.contains { ["\u{9B}", "\u{202E}", "\u{E0001}"].contains($0) })
        }
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
