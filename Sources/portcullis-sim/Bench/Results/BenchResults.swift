/// All numbers of a benchmark, by round.
struct BenchResults: Sendable {
    private(set) var rounds: [Figure: [Int: Double]] = [:]
    /// Failures, and remarks needed to interpret the numbers.
    private(set) var notes: [String] = []
    /// In the order of measurement.
    private(set) var cells: [String] = []

    mutating func record(_ value: Double?, _ quantity: Quantity, of subject: Subject, _ cell: String, round: Int = 0) {
        guard let value, value.isFinite else { return }
        if !cells.contains(cell) { cells.append(cell) }
        rounds[Figure(quantity: quantity, subject: subject, cell: cell), default: [:]][round] = value
    }

    mutating func note(_ text: String) {
        if !notes.contains(text) { notes.append(text) }
    }

    func spread(_ quantity: Quantity, of subject: Subject, _ cell: String) -> Spread? {
        Spread(Array(values(quantity, subject, cell).values))
    }

    /// The ratio of two figures, computed per round: a disturbance in a round affects both.
    func ratio(
        _ quantity: Quantity, of subject: Subject, _ cell: String, to other: Subject, _ otherCell: String? = nil
    ) -> Spread? {
        let divisors = values(quantity, other, otherCell ?? cell)
        return Spread(
            values(quantity, subject, cell).compactMap { round, value in
                divisors[round].flatMap { $0 > 0 ? value / $0 : nil }
            })
    }

    private func values(_ quantity: Quantity, _ subject: Subject, _ cell: String) -> [Int: Double] {
        rounds[Figure(quantity: quantity, subject: subject, cell: cell)] ?? [:]
    }
}
