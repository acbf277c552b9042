import Observability

@testable import AuditTrail

/// Lines as the gateway writes them.
enum Lines {
    static let id = "91347244767f1a80"
    static let time = Timestamp(unixMilliseconds: 1_795_381_200_123)

    static func entry(
        _ event: AuditEntry.Event = .upgrade, _ outcome: AuditEntry.Outcome = .refused, id: String = Lines.id,
        way: String = "app_attest", reason: String? = "assertion_rejected", detail: String? = nil,
        at time: Timestamp = time,
        _ change: (inout AuditEntry) -> Void = { _ in }
    ) -> [UInt8] {
        var entry = AuditEntry(
            time: time, event: event, outcome: outcome, method: way, reason: reason, detail: detail, requestID: id,
            address: "203.0.113.9")
        change(&entry)
        return bytes(entry.line)
    }

    static func summary(
        count: Int = 12, first: String = "aaaaaaaaaaaaaaaa", last: String = "bbbbbbbbbbbbbbbb", from: Int64 = 0,
        to: Int64 = 50_000, address: String = "203.0.113.9"
    ) -> [UInt8] {
        func mark(_ offset: Int64, _ id: String) -> AuditSummary.Mark {
            AuditSummary.Mark(time: Timestamp(unixMilliseconds: time.unixMilliseconds + offset), requestID: id)
        }
        return bytes(
            AuditSummary(
                time: Timestamp(unixMilliseconds: time.unixMilliseconds + 60_000), event: "upgrade", outcome: .refused,
                reason: "app_auth_required", count: count, first: mark(from, first), last: mark(to, last),
                address: address
            ).line)
    }

    static func bytes(_ line: String) -> [UInt8] { Array(line.utf8.dropLast()) }
}
