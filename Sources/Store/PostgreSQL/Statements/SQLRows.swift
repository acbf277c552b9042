/// The rows of an answer, in binary form. A statement casts its columns to the types that are read here.
package struct SQLRows: Sendable {
    package let columns: Int
    /// Row after row; nil for a null.
    private var cells: [[UInt8]?] = []
    /// The bytes of all cells.
    private(set) var bytes = 0

    init(columns: Int) { self.columns = columns }

    mutating func append(cell: [UInt8]?) {
        cells.append(cell)
        bytes += cell?.count ?? 0
    }

    package var count: Int { columns == 0 ? 0 : cells.count / columns }

    package subscript(row: Int) -> SQLRow {
        SQLRow(cells: cells[(row * columns)..<((row + 1) * columns)])
    }

    package var first: SQLRow? { count == 0 ? nil : self[0] }

    /// Reads every row.
    package func map<Value>(
        _ read: (SQLRow) throws(DatabaseError) -> Value
    ) throws(DatabaseError) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(count)
        for row in 0..<count { values.append(try read(self[row])) }
        return values
    }

    /// The only row.
    package func only() throws(DatabaseError) -> SQLRow {
        guard count == 1 else { throw .malformed }
        return self[0]
    }
}

/// A cell of another type or size than its reader expects throws ``DatabaseError/malformed``.
package struct SQLRow: Sendable {
    fileprivate let cells: ArraySlice<[UInt8]?>

    private func cell(_ column: Int) throws(DatabaseError) -> [UInt8]? {
        guard column >= 0, column < cells.count else { throw .malformed }
        return cells[cells.startIndex + column]
    }

    package func isNull(_ column: Int) throws(DatabaseError) -> Bool { try cell(column) == nil }

    package func bytes(_ column: Int) throws(DatabaseError) -> [UInt8] { try required(cell(column)) }

    /// Longer than every text that the store has. Comparing text as `String` may take quadratic time.
    package static let maximumTextBytes = 4_096

    /// `text`, and any type whose binary form is its text.
    package func text(_ column: Int) throws(DatabaseError) -> String { try required(optionalText(column)) }

    package func optionalText(_ column: Int) throws(DatabaseError) -> String? {
        guard let bytes = try cell(column) else { return nil }
        guard bytes.count <= Self.maximumTextBytes, let text = String(validating: bytes, as: UTF8.self) else {
            throw .malformed
        }
        return text
    }

    /// `int8`
    package func integer(_ column: Int) throws(DatabaseError) -> Int64 { try required(optionalInteger(column)) }

    package func optionalInteger(_ column: Int) throws(DatabaseError) -> Int64? {
        guard let bytes = try cell(column) else { return nil }
        guard bytes.count == 8 else { throw .malformed }
        return Int64(bitPattern: bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }

    package func boolean(_ column: Int) throws(DatabaseError) -> Bool {
        let bytes = try bytes(column)
        guard bytes.count == 1, bytes[0] <= 1 else { throw .malformed }
        return bytes[0] == 1
    }

    private func required<Value>(_ value: Value?) throws(DatabaseError) -> Value {
        guard let value else { throw .malformed }
        return value
    }
}
