import Admission
import Observability
import Testing

@testable import AuditTrail

struct ExplanationTests {
    private func explanation(_ lines: [[UInt8]], of id: String = Lines.id, at time: Timestamp? = nil) -> Explanation {
        var explanation = Explanation(of: id, at: time)
        for line in lines { explanation.add(line) }
        return explanation
    }

    private let counterBack = Lines.entry(detail: "assertion: counterNotHigher(received: 6, previous: 7)") {
        ($0.check, $0.expected, $0.received) = ("counter", "a counter above 7, the last one", "6")
    }

    @Test func `the checks before the failed one have passed, and those behind it weren't reached`() throws {
        let found = explanation([Lines.entry(id: "another"), counterBack])
        #expect(found.isFound && found.records.count == 1)
        let checks = found.records[0].checks
        let place = try #require(checks.firstIndex { $0.result == .failed })
        #expect(checks[place].name == "counter" && checks[place].received == "6" && checks[place].advice != nil)
        #expect(checks[..<place].allSatisfy { $0.result == .passed && $0.expected == nil } && place > 10)
        #expect(checks[(place + 1)...].allSatisfy { $0.result == .notReached })
        #expect(checks.first?.name == "handshake" && checks.last?.result == .notReached)
        let text = found.text.joined(separator: "\n")
        #expect(text.contains("FAILED      the counter is above the last one"))
        #expect(text.contains("expected  a counter above 7, the last one") && text.contains("received  6"))
        #expect(text.contains("answer    Assertion verification failed") && text.contains("203.0.113.9"))
    }

    @Test func `a count of admissions that names the request is shown with its client`() {
        let line = """
            {"time":"2026-07-01T09:06:03.042Z","event":"admissions","of":"upgrade","outcome":"admitted","way":"app_attest",\
            "who":"alice","count":"5210","firstTime":"2026-07-01T09:05:04.117Z","firstRequestId":"\(Lines.id)",\
            "lastTime":"2026-07-01T09:06:02.998Z","lastRequestId":"03d1a2f0c9b7e655","address":"all addresses"}
            """
        let found = explanation([Array(line.utf8)])
        #expect(found.isFound && found.counts.first?.who == "alice" && found.counts.first?.summary?.count == 5_210)
        #expect(found.text.joined(separator: " ").contains("alice"))
        let other = explanation([Array(line.utf8)], of: "ffffffffffffffff")
        #expect(!other.isFound && other.possible.count == 1)
        var tally = AuditTally(by: [.who, .event])
        for record in found.counts { tally.add(record) }
        #expect(tally.rows.map(\.count) == [5_210] && tally.rows.first?.values == ["alice", "upgrade"])
    }

    @Test func `a line of an earlier version is explained by its code and detail`() {
        for (way, reason, detail, check) in [
            ("app_attest", "assertion_rejected", "assertion: rpIDHashMismatch", "app_id"),
            ("app_attest", "unknown_key", "key's app, environment or trust root is not configured", "key_configured"),
            ("app_attest", "invalid_nonce", "challenge has expired", "challenge"),
            ("access_token", "clock_skew", "proof: clockSkew(seconds: -75)", "iat"),
            ("access_token", "invalid_token", "access token: expired", "token_lifetime"),
            ("none", "app_auth_required", "no credentials", "credential"),
            (
                "app_attest", "rate_limited", "over FAILED_UPGRADES_PER_MINUTE; unknown_key: key is not registered",
                "key_registered"
            ),
            ("none", "rate_limited", "over FAILED_UPGRADES_PER_MINUTE, no credentials", "rate_limit"),
        ] {
            let found = explanation([Lines.entry(way: way, reason: reason, detail: detail)])
            #expect(found.records.first?.checks.first { $0.result == .failed }?.name == check, "\(detail)")
            #expect(found.text.contains { $0.contains("an earlier version") })
        }
        let limited = explanation([
            Lines.entry(
                reason: "rate_limited", detail: "over FAILED_UPGRADES_PER_MINUTE; unknown_key: key is not registered")
        ])
        #expect(limited.text.contains { $0.contains("not the reason above") })
    }

