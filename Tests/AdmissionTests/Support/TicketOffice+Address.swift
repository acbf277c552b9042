import WireText

@testable import Admission

extension TicketOffice {
    /// For tests that aren't about addresses.
    func issue(to principal: Principal, at time: MonotonicTime) -> TicketIssue {
        issue(to: principal, from: address("192.0.2.1"), at: time)
    }
}
