/// Rows of cells as lines of text in columns. The cells have been escaped, and each character takes one column.
enum TextColumns {
    /// Between two columns.
    private static let gap = "  "

    /// - Parameter rows: each with as many cells as the first one, which has the headings.
    static func text(_ rows: [[String]]) -> String {
        let widths = (rows.first ?? []).indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { line($0, widths) }.joined(separator: "\n")
    }

    private static func line(_ row: [String], _ widths: [Int]) -> String {
        var line = zip(row, widths).map { padded($0, to: $1) }.joined(separator: gap)
        while line.last == " " { line.removeLast() }
        return line
    }

    private static func padded(_ cell: String, to width: Int) -> String {
        cell + String(repeating: " ", count: width - cell.count)
    }
}
