import Observability
import WireText

/// Counts lines by some of their members, in bounded memory.
package struct AuditTally: Sendable {
    /// Combinations that are counted apart; further ones are counted together.
    package static let maximumGroups = 10_000
    /// Longer values are cut.
    static let maximumValueBytes = 256

    /// What can be counted by.
    package enum Key: String, CaseIterable, Sendable {
        case event, outcome, method, reason, check, who, address, day, hour

        func value(of record: AuditRecord) -> String? {
            switch self {
            case .event: record[LogKeys.of] ?? record.event
            case .outcome: record.outcome
            case .method: record.method
            case .reason: record.reason
            case .check: record[LogKeys.check]
            case .who: record.who
            case .address: record.address
            case .day: String(record.time.description.prefix(10))
            case .hour: String(record.time.description.prefix(13)) + "Z"
            }
        }
    }

    package let keys: [Key]
    private var groups: [[ByteText]: Int] = [:]
    /// Counted together.
    private var others = 0

    package init(by keys: [Key]) { self.keys = keys }

    /// A line that counts refusals or admissions counts as many.
    package mutating func add(_ record: AuditRecord) {
        let count = record.summary?.count ?? 1
        let group = keys.map { ByteText(Self.short($0.value(of: record) ?? "-")) }
        guard groups[group] != nil || groups.count < Self.maximumGroups else {
            others = others.addingReportingOverflow(count).partialValue
            return
        }
        groups[group] = (groups[group] ?? 0).addingReportingOverflow(count).partialValue
    }

    /// The gateway writes no longer values; the file may be somebody else's.
    private static func short(_ value: String) -> String {
        value.utf8.count <= maximumValueBytes ? value : String(value.unicodeScalars.prefix(80)) + "…"
    }

    package var rows: [(count: Int, values: [String])] {
        let sorted = groups.map { (count: $0.value, values: $0.key) }.sorted { one, other in
            one.count != other.count ? one.count > other.count : one.values.lexicographicallyPrecedes(other.values)
        }
        return sorted.map { ($0.count, $0.values.map(\.text)) }
            + (others > 0 ? [(others, keys.map { _ in "(others)" })] : [])
    }

    /// A table with a heading.
    package var text: [String] {
        let table = [["count"] + keys.map(\.rawValue)] + rows.map { [String($0.count)] + $0.values.map(\.shown) }
        let widths = (0...keys.count).map { column in table.map { $0[column].count }.max() ?? 0 }
        return table.map { row in
            row.enumerated().map { column, text in
                column == keys.count ? text : text.padded(to: widths[column])
            }.joined(separator: "  ")
        }
    }
}
