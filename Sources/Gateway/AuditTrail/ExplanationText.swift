import Admission
import Observability
import WireText

extension Explanation {
    /// For people: what happened to the request, check by check.
    package var text: [String] {
        let blocks = records.map(Self.text) + (counts.isEmpty ? [] : [counted])
        return Array(blocks.joined(separator: [""]))
    }

    /// For a request that no line names: what that can mean, and what to do.
    package var notFound: [String] {
        var lines = ["no line of the audit log names the request \(requestID.shown)", ""]
        if !possible.isEmpty {
            lines.append(
                time == nil
                    ? "Repeated refusals and admissions are counted and not written one by one. These are the latest counts; give --at with the time of the request:"
                    : "Repeated refusals and admissions are counted and not written one by one. At that time these were counted; the request may be among them:"
            )
            lines += possible.map { "  " + $0.readable }
            lines.append("")
        }
        return lines + [
            "What to do:",
            "- Compare the id with `requestId` in the answer that the client got: 16 hexadecimal digits.",
            "- Requests that were refused before the gate (unknown paths, malformed requests, REQUESTS_PER_SECOND_PER_ADDRESS) are in the log"
                + " alone, as `request refused`: search it for the id.",
            "- Older lines may be in files that were moved elsewhere or packed with zstd: name them with --file (`-` is standard input).",
            "- With several gateways, each has an audit log of its own.",
        ]
    }

    private var counted: [String] {
        ["requests of this kind were counted, and this one is the first or the last of a count:"]
            + counts.map { "  " + $0.readable }
            + ["Its own details weren't written. The same client's earlier lines were: see `portcullis audit`."]
    }

    private static func text(of record: AuditRecord) -> [String] {
        var lines = [record.headline]
        for (name, value) in record.particulars { lines.append("  \(name.padded(to: 9)) \(value.shown)") }
        let checks = record.checks
        if !checks.isEmpty { lines.append("") }
        for check in checks {
            let mark = check.result == .failed ? "FAILED" : check.result.rawValue
            lines.append("  \(mark.padded(to: 11)) \(check.title.shown)")
            let remarks = [("expected", check.expected), ("received", check.received), ("hint", check.advice)]
            for (name, text) in remarks {
                if let text { lines.append("              \(name.padded(to: 9)) \(text.shown)") }
            }
        }
        return lines + record.remarks
    }
}

extension AuditRecord {
    fileprivate var headline: String {
        let what =
            event.hasSameBytes(as: AuditEntry.Event.session.rawValue) ? "session ended" : "\(event) \(outcome ?? "")"
        return "\(time)  \(what)\(reason.map { ": \($0)" } ?? "")".shown
    }

    fileprivate var particulars: [(String, String)] {
        let answer = reason.flatMap { RefusalCode(word: $0) }.flatMap { code in
            RefusalAnswer.all.first { $0.code == code }
        }
        return [
            ("request", requestID), ("address", address), ("way", method), ("who", who),
            (
                "answer",
                outcome?.hasSameBytes(as: AuditEntry.Outcome.reported.rawValue) == true ? nil : answer.map(\.message)
            ),
            ("detail", detail),
        ].compactMap { name, value in value.map { (name, $0) } }
    }

    fileprivate var remarks: [String] {
        let isLimit =
            reason?.hasSameBytes(as: RefusalCode.rateLimited.rawValue) == true
            && failedCheck?.hasSameBytes(as: AdmissionCheck.rateLimit.rawValue) != true
        return [
            isLimit && failedCheck != nil
                ? "The address is over its limit of failed upgrades, so the client was told that, and not the reason above."
                : nil,
            outcome?.hasSameBytes(as: AuditEntry.Outcome.reported.rawValue) == true
                ? "The client was admitted as anonymous: REQUIRE_APP_AUTH is report. It would have been refused." : nil,
            event.hasSameBytes(as: AuditEntry.Event.session.rawValue)
                ? "docs/TROUBLESHOOTING.md (\"Why a session has ended\") has the meaning of the reason." : nil,
            self["check"] == nil && failedCheck != nil
                ? "The line is of an earlier version, which didn't name the check: it follows from the code and the detail."
                : nil,
        ].compactMap { $0.map { "  " + $0 } }
    }
}

extension String {
    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
