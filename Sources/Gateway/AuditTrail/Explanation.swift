package import Observability
import WireText

/// Everything that an audit log says about one request. Lines are added in any order of files; memory is bounded.
package struct Explanation: Sendable {
    /// Lines with one request id: a decision, its correction, the end of the session.
    package static let maximumRecords = 64
    /// Counts that may include the request.
    package static let maximumPossible = 16

    package let requestID: String
    /// When the client was refused, as far as it is known.
    package let time: Timestamp?
    /// Of this request, the oldest first.
    package private(set) var records: [AuditRecord] = []
    /// Counts whose first or last event is this request.
    package private(set) var counts: [AuditRecord] = []
    /// Counts that may include it: those of `time`, or without that the latest ones.
    package private(set) var possible: [AuditRecord] = []
    /// Lines that are none of the audit log.
    package var malformed = 0

    package init(of requestID: String, at time: Timestamp? = nil) {
        (self.requestID, self.time) = (requestID, time)
    }

    package mutating func add(_ line: [UInt8]) {
        guard let record = AuditRecord(line) else {
            malformed += 1
            return
        }
        add(record)
    }

    package mutating func add(_ record: AuditRecord) {
        if record.requestID?.hasSameBytes(as: requestID) == true {
            return Self.insert(record, into: &records, Self.maximumRecords)
        }
        guard let summary = record.summary else { return }
        if summary.ids.containsBytes(of: requestID) { return Self.insert(record, into: &counts, Self.maximumPossible) }
        if time.map(summary.spans) ?? true { Self.insert(record, into: &possible, Self.maximumPossible) }
    }

    /// Keeps the latest ones, sorted by time.
    private static func insert(_ record: AuditRecord, into records: inout [AuditRecord], _ maximum: Int) {
        let time = record.time.unixMilliseconds
        let place = records.lastIndex { $0.time.unixMilliseconds <= time }.map { $0 + 1 } ?? 0
        records.insert(record, at: place)
        if records.count > maximum { records.removeFirst() }
    }

    /// Whether the log names the request.
    package var isFound: Bool { !records.isEmpty || !counts.isEmpty }
}
