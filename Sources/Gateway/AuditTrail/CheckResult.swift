import Admission
import Observability
import WireText

/// One check of a decision, as an audit line tells it.
package struct CheckResult: Sendable {
    package enum Result: String, Sendable {
        case passed, failed
        case notReached = "not reached"
    }

    /// The name in the audit log.
    package let name: String
    package let title: String
    package let result: Result
    package var expected: String?
    package var received: String?
    package var advice: String?
}

extension AuditRecord {
    /// The checks of this decision, in their order; empty for a line that is about none.
    package var checks: [CheckResult] {
        guard let event = decision, let method else { return [] }
        let failed = failedCheck
        let known = failed.flatMap { AdmissionCheck(word: $0) }
        let order = CheckOrder.checks(of: event, by: method, failed: known)
        guard let failed else {
            // A decision that was made without a failed check: everything up to here passed.
            return reason == nil ? order.map { CheckResult($0, .passed) } : []
        }
        guard let known, let place = order.firstIndex(of: known) else {
            return [ofFailed(failed, title: known?.title ?? failed, advice: known?.advice)]
        }
        return order.enumerated().map { index, check in
            index == place
                ? ofFailed(failed, title: check.title, advice: check.advice)
                : CheckResult(check, index < place ? .passed : .notReached)
        }
    }

    /// The events about refresh tokens are decisions about an account.
    private var decision: CheckOrder.Event? {
        let refreshes: [AuditEntry.Event] = [.refreshReuse, .refreshWrongKey]
        return refreshes.contains { event.hasSameBytes(as: $0.rawValue) } ? .account : CheckOrder.Event(word: event)
    }

    /// The name of the failed check; from the code and the detail, where the line is of a version that didn't write it.
    package var failedCheck: String? {
        if let name = self[LogKeys.check] { return name }
        return reason.flatMap { AdmissionCheck(code: $0, detail: detail ?? "") }?.rawValue
    }

    private func ofFailed(_ name: String, title: String, advice: String?) -> CheckResult {
        CheckResult(
            name: name, title: title, result: .failed, expected: self[LogKeys.expected],
            received: self[LogKeys.received], advice: advice)
    }
}

extension CheckResult {
    fileprivate init(_ check: AdmissionCheck, _ result: Result) {
        self.init(name: check.rawValue, title: check.title, result: result)
    }
}
