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
