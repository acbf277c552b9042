import Foundation

/// A performance goal.
struct Goal: Sendable {
    enum Limit: Sendable {
        case atMost(Double)
        case atLeast(Double)
    }

    enum Unit: Sendable {
        /// A ratio.
        case times
        case percent
        case microseconds
        case kibibytes
        case count
    }

    let what: String
    let limit: Limit
    let unit: Unit
    let measured: Spread?
    /// The reason for a missing figure.
    let unmeasured: String

    enum Verdict: Hashable, Sendable {
        case met
        case missed
        case unknown(String)
    }

    var verdict: Verdict {
        guard let measured else { return .unknown(unmeasured) }
        switch limit {
        case .atMost(let most): return rounded(measured.median) <= most ? .met : .missed
        case .atLeast(let least): return rounded(measured.median) >= least ? .met : .missed
        }
    }

    /// Rounded as displayed, so that the displayed value and the verdict agree.
    private func rounded(_ value: Double) -> Double {
        let places = unit.scale
        return (value * places).rounded() / places
    }
}

extension Goal.Unit {
    /// One unit of the last displayed digit.
    fileprivate var scale: Double {
        switch self {
        case .times, .count: 100
        case .percent: 1_000
        case .microseconds, .kibibytes: 10
        }
    }
}

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
