/// NAWS, negotiate about window size (RFC 1073): sent when the option comes into force and whenever the size changes after that.
struct WindowSize {
    private var columns: UInt16
    private var rows: UInt16
    /// A size must be sent. Several changes between two calls of ``take()`` count as one.
    private(set) var isDue = false

    init(columns: UInt16, rows: UInt16) {
        self.columns = columns
        self.rows = rows
    }

    mutating func begin() { isDue = true }

    mutating func end() { isDue = false }

    mutating func resize(columns: UInt16, rows: UInt16, isInForce: Bool) {
        if isInForce, columns != self.columns || rows != self.rows { isDue = true }
        self.columns = columns
        self.rows = rows
    }

    /// The payload if it is due: two 16-bit numbers, high byte first.
    mutating func take() -> [UInt8]? {
        guard isDue else { return nil }
        isDue = false
        return [columns, rows].flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
    }
}
