import Observability
import Testing
import WireText

@testable import AuditTrail

struct AuditFilterTests {
    private func matches(_ line: [UInt8], _ change: (inout AuditFilter) -> Void) throws -> Bool {
        var filter = AuditFilter()
        change(&filter)
        return filter.matches(try #require(AuditRecord(line)))
    }

    @Test func `each condition that is set must hold`() throws {
        let line = Lines.entry(reason: "unknown_key") { $0.who = "me" }
        #expect(try matches(line) { _ in })
        let conditions: [(good: (inout AuditFilter) -> Void, bad: (inout AuditFilter) -> Void)] = [
            ({ $0.events = ["upgrade", "session"] }, { $0.events = ["session"] }),
            ({ $0.outcomes = ["refused"] }, { $0.outcomes = ["admitted"] }),
            ({ $0.methods = ["app_attest"] }, { $0.methods = ["ticket"] }),
            ({ $0.reasons = ["unknown_key", "key_revoked"] }, { $0.reasons = ["key_revoked"] }),
            ({ $0.who = ["me"] }, { $0.who = ["you"] }),
            (
                { $0.addresses = [AddressRange("203.0.113.0/24")].compactMap(\.self) },
                { $0.addresses = [AddressRange("2001:db8::/32")].compactMap(\.self) }
            ),
            ({ $0.since = Lines.time }, { $0.until = Lines.time }),
        ]
        for (good, bad) in conditions {
            #expect(try matches(line, good))
            #expect(try !matches(line, bad))
            for (other, _) in conditions {
                #expect(
                    try matches(line) {
                        good(&$0)
                        other(&$0)
                    })
            }
        }
        let later = Timestamp(unixMilliseconds: Lines.time.unixMilliseconds + 1)
        #expect(try !matches(line) { $0.since = later })
        #expect(try matches(line) { $0.until = later })
    }

    @Test func `a line without the member doesn't match`() throws {
        #expect(try !matches(Lines.entry(.upgrade, .admitted, reason: nil)) { $0.reasons = ["unknown_key"] })
        #expect(try !matches(Lines.entry()) { $0.who = ["me"] })
    }

    @Test func `a count is found by what it counts and by its network`() throws {
        let line = Lines.summary(address: "2001:db8:1:2::/64")
        for event: ByteText in ["refusals", "upgrade"] { #expect(try matches(line) { $0.events = [event] }) }
        #expect(try !matches(line) { $0.events = ["session"] })
        #expect(try matches(line) { $0.addresses = [AddressRange("2001:db8::/32")].compactMap(\.self) })
        let others = Lines.summary(address: AuditSummary.otherAddresses)
        #expect(try !matches(others) { $0.addresses = [AddressRange("0.0.0.0/0")].compactMap(\.self) })
    }

    @Test func `counts are the largest first, and a line that counts counts as many`() throws {
        var tally = AuditTally(by: [.reason, .outcome])
        for line in [
            Lines.entry(), Lines.entry(), Lines.summary(count: 40), Lines.entry(.upgrade, .admitted, reason: nil),
        ] {
            tally.add(try #require(AuditRecord(line)))
        }
        #expect(tally.rows.map(\.count) == [40, 2, 1])
        #expect(
            tally.rows.map(\.values) == [
                ["app_auth_required", "refused"], ["assertion_rejected", "refused"], ["-", "admitted"],
            ])
        #expect(
            tally.text == [
                "count  reason              outcome", "40     app_auth_required   refused",
                "2      assertion_rejected  refused", "1      -                   admitted",
            ])
        #expect(tally.jsonLines[0] == #"{"reason":"app_auth_required","outcome":"refused","count":40}"#)
    }

    @Test func `days, hours and events are counted`() throws {
        var tally = AuditTally(by: [.day, .hour, .event])
        tally.add(try #require(AuditRecord(Lines.summary())))
        #expect(tally.rows.first?.values == ["2026-11-22", "2026-11-22T21Z", "upgrade"])
    }

    @Test func `above the limit of groups the rest is counted together`() throws {
        var tally = AuditTally(by: [.address])
        for index in 0...AuditTally.maximumGroups {
            tally.add(try #require(AuditRecord(Lines.entry { $0.address = "\(index)" })))
        }
        #expect(tally.rows.count == AuditTally.maximumGroups + 1)
        #expect(tally.rows.last?.values == ["(others)"] && tally.rows.last?.count == 1)
    }

    @Test func `a readable line is one line with everything in it`() throws {
        let record = try #require(AuditRecord(Lines.entry(detail: "why\nnot") { $0.who = "me" }))
        for part in ["2026-11-22T21:00:00.123Z", "refused", "app_attest", "203.0.113.9", Lines.id, "me", "why\\nnot"] {
            #expect(record.readable.contains(part), "\(part)")
        }
        #expect(!record.readable.contains("\n"))
        let count = try #require(AuditRecord(Lines.summary()))
        #expect(count.readable.contains("refusals upgrade") && count.readable.contains("12 times"))
    }
}
