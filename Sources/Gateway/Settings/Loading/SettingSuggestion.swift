import WireText

/// Finds mistyped names of settings. A mistyped name would be a limit that never applies, or a gate that stays open.
package enum SettingSuggestion {
    /// Prefixes that only this gateway uses. An unknown name with one of them stops the start even if it comes from the
    /// environment. `TARGET_…`, `TN_…` and `WS_…` are not among them: Kubernetes makes such variables from the names of
    /// services.
    static let prefixes = ["APPATTEST_", "ATTESTED_KEYS_", "INBOUND_TLS_", "MTLS_", "REQUIRE_APP_", "STORE_"]
    /// The largest number of edits between a mistyped name and a setting.
    static let maximumDistance = 3

    static func isOurs(_ name: String) -> Bool {
        prefixes.contains { name.hasBytePrefix($0) }
    }

    /// The setting that was probably meant; nil if none is similar.
    static func nearest(
        to name: String, among rows: [SettingRow], within limit: Int = maximumDistance
    ) -> String? {
        guard SettingText.isShort(name) else { return nil }
        if limit == maximumDistance, let longer = withWordMore(than: name.uppercased(), rows) { return longer }
        let known = rows.map(\.name) + rows.flatMap(\.spellings)
        let distances = known.map { (name: $0, edits: distance(name.uppercased(), $0)) }
        return distances.filter { $0.edits <= min(limit, $0.name.count / 3) }.min { $0.edits < $1.edits }?.name
    }

    /// The one setting that has a single word more, such as `MTLS_CLIENT_CA_PATH` for `MTLS_CA_PATH`.
    private static func withWordMore(than name: String, _ rows: [SettingRow]) -> String? {
        let words = name.split(separator: "_")
        let found = rows.map(\.name).filter { candidate in
            let all = candidate.split(separator: "_")
            return all.count == words.count + 1
                && all.indices.contains { left in all[..<left] + all[(left + 1)...] == words[...] }
        }
        return words.count > 1 && found.count == 1 ? found.first : nil
    }

    /// Optimal string alignment: insertions, deletions, replacements and swaps of neighbours.
    package static func distance(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left.utf8.prefix(64)), Array(right.utf8))
        var older: [Int] = []
        var previous = Array(0...right.count)
        for row in left.indices {
            var current = [row + 1]
            for column in right.indices {
                let isEqual = left[row] == right[column]
                var best = min(previous[column + 1] + 1, current[column] + 1, previous[column] + (isEqual ? 0 : 1))
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    best = min(best, older[column - 1] + 1)
                }
                current.append(best)
            }
            (older, previous) = (previous, current)
        }
        return previous[right.count]
    }
}
