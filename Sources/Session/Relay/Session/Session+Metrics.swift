import Observability
import Reactors
import RelayCore

/// What a session counts, besides bytes.
extension Session {
    /// - Parameter start: by the loop's clock.
    func noteDial(_ outcome: DialOutcome, since start: UInt64) {
        settings.metrics.dialled(outcome, nanoseconds: max(loop.now, start) - start)
    }

    /// Its dialect or its target has changed.
    func recount() {
        let new = leg.map { SessionPlace(dialect: DialectLabel(dialect), configuredRoute: $0.target.routeLabel) }
        guard new != place else { return }
        settings.metrics.sessionMoved(from: place, to: new)
        place = new
    }

    /// - Parameter lastSeq: the last message that the client has seen.
    func noteResumed(after lastSeq: UInt64) {
        settings.metrics.resumed(ResumeOutcome.resumed)
        guard case .translated(let translation) = dialect, translation.value.hasLost(after: lastSeq) else { return }
        settings.metrics.resumeHasGap()
    }
}

extension AuthorizedTarget {
    /// Never a client's text.
    fileprivate var routeLabel: String { route ?? (isClientsChoice ? "arbitrary" : "default") }
}

/// A session's dialect, as a label.
private enum DialectLabel: Hashable, MetricLabel {
    case undecided
    case known(DialectKind)

    init(_ state: DialectState) {
        self =
            switch state {
            case .choosing: .undecided
            case .raw: .known(.raw)
            case .translated(let translation): .known(translation.value.kind)
            }
    }

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
