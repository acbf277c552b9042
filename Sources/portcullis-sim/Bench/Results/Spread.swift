/// The distribution of a figure over the rounds.
struct Spread: Hashable, Codable, Sendable {
    let median, least, most: Double
    let rounds: Int

    /// - Returns: nil for no values.
    init?(_ values: [Double]) {
        let sorted = values.filter(\.isFinite).sorted()
        guard let least = sorted.first, let most = sorted.last else { return nil }
        let middle = sorted.count / 2
        median = sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
        self.least = least
        self.most = most
        rounds = sorted.count
    }
}
