package import Observability
import StrictJSON
import WireText

/// One line of the audit log, of this version or an earlier one. Its texts aren't trusted: whoever could write the file
/// could write anything.
package struct AuditRecord: Sendable {
    /// Members of a line, whose values are texts.
    private static let names = [
        "time", "event", LogKeys.outcome, LogKeys.admission, LogKeys.client, LogKeys.reason, LogKeys.detail,
        LogKeys.check, LogKeys.expected, LogKeys.received, LogKeys.requestID, LogKeys.address, LogKeys.of,
        LogKeys.count, LogKeys.firstTime, LogKeys.firstRequestID, LogKeys.lastTime, LogKeys.lastRequestID,
    ].map { ByteText($0) }

    package let time: Timestamp
    package let event: String
    private let members: [ByteText: ByteText]
    /// As it was read.
    package let line: [UInt8]

    /// - Returns: nil for what isn't a line of the audit log. Members of later versions are ignored.
    package init?(_ line: [UInt8]) {
        guard let object = try? JSONReader.readObject(line, within: .auditLine) else {
            return nil
        }
        var members: [ByteText: ByteText] = [:]
        for member in object.members where Self.names.contains(ByteText(member.name)) {
            guard let text = member.value.string else { return nil }
            members[ByteText(member.name)] = ByteText(text)
        }
        guard let time = members["time"].flatMap({ Timestamp($0.text) }), let event = members["event"]?.text else {
            return nil
        }
        (self.time, self.event, self.members, self.line) = (time, event, members, line)
    }

    package subscript(name: String) -> String? { members[ByteText(name)]?.text }

    package var outcome: String? { self[LogKeys.outcome] }
    package var method: String? { self[LogKeys.admission] }
    package var who: String? { self[LogKeys.client] }
    package var reason: String? { self[LogKeys.reason] }
    package var detail: String? { self[LogKeys.detail] }
    package var requestID: String? { self[LogKeys.requestID] }
    package var address: String? { self[LogKeys.address] }

    /// A line that counts refusals or admissions instead of naming them.
    package var summary: Summary? {
        guard isSummary, let count = self[LogKeys.count].flatMap(Int.init), count > 0,
            let first = self[LogKeys.firstTime].flatMap(Timestamp.init),
            let last = self[LogKeys.lastTime].flatMap(Timestamp.init)
        else { return nil }
        return Summary(
            count: count, first: first, last: last,
            ids: [self[LogKeys.firstRequestID], self[LogKeys.lastRequestID]].compactMap(\.self))
    }

    private var isSummary: Bool { [AuditSummary.eventName, AuditSummary.admissionsName].containsBytes(of: event) }

    package struct Summary: Sendable {
        package let count: Int
        package let first, last: Timestamp
        /// Of the first and of the last.
        package let ids: [String]

        package func spans(_ time: Timestamp) -> Bool {
            (first.unixMilliseconds...max(first.unixMilliseconds, last.unixMilliseconds))
                .contains(time.unixMilliseconds)
        }
    }
}

extension AuditRecord {
    /// The line as it was read, but safe on a terminal.
    package var json: String { String(decoding: line, as: UTF8.self).shownJSON }

    /// Its known members as one JSON object: what else somebody wrote into the file isn't passed on.
    package var object: [UInt8] {
        var writer = JSONWriter()
        for name in members.keys.sorted() { writer.member(name.text, members[name]?.text ?? "") }
        return writer.object
    }
}

extension JSONBounds {
    /// Of a line, whose members are texts.
    fileprivate static let auditLine = JSONBounds(
        maximumBytes: LineSplitter.maximumLineBytes, maximumDepth: 8, maximumValues: 128, maximumNumberBytes: 32)
}
