import Relay
import Testing

@testable import GatewayServer

/// When the log warns of the server's certificate again.
struct CertificateReminderTests {
    private static let day: Int64 = 86_400
    private let validity = CertificateValidity(1_000...(1_000 + 100 * day))
    private var end: Int64 { validity.period.upperBound }

    @Test func `the states change at the limits of the period and fourteen days before its end`() {
        #expect(validity.state(at: 999) == .notYetValid && validity.state(at: 1_000) == .valid)
        #expect(validity.state(at: end - 14 * Self.day) == .valid)
        #expect(validity.state(at: end - 14 * Self.day + 1) == .expiring && validity.state(at: end) == .expiring)
        #expect(validity.state(at: end + 1) == .expired)
    }

    @Test func `each state but valid has its warning, with the time`() {
        #expect(validity.warning(at: 2_000) == nil)
        #expect(
            validity.warning(at: 0)
                == "The server's certificate isn't valid until 1970-01-01T00:16:40Z: clients can't connect")
        #expect(validity.warning(at: end) == "The server's certificate expires at 1970-04-11T00:16:40Z")
        #expect(
            validity.warning(at: end + 1)
                == "The server's certificate expired at 1970-04-11T00:16:40Z: clients can't connect")
    }

    @Test func `the start warns, and then a day passes between two warnings`() {
        var reminder = CertificateReminder()
        let start = end - 10 * Self.day
        #expect(reminder.due(validity, at: start) == nil)
        #expect(reminder.due(validity, at: start + Self.day - 1) == nil)
        #expect(reminder.due(validity, at: start + Self.day)?.contains("expires") == true)
        #expect(reminder.due(validity, at: start + Self.day + 1) == nil)
        #expect(reminder.due(validity, at: start + 2 * Self.day)?.contains("expires") == true)
    }

    @Test func `a change of the state is reported at once`() {
        var reminder = CertificateReminder()
        #expect(reminder.due(validity, at: end - 20 * Self.day) == nil)
        #expect(reminder.due(validity, at: end - 13 * Self.day)?.contains("expires") == true)
        #expect(reminder.due(validity, at: end) != nil)
        #expect(reminder.due(validity, at: end + 1)?.contains("expired") == true)
        #expect(reminder.due(validity, at: end + 5) == nil)
        #expect(reminder.due(validity, at: end + 1 + Self.day)?.contains("expired") == true)
    }

    @Test func `a valid certificate and plain text need no warning, and a renewed one ends them`() {
        var reminder = CertificateReminder()
        for time in [2_000, 2_000 + Self.day, 2_000 + 2 * Self.day] { #expect(reminder.due(validity, at: time) == nil) }
        #expect(reminder.due(nil, at: end + 1) == nil)
        #expect(reminder.due(validity, at: end + 1) == nil)
        let renewed = CertificateValidity(1_000...(end + 90 * Self.day))
        #expect(reminder.due(renewed, at: end + 10) == nil)
        #expect(reminder.due(renewed, at: end + 10 + Self.day) == nil)
    }

    @Test func `a clock that is set back doesn't silence the warnings`() {
        var reminder = CertificateReminder()
        _ = reminder.due(validity, at: end + 100 * Self.day)
        #expect(reminder.due(validity, at: end + 50 * Self.day)?.contains("expired") == true)
    }
}