    @Test func `codes and checks of later versions are shown as they are`() {
        let later = explanation([Lines.entry(reason: "new_code") { $0.check = "new_check" }])
        #expect(later.records[0].checks.map(\.name) == ["new_check"])
        #expect(explanation([Lines.entry(reason: "new_code")]).records[0].checks.isEmpty)
        #expect(
            explanation([Lines.entry(way: "new_way", reason: nil)]).records[0].checks.allSatisfy {
                $0.result == .passed
            })
    }

    @Test func `an admission, its correction and the end of its session are shown in their order`() {
        let later = Timestamp(unixMilliseconds: Lines.time.unixMilliseconds + 5_000)
        let found = explanation([
            Lines.entry(.session, .ended, reason: "client_closed", at: later),
            Lines.entry(.upgrade, .admitted, reason: nil) { $0.who = "the key" },
        ])
        #expect(found.records.map(\.event) == ["upgrade", "session"])
        #expect(found.records[0].checks.allSatisfy { $0.result == .passed } && found.records[1].checks.isEmpty)
        #expect(found.text.contains { $0.contains("session ended: client_closed") })
        #expect(found.text.contains { $0.contains("the key") })
    }

    @Test func `what would have been refused is told apart from what was`() {
        let found = explanation([Lines.entry(.upgrade, .reported, way: "none", reason: "app_auth_required")])
        #expect(found.text.contains { $0.contains("REQUIRE_APP_AUTH is report") })
        #expect(!found.text.contains { $0.contains("answer") })
    }

    @Test func `a counted refusal is found by the first and the last id`() {
        for id in ["aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"] {
            let found = explanation([counterBack, Lines.summary()], of: id)
            #expect(found.isFound && found.records.isEmpty && found.counts.count == 1)
            #expect(found.text.contains { $0.contains("12 times") })
        }
    }

    @Test func `without a line the counts of its time are shown, and what to do`() {
        let lines = [Lines.summary(), Lines.summary(from: 500_000, to: 550_000, address: "198.51.100.0/24")]
        let nothing = explanation(lines)
        #expect(!nothing.isFound && nothing.possible.count == 2 && nothing.text.isEmpty)
        #expect(
            nothing.notFound.contains { $0.contains("--at") } && nothing.notFound.contains { $0.contains("--file") })
        let timed = explanation(lines, at: Timestamp(unixMilliseconds: Lines.time.unixMilliseconds + 20_000))
        #expect(timed.possible.count == 1 && timed.notFound.contains { $0.contains("12 times") })
        let outside = explanation(lines, at: Timestamp(unixMilliseconds: Lines.time.unixMilliseconds + 300_000))
        #expect(outside.possible.isEmpty)
    }

    @Test func `memory is bounded, and the latest lines are kept`() {
        let lines = (0..<200).map { index in
            Lines.entry(reason: nil, detail: "\(index)", at: Timestamp(unixMilliseconds: Int64(index) * 1_000))
        }
        let found = explanation(lines.reversed() + (0..<100).map { _ in Lines.summary() })
        #expect(found.records.count == Explanation.maximumRecords && found.records.last?.detail == "199")
        #expect(found.possible.count == Explanation.maximumPossible)
    }

    @Test func `what somebody wrote into the file can't control a terminal, and doesn't break the JSON`() {
        let line =
            #"{"time":"2026-11-22T21:00:00.123Z","event":"upgrade","outcome":"refused","way":"app_attest","reason":"unknown_key","detail":"\u001b[2J\n","received":"\u202e","check":"\u0007","requestId":"91347244767f1a80","address":"x"}"#
        let found = explanation([Array(line.utf8)])
        let text = found.text.joined()
        #expect(!text.unicodeScalars.contains { $0.value < 0x20 || $0 == "\u{202E}" })
        #expect(found.text.contains { $0.contains("\\u{001B}[2J") })
        #expect(AuditRecord(Array(found.json.utf8)) == nil && !found.json.utf8.contains { $0 < 0x20 })
        let escaped = explanation([Lines.entry(detail: #"a \u{202E} b"#)])
        #expect(escaped.text.contains { $0.contains(#"a \u{202E} b"#) })
    }

    @Test func `every check has a title and something to do of its own`() {
        let checks = AdmissionCheck.allCases
        #expect(Set(checks.map(\.title)).count == checks.count)
        for check in checks {
            #expect(check.title != check.rawValue, "\(check)")
            #expect(check.advice != "See docs/PROTOCOL.md.", "\(check)")
        }
    }
}
