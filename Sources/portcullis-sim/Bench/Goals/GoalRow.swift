import Foundation

/// A line of the table of goals, in words.
struct GoalRow: Hashable, Codable, Sendable {
    let what, goal, measured, verdict: String

    static let leftOut = "not measured: \(GoalList.notRun)"

    init(_ goal: Goal) {
        what = goal.what
        self.goal =
            switch goal.limit {
            case .atMost(let most): (most == 0 ? "" : "≤ ") + Self.text(most, goal.unit)
            case .atLeast(let least): "≥ " + Self.text(least, goal.unit)
            }
        measured = goal.measured.map { Self.text($0, goal.unit) } ?? "–"
        verdict =
            switch goal.verdict {
            case .met: "met"
            case .missed: "missed"
            case .unknown(let reason): "not measured: \(reason)"
            }
    }

    private static func text(_ spread: Spread, _ unit: Goal.Unit) -> String {
        let median = text(spread.median, unit)
        guard spread.rounds > 1 else { return median }
        return "\(median) (\(number(spread.least, unit))–\(number(spread.most, unit)))"
    }

    private static func text(_ value: Double, _ unit: Goal.Unit) -> String {
        let number = number(value, unit)
        return switch unit {
        case .times: number + " ×"
        case .percent: number + " %"
        case .microseconds: number + " µs"
        case .kibibytes: number + " KiB"
        case .count: number
        }
    }

    private static func number(_ value: Double, _ unit: Goal.Unit) -> String {
        switch unit {
        case .times: String(format: "%.2f", value)
        case .percent: String(format: "%.1f", value * 100)
        case .microseconds, .kibibytes: String(format: "%.1f", value)
        case .count: value == 0 ? "0" : String(format: "%.2f", value)
        }
    }
}
