import Admission
import Relay
import Testing

@testable import GatewayServer

@Suite("The end of REQUIRE_APP_AUTH=report")
struct ReportModeTests {
    private let end: Int64 = 1_795_381_200_000
    private let day: Int64 = 86_400_000
    private var demand: AppAuthDemand { .reported(until: end) }

    @Test func `is announced once a day, and when it has come`() {
        var reminder = ReportReminder()
        let start = end - 3 * day
        let times = [start, start + day - 1, start + day, start + 2 * day - 1, end - 1, end, end + 1, end + day]
        let said = times.map { reminder.due(demand, at: $0) }
        #expect(said.map { $0 != nil } == [false, false, true, false, true, true, false, true])
        #expect(said[2]?.contains("until 2026-11-22T21:00:00.000Z") == true && said[5]?.contains("ended at") == true)
        let later = reminder.due(.required, at: end + 3 * day)
        #expect(later == nil)
        #expect(demand.warning(at: end - 1) != nil && AppAuthDemand.required.warning(at: 0) == nil)
    }

    /// Whether the sessions have to end, at each of these times.
    private func closing(_ looks: [(AppAuthDemand, Int64)]) -> [Bool] {
        var closing = ReportEnd()
        return looks.map { closing.isDue($0.0, at: $0.1) }
    }

    @Test func `ends the sessions of reported clients, and looks for them a few times`() {
        let looks = (0..<ReportEnd.looks + 5).map { (demand, end + Int64($0) * 500) }
        let due = closing([(demand, end - 1)] + looks)
        #expect(due == [false] + (0..<ReportEnd.looks + 5).map { $0 < ReportEnd.looks })
    }

    @Test func `comes with a reload too, and not if the date moves`() {
        #expect(closing([(demand, end - 1), (.required, end - 1)]) == [false, true])
        #expect(closing([(demand, end - 1), (.reported(until: end + day), end)]) == [false, false])
        #expect(closing([(demand, end - 1), (.notRequired, end)]) == [false, false])
        #expect(closing([(.notRequired, end), (.notRequired, end)]) == [false, false])
    }

    /// The process before may have admitted them, and the mode have ended since.
    @Test func `is looked for at the start, too`() {
        #expect(closing([(.required, end), (.required, end)]) == [true, true])
        let looks = closing((0..<ReportEnd.looks + 5).map { (demand, end + Int64($0) * 500) })
        #expect(looks == (0..<ReportEnd.looks + 5).map { $0 < ReportEnd.looks })
    }
}
