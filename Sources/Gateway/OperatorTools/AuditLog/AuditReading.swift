package import AuditTrail
import Observability

/// Reads the files of an audit log one after the other, the oldest first.
package struct AuditReading: Sendable {
    /// Lines that are none of the audit log.
    package private(set) var malformed = 0
    /// Files that couldn't be read, or not to their end.
    package private(set) var problems: [String] = []

    package init() {}

    package mutating func read(_ files: AuditLogFiles, _ body: (AuditRecord) -> Void) {
        for path in files.paths { read(path, body) }
        problems += files.unsupported.map {
            "\(EscapedText($0)) is left out: only regular files, plain or packed with gzip, are read, \(AuditLogFiles.maximumFiles) at most;"
                + " unpack it and name it with --file, or `-` for standard input"
        }
    }

    private mutating func read(_ path: String, _ body: (AuditRecord) -> Void) {
        var lines = LineSplitter()
        var strange = 0
        func take(_ line: [UInt8]) {
            guard let record = AuditRecord(line) else {
                strange += 1
                return
            }
            body(record)
        }
        do throws(AuditFileError) {
            try AuditFile(path: path).read { lines.add($0, take) }
        } catch { problems.append("\(error)") }
        lines.finish(take)
        malformed += strange + lines.skipped
    }
}
