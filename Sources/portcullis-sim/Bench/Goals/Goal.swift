/// Something that shall be reached.
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
    /// Why there is nothing, should there be nothing.
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

    /// As it is shown, so that what is shown and the verdict agree.
    private func rounded(_ value: Double) -> Double {
        let places = unit.scale
        return (value * places).rounded() / places
    }
}

extension Goal.Unit {
    /// One part of the last place that is shown.
    fileprivate var scale: Double {
        switch self {
        case .times, .count: 100
        case .percent: 1_000
        case .microseconds, .kibibytes: 10
        }
    }
}
