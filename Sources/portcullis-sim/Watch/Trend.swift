import Foundation

/// A straight line fitted to measurements by least squares, with the uncertainty of its slope.
///
/// Neighbouring samples of a process are correlated, which would make every slope look more certain than it is. Therefore the line
/// is fitted to the means of blocks: the standard error comes from the scatter of those means around it.
struct Trend: Hashable, Sendable, Codable {
    static let blocks = 12

    /// Units of y per unit of x.
    let slope: Double
    let standardError: Double

    /// - Returns: nil for fewer samples than three blocks need, or if all have the same time.
    init?(_ samples: [(x: Double, y: Double)]) {
        let points = Self.means(of: samples)
        guard points.count >= 3 else { return nil }
        let count = Double(points.count)
        let centre = (x: points.reduce(0) { $0 + $1.x } / count, y: points.reduce(0) { $0 + $1.y } / count)
        let spread = points.reduce(0) { $0 + ($1.x - centre.x) * ($1.x - centre.x) }
        guard spread > 0 else { return nil }
        let slope = points.reduce(0) { $0 + ($1.x - centre.x) * ($1.y - centre.y) } / spread
        let rest = points.reduce(0) { sum, point in
            let off = point.y - centre.y - slope * (point.x - centre.x)
            return sum + off * off
        }
        self.slope = slope
        standardError = (rest / (count - 2) / spread).squareRoot()
    }

    private static func means(of samples: [(x: Double, y: Double)]) -> [(x: Double, y: Double)] {
        let count = min(blocks, samples.count)
        return (0..<count).map { block in
            let part = samples[samples.count * block / count..<samples.count * (block + 1) / count]
            let size = Double(part.count)
            return (part.reduce(0) { $0 + $1.x } / size, part.reduce(0) { $0 + $1.y } / size)
        }
    }

    /// Whether it rises faster than `limit` even if chance has made it too steep by two standard errors.
    func rises(faster limit: Double) -> Bool {
        slope - 2 * standardError > limit
    }
}
