import AuditTrail
import Foundation
import Observability
import Testing

@testable import OperatorTools

/// The files of an audit log, and what is read from them.
struct AuditLogFilesTests {
    private let folder: URL
    private var path: String { folder.appendingPathComponent("audit.log").path }

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("audit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private func write(_ name: String, _ bytes: [UInt8] = []) throws {
        try Data(bytes).write(to: folder.appendingPathComponent(name))
    }

    private func line(_ id: String) -> [UInt8] {
        Array(
            AuditEntry(
                time: Timestamp(unixMilliseconds: 0), event: .upgrade, outcome: .admitted, method: "ticket",
                requestID: id, address: "192.0.2.1"
            ).line.utf8)
    }

    private func ids(_ files: AuditLogFiles) -> (ids: [String], reading: AuditReading) {
        var ids: [String] = []
        var reading = AuditReading()
        reading.read(files) { ids.append($0.requestID ?? "") }
        return (ids, reading)
    }

    @Test func `rotated files are found by their names, the oldest first`() throws {
        for name in [
            "audit.log", "audit.log.1", "audit.log.2.gz", "audit.log.10.gz", "audit.log-20261120.gz",
            "audit.log-20261121-1795381200", "audit.log.3.zst", "audit.log-20261119.xz",
            // None of them.
            "audit.log.old", "audit.log.sqlite", "audit.logs", "audit.log.", "audit.log-", "other.log.1",
            "audit.log.1x",
        ] { try write(name) }
        let files = AuditLogFiles(of: path)
        func names(_ paths: [String]) -> [String] { paths.map { URL(fileURLWithPath: $0).lastPathComponent } }
        #expect(
            names(files.paths) == [
                "audit.log-20261120.gz", "audit.log-20261121-1795381200", "audit.log.10.gz", "audit.log.2.gz",
                "audit.log.1", "audit.log",
            ])
        #expect(names(files.unsupported) == ["audit.log-20261119.xz", "audit.log.3.zst"])
        #expect(ids(files).reading.problems.count == 2)
    }

    @Test func `what is no regular file is left out unless it is named`() throws {
        try write("other.log", line("other"))
        let link = folder.appendingPathComponent("audit.log.1").path
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "other.log")
        let pipe = folder.appendingPathComponent("audit.log.2").path
        #expect(mkfifo(pipe, 0o600) == 0)
        try FileManager.default.createDirectory(
            at: folder.appendingPathComponent("audit.log.3"), withIntermediateDirectories: false)
        try write("audit.log.4", line("old"))
        try write("audit.log", line("new"))
        let found = AuditLogFiles(of: path)
        #expect(found.unsupported.map { String($0.last ?? "?") } == ["3", "2", "1"])
        let read = ids(found)
        #expect(read.ids == ["old", "new"] && read.reading.problems.count == 3)
        // A writer of the pipe, whose end is the end of the "file".
        let end = open(pipe, O_RDWR)
        let bytes = line("piped")
        #expect(Glibc.write(end, bytes, bytes.count) == bytes.count)
        let reader = try AuditFile(path: pipe)
        close(end)
        var piped: [UInt8] = []
        try reader.read { piped += $0 }
        #expect(piped == bytes)
        #expect(ids(AuditLogFiles(paths: [link])).ids == ["other"])
    }

    @Test func `the current file may be a link, and no pipe`() throws {
        try write("other.log", line("other"))
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "other.log")
        #expect(ids(AuditLogFiles(of: path)).ids == ["other"])
        try FileManager.default.removeItem(atPath: path)
        #expect(mkfifo(path, 0o600) == 0)
        let files = AuditLogFiles(of: path)
        #expect(files.paths.isEmpty && files.unsupported == [path])
    }

    @Test func `between two files of a rotation nothing is missing`() throws {
        try write("audit.log.1", line("old"))
        #expect(AuditLogFiles(of: path).paths.count == 1)
        #expect(ids(AuditLogFiles(of: path)).ids == ["old"])
        #expect(AuditLogFiles(of: folder.appendingPathComponent("none.log").path).paths.isEmpty)
    }

    /// `gzip` of Debian made them: one file, two that were joined, and one that is cut.
    @Test func `a packed file is read as it was`() throws {
        let lines = (0..<5_000).map { "line\($0)" }
        try write("plain", lines.flatMap(line))
        try gzip("plain", to: "audit.log.2.gz")
        try write("plain", line("second"))
        try gzip("plain", to: "audit.log.1.gz")
        var read = ids(AuditLogFiles(of: path))
        #expect(read.ids == lines + ["second"] && read.reading.problems.isEmpty && read.reading.malformed == 0)

        let first = [UInt8](try Data(contentsOf: folder.appendingPathComponent("audit.log.2.gz")))
        let second = [UInt8](try Data(contentsOf: folder.appendingPathComponent("audit.log.1.gz")))
        try write("audit.log.2.gz", first + second)
        try write("audit.log.1.gz", Array(second.dropLast(4)))
        read = ids(AuditLogFiles(of: path))
        #expect(read.ids == lines + ["second", "second"])
        #expect(read.reading.problems.count == 1 && read.reading.problems[0].contains("cut off"))
    }

    private func gzip(_ name: String, to packed: String) throws {
        let stream = try #require(popen("gzip -c '\(folder.appendingPathComponent(name).path)'", "r"))
        defer { pclose(stream) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while case let count = fread(&buffer, 1, buffer.count, stream), count > 0 { bytes += buffer.prefix(count) }
        try write(packed, bytes)
    }

    @Test func `lines of something else are counted and left out`() throws {
        try write(
            "audit.log", line("one") + Array("no line\n{}\n".utf8) + line("two") + Array(line("torn").dropLast(9)))
        let read = ids(AuditLogFiles(of: path))
        #expect(read.ids == ["one", "two"] && read.reading.malformed == 3)
        let missing = ids(AuditLogFiles(paths: [path + ".none"]))
        #expect(missing.ids.isEmpty && missing.reading.problems.count == 1)
    }

    // MARK: Following

    private func append(_ id: String, to name: String = "audit.log") throws {
        let handle = try FileHandle(forWritingTo: folder.appendingPathComponent(name))
        defer { try? handle.close() }
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(line(id)))
    }

    private func poll(_ follower: AuditFollower) -> [String] {
        var ids: [String] = []
        follower.poll { ids.append(AuditRecord($0)?.requestID ?? "malformed") }
        return ids
    }

    @Test func `what is appended is followed from the end of the file, or from its start`() throws {
        try write("audit.log", line("old"))
        let (follower, whole) = (AuditFollower(path: path), AuditFollower(path: path, fromStart: true))
        #expect(poll(follower).isEmpty && poll(whole) == ["old"])
        try append("one")
        try append("two")
        #expect(poll(follower) == ["one", "two"] && poll(whole) == ["one", "two"])
        let handle = try FileHandle(forWritingTo: folder.appendingPathComponent("audit.log"))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(line("three").prefix(20)))
        #expect(poll(follower).isEmpty)
        try handle.write(contentsOf: Data(line("three").dropFirst(20)))
        #expect(poll(follower) == ["three"])
    }

    @Test func `a rotation by renaming loses no line, although the gateway reopens its log later`() throws {
        try write("audit.log", line("old"))
        let follower = AuditFollower(path: path)
        try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
        try append("one", to: "audit.log.1")
        #expect(poll(follower) == ["one"])
        try write("audit.log")
        try append("two", to: "audit.log.1")
        #expect(poll(follower) == ["two"])
        try append("three", to: "audit.log.1")
        try append("four")
        #expect(poll(follower) == ["three", "four"])
        try append("five")
        #expect(poll(follower) == ["five"])
    }

    @Test func `a rotation by copying and truncating is noticed`() throws {
        try write("audit.log", line("old") + line("older"))
        let follower = AuditFollower(path: path)
        try append("one")
        #expect(poll(follower) == ["one"])
        let handle = try FileHandle(forWritingTo: folder.appendingPathComponent("audit.log"))
        try handle.truncate(atOffset: 0)
        try append("two")
        #expect(poll(follower) == ["two"])
    }

    @Test func `a log that doesn't exist yet is followed from its start`() throws {
        let follower = AuditFollower(path: path)
        #expect(poll(follower).isEmpty)
        try write("audit.log", line("first"))
        #expect(poll(follower) == ["first"])
    }
}
