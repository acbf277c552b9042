import Observability

@testable import AuditTrail

/// What `portcullis explain` and `portcullis audit` read: the gateway wrote it, or somebody else.
let auditFuzzTarget = FuzzTarget("audit-log") { bytes in
    func records(in pieces: [ArraySlice<UInt8>]) -> [AuditRecord] {
        var (splitter, found) = (LineSplitter(), [AuditRecord]())
        for piece in pieces { splitter.add(piece) { found += [AuditRecord($0)].compactMap(\.self) } }
        splitter.finish { found += [AuditRecord($0)].compactMap(\.self) }
        return found
    }
    let whole = records(in: [bytes[...]])
    for size in [1, 7] where bytes.count <= 4_096 {
        try require(
            records(in: pieces(of: bytes[...], size)).map(\.line) == whole.map(\.line),
            "lines don't depend on how the file is read")
    }
    for record in whole {
        let again = AuditRecord(record.object).map { $0.object == record.object } ?? false
        try require(again, "what is passed on is a line again")
        var explanation = Explanation(of: record.requestID ?? "")
        for record in whole { explanation.add(record) }
        var tally = AuditTally(by: AuditTally.Key.allCases)
        tally.add(record)
        _ = AuditFilter().matches(record)
        let shown = explanation.text + explanation.notFound + tally.text + [record.readable]
        try require(
            shown.allSatisfy { $0 == $0.shown && !$0.utf8.contains { $0 < 0x20 } }, "nothing shown controls a terminal")
        try require(isUTF8(explanation.json.utf8), "JSON is UTF-8")
    }
}
