/// One statement with parameters `$1`, `$2` and so on, each with a cast to its type. A connection prepares it at its
/// first use.
package struct SQLStatement: Hashable, Sendable {
    /// Unique among the statements of a driver.
    package let name: String
    package let text: String
    /// More rows are refused with ``DatabaseError/tooLarge``.
    package let maximumRows: Int
    /// Whether its commit waits for the disk or for a standby. Such statements have connections of their own, so that
    /// no other statement waits behind them.
    package let isDurable: Bool

    package init(_ name: String, maximumRows: Int = 1, isDurable: Bool = false, _ text: String) {
        self.name = name
        self.text = text
        self.maximumRows = maximumRows
        self.isDurable = isDurable
    }

    /// A term that a new connection selects: a commit waits for the disk, also on a server that is set not to wait
    /// (`synchronous_commit`). Statements whose loss a crash may cause say so themselves.
    static let waitingForTheDisk =
        "set_config('synchronous_commit', replace(current_setting('synchronous_commit'), 'off', 'on'), false)"

    package static func == (left: Self, right: Self) -> Bool { left.name == right.name }
    package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// A parameter. All of them are sent in binary form.
package enum SQLValue: Hashable, Sendable {
    case null
    /// `bytea`
    case bytes([UInt8])
    /// `text`
    case text(String)
    /// `int8`
    case integer(Int64)
    /// `bool`
    case boolean(Bool)
    /// An array of one dimension. Its elements are nulls or of the array's type.
    case array(of: SQLElement, [SQLValue])

    package static func optional(_ text: String?) -> SQLValue { text.map { .text($0) } ?? .null }
    package static func optional(_ integer: Int64?) -> SQLValue { integer.map { .integer($0) } ?? .null }
    package static func optional(_ bytes: [UInt8]?) -> SQLValue { bytes.map { .bytes($0) } ?? .null }
}

/// The type of an array's elements, as PostgreSQL numbers it (`pg_type.oid`; these never change).
package enum SQLElement: UInt32, Hashable, Sendable {
    case bytes = 17
    case integer = 20
    case text = 25
}

extension SQLValue {
    /// Nil for a null.
    var encoded: [UInt8]? {
        switch self {
        case .null: nil
        case .bytes(let bytes): bytes
        case .text(let text): Array(text.utf8)
        case .integer(let integer): Self.bigEndian(UInt64(bitPattern: integer), 8)
        case .boolean(let flag): [flag ? 1 : 0]
        case .array(let element, let values): Self.encode(values, of: element)
        }
    }

    /// As `array_recv` reads it: dimensions, whether there are nulls, the elements' type, the length and the first
    /// index, the elements.
    private static func encode(_ values: [SQLValue], of element: SQLElement) -> [UInt8] {
        let type = bigEndian(UInt64(element.rawValue), 4)
        guard !values.isEmpty else { return bigEndian(0, 4) + bigEndian(0, 4) + type }
        var bytes = bigEndian(1, 4) + bigEndian(1, 4) + type + bigEndian(UInt64(values.count), 4) + bigEndian(1, 4)
        for value in values {
            guard let encoded = value.encoded else {
                bytes += bigEndian(UInt64(UInt32.max), 4)
                continue
            }
            bytes += bigEndian(UInt64(encoded.count), 4)
            bytes += encoded
        }
        return bytes
    }

    static func bigEndian(_ number: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
    }
}
