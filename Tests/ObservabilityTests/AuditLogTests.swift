import Foundation
import Glibc
import Logging
import Observability
import Testing

@Suite struct AuditLogTests {
    private func entry(_ detail: String? = nil) -> AuditEntry {
        AuditEntry(
            time: Timestamp(unixMilliseconds: 1_782_896_703_042), event: .upgrade, outcome: .refused, way: .appAttest,
            who: "a2V5", reason: "unknown_key", detail: detail, requestID: "r-1", address: "192.0.2.1")
    }

    private func logger(_ probe: OutputProbe) -> Logger {
        Logger(label: "audit") { JSONLogHandler(label: $0, level: .info, output: probe.output) }
    }

    @Test func anEntryIsOneLineOfJSONWithAllItsFields() throws {
        let probe = try OutputProbe()
        AuditLog(output: probe.output, logger: logger(probe)).record(entry("no such key"))
        #expect(
            try probe.onlyObject() == [
                "time": "2026-07-01T09:05:03.042Z", "event": "upgrade", "outcome": "refused", "way": "app_attest",
                "who": "a2V5", "reason": "unknown_key", "detail": "no such key", "requestId": "r-1",
                "address": "192.0.2.1",
            ])
    }

    @Test func absentFieldsAreLeftOut() {
        let entry = AuditEntry(
            time: Timestamp(unixMilliseconds: 0), event: .registration, outcome: .admitted, way: .appAttest,
            requestID: "r", address: "::1")
        #expect(
            entry.line == """
                {"time":"1970-01-01T00:00:00.000Z","event":"registration","outcome":"admitted","way":"app_attest",\
                "requestId":"r","address":"::1"}

                """)
    }

    @Test func hostileTextStaysInsideItsLine() throws {
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

    @Test func aFileIsCreatedForItsOwnerAloneAndIsOnlyAppendedTo() throws {
        let probe = try OutputProbe()
        let path = probe.folder + "/audit.log"
        try AuditLog(path: path, logger: logger(probe)).record(entry())
        try AuditLog(path: path, logger: logger(probe)).record(entry())
        var status = stat()
        #expect(stat(path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == entry().line + entry().line)
    }

    @Test func rotationGoesOnInANewFile() throws {
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

    @Test func whenTheNewFileCannotBeOpenedTheOldOneStaysInUse() throws {
        let probe = try OutputProbe()
        let path = probe.folder + "/audit.log"
        let log = try AuditLog(path: path, logger: logger(probe))
        try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(throws: LineOutputError(path: path, errorNumber: EISDIR)) { try log.reopen() }
        log.record(entry())
        #expect(try String(contentsOfFile: path + ".1", encoding: .utf8) == entry().line)
    }

    @Test func anUnusablePathIsAnErrorWithItsReason() throws {
        let probe = try OutputProbe()
        #expect(throws: LineOutputError(path: "/nonexistent/audit.log", errorNumber: ENOENT)) {
            try AuditLog(path: "/nonexistent/audit.log", logger: logger(probe))
        }
    }

    @Test func aFailureToWriteIsCountedAndLoggedOnce() throws {
        let probe = try OutputProbe()
        let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
        defer { close(full) }
        let log = AuditLog(output: LineOutput(descriptor: full), logger: logger(probe))
        for _ in 0..<5 { log.record(entry()) }
        #expect(log.failures == 5)
        #expect(try probe.onlyObject()?["error"] == "errno \(ENOSPC)")
    }

    @Test func theLineAfterATornOneStartsAFreshLine() throws {
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
