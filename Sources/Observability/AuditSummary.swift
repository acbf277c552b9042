/// Refusals of a minute that were counted instead of written individually, as the audit log records them.
package struct AuditSummary: Sendable, Equatable {
    /// One of the counted refusals.
    package struct Mark: Sendable, Equatable {
        package let time: Timestamp
        package let requestID: String

        package init(time: Timestamp, requestID: String) {
            self.time = time
            self.requestID = requestID
        }
    }

    package static let eventName = "refusals"
    /// In place of an address, for all addresses without a count of their own.
    package static let otherAddresses = "other addresses"

    package let time: Timestamp
    /// An event's name. Nil where several kinds were counted together.
    package let event: String?
    package let outcome: AuditEntry.Outcome
    package let reason: String?
    package let count: Int
    package let first: Mark
    package let last: Mark
    /// An IPv4 address, an IPv6 /64, or ``otherAddresses``.
    package let address: String

    package init(
        time: Timestamp, event: String?, outcome: AuditEntry.Outcome, reason: String?, count: Int,
        first: Mark, last: Mark, address: String
    ) {
        self.time = time
        self.event = event
        self.outcome = outcome
        self.reason = reason
        self.count = count
        self.first = first
        self.last = last
        self.address = address
    }

    /// The summary as one line of JSON, with its newline.
    package var line: String {
        var line = JSONLine()
        line.add("time", time.description)
        line.add("event", Self.eventName)
        if let event { line.add(LogKeys.of, event) }
        line.add(LogKeys.outcome, outcome.rawValue)
        if let reason { line.add(LogKeys.reason, reason) }
        line.add(LogKeys.count, String(count))
        line.add(LogKeys.firstTime, first.time.description)
        line.add(LogKeys.firstRequestID, first.requestID)
        line.add(LogKeys.lastTime, last.time.description)
        line.add(LogKeys.lastRequestID, last.requestID)
        line.add(LogKeys.address, address)
        return line.terminated()
    }
}

/// The line of the audit log which states that lines before it are missing.
struct AuditGap {
    let time: Timestamp
    let count: UInt64

    var line: String {
        var line = JSONLine()
        line.add("time", time.description)
        line.add("event", "gap")
        line.add(LogKeys.outcome, AuditEntry.Outcome.failed.rawValue)
        line.add(LogKeys.count, String(count))
        line.add(LogKeys.detail, "lines that could not be written")
        return line.terminated()
    }
}
