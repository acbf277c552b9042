import Admission
import Foundation
import Logging
import Observability
import Relay
import Settings
import SettingsTestKit
import Testing
import WireText

/// When counted refusals are written, and by which code.
@Suite struct RefusalJournalTests {
    private let bench: ConfigurationBench
    private let path: String
    private let linesPerMinute: Current<Int>
    private let journal: RefusalJournal
    private let start = MonotonicTime(nanoseconds: 1_000)

    init() throws {
        bench = try ConfigurationBench()
        path = try bench.file("audit.log", "")
        let logger = Logger(label: "journal") { _ in SwiftLogNoOpLogHandler() }
        let linesPerMinute = Current(300)
        self.linesPerMinute = linesPerMinute
        journal = RefusalJournal(
            audit: try AuditLog(path: path, logger: logger), metrics: GatewayMetrics(), logger: logger,
            linesPerMinute: linesPerMinute.now)
    }

    private var lines: [[String: String]] {
        get throws {
            try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map {
                try JSONDecoder().decode([String: String].self, from: Data($0.utf8))
            }
        }
    }

    private func refuse(_ count: Int, _ event: RefusedEvent, _ code: RefusalCode, from text: String = "192.0.2.1")
        throws
        -> Int
    {
        let prefix = try #require(IPAddress(text: text)).prefix
        return (0..<count).count { number in
            journal.isInFull(
                RefusalKind(prefix: prefix, event: event, code: code),
                RefusalMark(requestID: "\(number)", unixMilliseconds: Int64(number)), at: start)
        }
    }

    @Test func `due counts are written when their minute is over and not before`() throws {
        #expect(try refuse(12, .upgrade, .unknownKey, from: "2001:db8::1") == 10)
        journal.writeDue(at: start.advanced(by: .seconds(59)))
        #expect(try lines == [])
        journal.writeDue(at: start.advanced(by: .seconds(60)))
        var line = try #require(try lines.first)
        #expect(line.removeValue(forKey: "time") != nil)
        #expect(
            line == [
                "event": "refusals", "of": "upgrade", "outcome": "refused", "reason": "unknown_key", "count": "2",
                "firstTime": "1970-01-01T00:00:00.010Z", "firstRequestId": "10",
                "lastTime": "1970-01-01T00:00:00.011Z", "lastRequestId": "11", "address": "2001:db8::/64",
            ])
        journal.writeDue(at: start.advanced(by: .seconds(200)))
        #expect(try lines.count == 1)
    }

    @Test func `the next refusal writes the due counts`() throws {
        #expect(try refuse(11, .upgrade, .unknownKey) == 10)
        let prefix = try #require(IPAddress(text: "192.0.2.1")).prefix
        #expect(
            journal.isInFull(
                RefusalKind(prefix: prefix, event: .upgrade, code: .unknownKey),
                RefusalMark(requestID: "later", unixMilliseconds: 0), at: start.advanced(by: .seconds(60))))
        #expect(try lines.map { $0["count"] } == ["1"])
    }

    @Test func `at the end everything is written`() throws {
        #expect(try refuse(11, .upgrade, .storeUnavailable) == 10)
        journal.writeAll()
        let line = try #require(try lines.first)
        #expect(line["outcome"] == "failed" && line["address"] == "192.0.2.1")
        journal.writeAll()
        #expect(try lines.count == 1)
    }

    private func admit(_ count: Int, _ who: String, at time: MonotonicTime? = nil) throws -> Int {
        let address = try #require(IPAddress(text: "192.0.2.1"))
        let kind = AdmissionKind(.upgrade, .admitted, by: AppAttestMethod.name, who: who, from: address.prefix)
        return (0..<count).count { number in
            let mark = RefusalMark(requestID: "\(number)", unixMilliseconds: Int64(number))
            return journal.admissions.isInFull(kind, from: address, mark, at: time ?? start)
        }
    }

    @Test func `counts of admissions name the client, and are written when their minute is over or at the end`() throws
    {
        #expect(try admit(23, "alice") == 20)
        #expect(try admit(1, "bob") == 1)
        journal.writeDue(at: start.advanced(by: .seconds(59)))
        #expect(try lines == [])
        journal.writeDue(at: start.advanced(by: .seconds(60)))
        var line = try #require(try lines.first)
        #expect(line.removeValue(forKey: "time") != nil)
        #expect(
            line == [
                "event": "admissions", "of": "upgrade", "outcome": "admitted", "way": "app_attest", "who": "alice",
                "count": "3", "firstTime": "1970-01-01T00:00:00.020Z", "firstRequestId": "20",
                "lastTime": "1970-01-01T00:00:00.022Z", "lastRequestId": "22", "address": "all addresses",
            ])
        #expect(try admit(22, "alice") == 20)
        journal.writeAll()
        #expect(try lines.map { $0["count"] } == ["3", "2"])
        journal.writeAll()
        #expect(try lines.count == 2)
    }

    /// The attempt to write its line decides about the client (`AUDIT_FULL`).
    @Test func `no admission is only counted while the log can't be written`() throws {
        let logger = Logger(label: "journal") { _ in SwiftLogNoOpLogHandler() }
        let full = AuditLog(output: LineOutput(descriptor: -1), logger: logger)
        let journal = RefusalJournal(audit: full, metrics: GatewayMetrics(), logger: logger, linesPerMinute: 300)
        let address = try #require(IPAddress(text: "192.0.2.1"))
        let kind = AdmissionKind(.upgrade, .admitted, by: AppAttestMethod.name, who: "alice", from: address.prefix)
        func isInFull() -> Bool {
            journal.admissions.isInFull(
                kind, from: address, RefusalMark(requestID: "r", unixMilliseconds: 0), at: start)
        }
        for _ in 0..<20 { #expect(isInFull()) }
        #expect(!isInFull())
        full.record(
            AuditEntry(
                time: .now(), event: .upgrade, outcome: .admitted, method: "none", requestID: "r", address: "-"))
        #expect(!full.condition.isWritten && isInFull())
    }

    /// They have their own budget: a flood of them doesn't use up lines for the gate's decisions.
    @Test func `refused requests don't go into the audit log`() throws {
        linesPerMinute.replace(with: 20)
        #expect(try refuse(500, .request, .notFound) == 10)
        #expect(try refuse(500, .request, .rateLimited) == 0)
        #expect(try refuse(10, .upgrade, .unknownKey) == 10)
        journal.writeAll()
        #expect(try lines == [])
    }
}
