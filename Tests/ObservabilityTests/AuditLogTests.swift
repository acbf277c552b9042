import Foundation
import Glibc
import Logging
import Observability
import Testing

@Suite struct AuditLogTests {
    private func entry(_ detail: String? = nil) -> AuditEntry {
        AuditEntry(
            time: Timestamp(unixMilliseconds: 1_782_896_703_042), event: .upgrade, outcome: .refused,
            method: "app_attest",
            who: "a2V5", reason: "unknown_key", detail: detail, requestID: "r-1", address: "192.0.2.1")
    }

    private func logger(_ probe: OutputProbe) -> Logger {
        Logger(label: "audit") { JSONLogHandler(label: $0, level: .info, output: probe.output) }
    }

    @Test func `an entry is one line of JSON with all its fields`() throws {
        let probe = try OutputProbe()
        AuditLog(output: probe.output, logger: logger(probe)).record(entry("no such key"))
        #expect(
            try probe.onlyObject() == [
                "time": "2026-07-01T09:05:03.042Z", "event": "upgrade", "outcome": "refused", "way": "app_attest",
                "who": "a2V5", "reason": "unknown_key", "detail": "no such key", "requestId": "r-1",
                "address": "192.0.2.1",
            ])
    }

    @Test func `absent fields are omitted`() {
        let entry = AuditEntry(
            time: Timestamp(unixMilliseconds: 0), event: .registration, outcome: .admitted, method: "app_attest",
            requestID: "r", address: "::1")
        #expect(
            entry.line == """
                {"time":"1970-01-01T00:00:00.000Z","event":"registration","outcome":"admitted","way":"app_attest",\
                "requestId":"r","address":"::1"}

                """)
    }

    @Test func `hostile text stays inside its line`() throws {
        var hostile = entry(hostileText)
        hostile.who = hostileText
        hostile.requestID = hostileText
        hostile.address = String(repeating: hostileText, count: 10_000)
        #expect(holdsNothingForbidden(hostile.line.filter { $0 != "\n" }))
        #expect(hostile.line.filter { $0 == "\n" }.count == 1)
        #expect(hostile.line.utf8.count < 16_384)
        let object = try JSONDecoder().decode([String: String].self, from: Data(hostile.line.utf8))
        #expect(object["who"] == hostileText)
        #expect(object["outcome"] == "refused")
    }

    @Test func `the file is readable by its owner only and only appended to`() throws {
        let probe = try OutputProbe()
        let path = probe.folder + "/audit.log"
        try AuditLog(path: path, logger: logger(probe)).record(entry())
        try AuditLog(path: path, logger: logger(probe)).record(entry())
        var status = stat()
        #expect(stat(path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == entry().line + entry().line)
    }

    @Test func `after rotation the log continues in a new file`() throws {
        let probe = try OutputProbe()
        let path = probe.folder + "/audit.log"
        let log = try AuditLog(path: path, logger: logger(probe))
        log.record(entry("before"))
        try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
        log.record(entry("still before"))
        try log.reopen()
        log.record(entry("after"))
        #expect(
            try String(contentsOfFile: path + ".1", encoding: .utf8) == entry("before").line
                + entry("still before").line)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == entry("after").line)
    }

    @Test func `if the new file can't be opened the old one stays in use`() throws {
        let probe = try OutputProbe()
        let path = probe.folder + "/audit.log"
        let log = try AuditLog(path: path, logger: logger(probe))
        try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(throws: LineOutputError(path: path, errorNumber: EISDIR)) { try log.reopen() }
        log.record(entry())
        #expect(try String(contentsOfFile: path + ".1", encoding: .utf8) == entry().line)
    }

    @Test func `an unusable path is an error with its reason`() throws {
        let probe = try OutputProbe()
        #expect(throws: LineOutputError(path: "/nonexistent/audit.log", errorNumber: ENOENT)) {
            try AuditLog(path: "/nonexistent/audit.log", logger: logger(probe))
        }
    }

    @Test func `a failure to write is counted and logged once`() throws {
        let probe = try OutputProbe()
        let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
        defer { close(full) }
        let log = AuditLog(output: LineOutput(descriptor: full), logger: logger(probe))
        for _ in 0..<5 { #expect(!log.record(entry())) }
        #expect(log.condition.lost == 5 && !log.condition.isWritten)
        log.retry(at: Timestamp(unixMilliseconds: 0))
        #expect(log.condition.lost == 5 && log.condition.pending == 5)
        #expect(try probe.onlyObject()?["error"] == "errno \(ENOSPC)")
    }

    /// A pipe that is set not to block, and full until it is read.
    private final class Pipe {
        private var ends: [CInt] = [0, 0]
        var output: LineOutput { LineOutput(descriptor: ends[1]) }

        init() {
            #expect(pipe(&ends) == 0)
            for end in ends { #expect(fcntl(end, F_SETFL, O_NONBLOCK) == 0) }
        }

        deinit { for end in ends { close(end) } }

        func fill() {
            let zeros = [UInt8](repeating: 0, count: 65_536)
            for size in [65_536, 1] { while write(ends[1], zeros, size) > 0 {} }
        }

        func readAll() -> String {
            var (text, buffer) = ("", [UInt8](repeating: 0, count: 65_536))
            while case let count = read(ends[0], &buffer, buffer.count), count > 0 {
                text += String(decoding: buffer.prefix(count), as: UTF8.self)
            }
            return text
        }
    }

    @Test func `when writing works again the log records what is missing`() throws {
        let (probe, pipe) = (try OutputProbe(), Pipe())
        let log = AuditLog(output: pipe.output, logger: logger(probe))
        #expect(log.record(entry()) && log.condition.isWritten && log.condition.lost == 0)
        pipe.fill()
        #expect(!log.record(entry("lost")) && !log.record(entry("lost too")))
        _ = pipe.readAll()
        #expect(log.record(entry("after")))
        let gap = #"""
            {"time":"2026-07-01T09:05:03.042Z","event":"gap","outcome":"failed","count":"2",\#
            "detail":"lines that could not be written"}

            """#
        #expect(pipe.readAll() == gap + entry("after").line)
        #expect(log.condition.isWritten && log.condition.lost == 2)
        #expect(log.record(entry()))
        #expect(pipe.readAll() == entry().line, "it says so once")
        #expect(probe.lines.count == 3 && probe.lines[1].contains(#""count":"2""#), "\(probe.lines)")
    }

    @Test func `a retry writes the gap, and nothing if there is none`() throws {
        let (probe, pipe) = (try OutputProbe(), Pipe())
        let log = AuditLog(output: pipe.output, logger: logger(probe))
        log.retry(at: Timestamp(unixMilliseconds: 0))
        #expect(pipe.readAll() == "")
        pipe.fill()
        #expect(!log.record(entry()))
        _ = pipe.readAll()
        log.retry(at: Timestamp(unixMilliseconds: 0))
        #expect(pipe.readAll().contains(#""event":"gap","outcome":"failed","count":"1""#))
        #expect(log.condition.isWritten && log.condition.lost == 1)
    }

    @Test func `a summary is one line of JSON`() throws {
        let (probe, pipe) = (try OutputProbe(), Pipe())
        let mark = AuditSummary.Mark(time: Timestamp(unixMilliseconds: 1_782_896_703_042), requestID: "r\"1")
        let log = AuditLog(output: pipe.output, logger: logger(probe))
        log.record(
            AuditSummary(
                time: Timestamp(unixMilliseconds: 0), event: "upgrade", outcome: .refused, reason: "app_auth_required",
                count: 17, first: mark, last: mark, address: "2001:db8::/64"))
        log.record(
            AuditSummary(
                time: Timestamp(unixMilliseconds: 0), event: nil, outcome: .refused, reason: nil, count: .max,
                first: mark, last: mark, address: AuditSummary.otherAddresses))
        let lines = pipe.readAll().split(separator: "\n").map { Data($0.utf8) }
        #expect(lines.count == 2)
        #expect(
            try JSONDecoder().decode([String: String].self, from: lines[0]) == [
                "time": "1970-01-01T00:00:00.000Z", "event": "refusals", "of": "upgrade", "outcome": "refused",
                "reason": "app_auth_required", "count": "17", "firstTime": "2026-07-01T09:05:03.042Z",
                "firstRequestId": "r\"1", "lastTime": "2026-07-01T09:05:03.042Z", "lastRequestId": "r\"1",
                "address": "2001:db8::/64",
            ])
        let others = try JSONDecoder().decode([String: String].self, from: lines[1])
        #expect(others["of"] == nil && others["reason"] == nil && others["address"] == "other addresses")
        #expect(others["count"] == "9223372036854775807")
    }

    /// What docs/LIMITS.md reckons with for each line that a stranger can cause.
    @Test func `the line of a refusal has at most 2176 bytes`() throws {
        let longest = String(repeating: "\u{E0041}", count: 5_000)
        var entry = AuditEntry(
            time: Timestamp(unixMilliseconds: 1_782_896_703_042), event: .registration, outcome: .refused,
            method: "debug_certificate", reason: String(repeating: "r", count: 64), detail: longest,
            requestID: String(repeating: "f", count: 16), address: String(repeating: "f", count: 39))
        (entry.check, entry.expected, entry.received) = (String(repeating: "c", count: 32), longest, longest)
        #expect(entry.line.utf8.count > 1_536 && entry.line.utf8.count <= 2_176)
        let mark = AuditSummary.Mark(
            time: Timestamp(unixMilliseconds: 0), requestID: String(repeating: "f", count: 16))
        let summary = AuditSummary(
            time: Timestamp(unixMilliseconds: 0), event: "registration", outcome: .refused,
            reason: String(repeating: "r", count: 64), count: .max, first: mark, last: mark,
            address: String(repeating: "f", count: 43))
        #expect(summary.line.utf8.count <= 2_176)
    }

    @Test func `the line after an incomplete one starts on a new line`() throws {
        // A pipe that is set not to block: a line beyond its capacity breaks off in the middle.
        var ends: [CInt] = [0, 0]
        #expect(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        #expect(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0)
        let output = LineOutput(descriptor: ends[1])
        #expect(output.write(String(repeating: "x", count: 4_000_000) + "\n") == EAGAIN)
        var buffer = [UInt8](repeating: 0, count: 4_000_000)
        #expect(read(ends[0], &buffer, buffer.count) > 0)
        #expect(output.write("whole\n") == nil)
        #expect(read(ends[0], &buffer, buffer.count) == 7)
        #expect(String(decoding: buffer.prefix(7), as: UTF8.self) == "\nwhole\n")
        #expect(output.write("next\n") == nil)
        #expect(read(ends[0], &buffer, buffer.count) == 5)
    }
}
