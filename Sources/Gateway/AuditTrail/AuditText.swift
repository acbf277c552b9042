import Observability

extension AuditRecord {
    /// One line for people, in columns.
    package var readable: String {
        let columns: [(String, Int)] = [
            (time.description, 24), (outcome ?? "-", 8), (self[LogKeys.of].map { "\(event) \($0)" } ?? event, 13),
            (method ?? "-", 17), (reason ?? "-", 22), (address ?? "-", 15), (requestID ?? "-", 16),
        ]
        let rest = [
            self[LogKeys.count].map { "\($0) times" },
            summary.map { "from \($0.first) (\($0.ids.first ?? "-")) to \($0.last) (\($0.ids.last ?? "-"))" },
            who, detail,
        ].compactMap(\.self)
        let texts = columns.map { $0.0.shown.padded(to: $0.1) } + rest.map(\.shown)
        return texts.joined(separator: "  ")
    }
}
