import Observability
import Reactors
import RelayCore

/// What a session counts, besides bytes.
extension SessionStage {
    /// - Parameter start: by the loop's clock.
    func noteDial(_ outcome: DialOutcome, since start: UInt64) {
        settings.metrics.dialled(outcome, nanoseconds: max(loop.now, start) - start)
    }

    var dialectLabel: DialectLabel { isUndecided ? .undecided : .known(dialectKind ?? .raw) }

    /// Its dialect or its target has changed.
    func recount() {
        let new = leg.map { SessionPlace(dialect: dialectLabel, configuredRoute: $0.target.routeLabel) }
        guard new != place else { return }
        settings.metrics.sessionMoved(from: place, to: new)
        place = new
    }
}

extension AuthorizedTarget {
    /// Never a client's text.
    fileprivate var routeLabel: String { route ?? (isClientsChoice ? "arbitrary" : "default") }
}

/// A session's dialect, as a label.
enum DialectLabel: Hashable, MetricLabel {
    case undecided
    case known(DialectKind)

    var rawValue: String {
        switch self {
        case .undecided: "undecided"
        case .known(let kind): kind.rawValue
        }
    }
}

/// The answer to a client that asks for its session.
enum ResumeOutcome: String, MetricLabel, CaseIterable {
    case resumed, expired, invalid, unavailable

    init(_ failure: ResumeFailure) {
        self =
            switch failure {
            case .expired: .expired
            case .invalid: .invalid
            case .unavailable: .unavailable
            }
    }
}

extension DialOutcome {
    init(_ error: TCPError) {
        self =
            switch error {
            case .notResolved: .notResolved
            case .notAllowed: .notAllowed
            case .notConnected: .notConnected
            case .timedOut: .timedOut
            case .notSecured: .notSecured
            case .broken: .broken
            }
    }
}
