import WireText

extension Explanation {
    /// For tools: one JSON object.
    package var json: String {
        var writer = JSONWriter()
        writer.member("requestId", requestID)
        writer.member("found", isFound)
        writer.member("records", json: records.map(Self.json))
        writer.member("counts", json: counts.map(\.object))
        if !isFound { writer.member("possibleCounts", json: possible.map(\.object)) }
        writer.member("malformedLines", Int64(malformed))
        return String(decoding: writer.object, as: UTF8.self).shownJSON
    }

    private static func json(of record: AuditRecord) -> [UInt8] {
        var writer = JSONWriter()
        writer.member("line", json: record.object)
        writer.member("checks", json: record.checks.map(json))
        return writer.object
    }

    private static func json(of check: CheckResult) -> [UInt8] {
        var writer = JSONWriter()
        writer.member("check", check.name)
        writer.member("title", check.title)
        writer.member("result", check.result == .notReached ? "not_reached" : check.result.rawValue)
        if let expected = check.expected { writer.member("expected", expected) }
        if let received = check.received { writer.member("received", received) }
        if let advice = check.advice { writer.member("advice", advice) }
        return writer.object
    }
}
