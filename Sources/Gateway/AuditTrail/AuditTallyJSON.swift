import WireText

extension AuditTally {
    /// One JSON object for each row.
    package var jsonLines: [String] {
        rows.map { row in
            var writer = JSONWriter()
            for (key, value) in zip(keys, row.values) { writer.member(key.rawValue, value) }
            writer.member("count", Int64(row.count))
            return String(decoding: writer.object, as: UTF8.self).shownJSON
        }
    }
}
