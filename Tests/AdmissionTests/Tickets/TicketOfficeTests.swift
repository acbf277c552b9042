import KeyStore
import Testing
import WireText

@testable import Admission

struct TicketOfficeTests {
    private let alice = Principal(debugging: .good)

    private func ticket(_ issue: TicketIssue) throws -> IssuedTicket {
        guard case .issued(let ticket) = issue else { throw Missing() }
        return ticket
    }

    private struct Missing: Error {}

    private func spend(_ text: String, in office: TicketOffice, at moment: Moment = start) -> TicketSpending {
        office.spend(text, at: moment.monotonic)
    }

    @Test func `a ticket is valid once, for its owner`() throws {
        let office = TicketOffice()
        let issued = try ticket(office.issue(to: alice, at: start.monotonic))
        #expect(issued.expiresIn == 30)
        #expect(office.count == 1)
        guard case .spent(let spent) = spend(issued.ticket.text, in: office) else { throw Missing() }
        let principal = Principal(spent)
        #expect(principal.identity == alice.identity)
        #expect(principal.identity == alice.identity)
        #expect(principal.proxyName == "client_certificate_ticket")
        #expect(principal.isByTicket && !alice.isByTicket)
        #expect(spend(issued.ticket.text, in: office).isUnknown)
        #expect(office.count == 0)
    }

    @Test func `a withdrawn ticket is refused and makes room`() throws {
        let office = TicketOffice(maximum: 1)
        let issued = try ticket(office.issue(to: alice, at: start.monotonic))
        office.withdraw(issued)
        #expect(spend(issued.ticket.text, in: office).isUnknown)
        #expect(office.count == 0)
        let next = try ticket(office.issue(to: alice, at: start.monotonic))
        office.withdraw(issued)
        #expect(office.count == 1)
        guard case .spent = spend(next.ticket.text, in: office) else { throw Missing() }
    }

    @Test func `tickets are 32 bytes of base64url, and never the same`() throws {
        let texts = (0..<1_000).map { _ in Ticket().text }
        #expect(Set(texts).count == 1_000)
        for text in texts {
            #expect(text.utf8.count == 43)
            #expect(Base64.decode(text, maximumBytes: 32)?.count == 32)
            #expect(!text.contains { "+/=".contains($0) })
        }
        #expect(Set(texts.joined()).count == 64)
    }

    @Test func `a ticket appears in no description`() throws {
        let issued = try ticket(TicketOffice().issue(to: alice, at: start.monotonic))
        var dumped = ""
        dump(issued, to: &dumped)
        for shown in ["\(issued)", String(reflecting: issued), dumped, "\(issued.ticket)", issued.id.text] {
            #expect(!shown.contains(issued.ticket.text))
        }
        #expect(issued.id.text.utf8.count == 16)
    }

    @Test func `a ticket is valid until its exact expiry`() throws {
        let office = TicketOffice(timeToLive: .seconds(30))
        for (milliseconds, isGood) in [(0, true), (29_999, true), (30_000, false), (30_001, false), (90_000, false)] {
            let fresh = TicketOffice(timeToLive: .seconds(30))
            let text = try ticket(fresh.issue(to: alice, at: start.monotonic)).ticket.text
            #expect(spend(text, in: fresh, at: start + milliseconds).isSpent == isGood, "\(milliseconds)")
        }
        let text = try ticket(office.issue(to: alice, at: start.monotonic)).ticket.text
        let last = MonotonicTime(nanoseconds: start.monotonic.nanoseconds + 30_000_000_000 - 1)
        #expect(office.spend(text, at: last).isSpent)
    }

    @Test func `a ticket that expired on one reactor is expired on all`() throws {
        let office = TicketOffice(timeToLive: .seconds(30))
        let text = try ticket(office.issue(to: alice, at: start.monotonic)).ticket.text
        #expect(!spend(text, in: office, at: start + 30_000).isSpent)
        #expect(!spend(text, in: office, at: start + 29_000).isSpent)
    }

    @Test func `an operator's ticket has its uses, its lifetime and its own identity`() throws {
        let office = TicketOffice()
        let issued = try ticket(office.issueForOperator(timeToLive: .seconds(3_600), uses: 3, at: start.monotonic))
        #expect(issued.expiresIn == 3_600)
        for _ in 0..<3 {
            guard case .spent(let spent) = spend(issued.ticket.text, in: office, at: start + 3_599_999) else {
                throw Missing()
            }
            #expect(Principal(spent).identity == .operatorTicket(issued.id))
            #expect(Principal(spent).identity.subject == issued.id.text)
            #expect(Principal(spent).proxyName == "operator_ticket")
        }
        #expect(spend(issued.ticket.text, in: office, at: start + 3_599_999).isUnknown)
        let late = try ticket(office.issueForOperator(timeToLive: .seconds(60), uses: 2, at: start.monotonic))
        #expect(!spend(late.ticket.text, in: office, at: start + 3_600_000).isSpent)
    }

    @Test func `an operator's lifetime and uses have limits`() throws {
        let office = TicketOffice()
        let longest = try ticket(
            office.issueForOperator(timeToLive: .seconds(1_000_000_000), uses: .max, at: start.monotonic))
        #expect(longest.expiresIn == 30 * 86_400)
        let none = try ticket(office.issueForOperator(timeToLive: .seconds(60), uses: 0, at: start.monotonic))
        #expect(spend(none.ticket.text, in: office).isSpent)
        #expect(!spend(none.ticket.text, in: office).isSpent)
        let past = try ticket(office.issueForOperator(timeToLive: .seconds(-5), uses: 1, at: start.monotonic))
        #expect(!spend(past.ticket.text, in: office).isSpent)
    }

    @Test func `forged tickets are unknown`() throws {
        let office = TicketOffice()
        let text = try ticket(office.issue(to: alice, at: start.monotonic)).ticket.text
        let other = try ticket(TicketOffice().issue(to: alice, at: start.monotonic)).ticket.text
        let flipped = (text.first == "A" ? "B" : "A") + text.dropFirst()
        for forgery in [
            "", " ", other, flipped, text + "=", text + "A", String(text.dropLast()), " " + text,
            text.lowercased() + "",
            String(repeating: "A", count: 43), String(repeating: "A", count: 1_000_000),
            String(repeating: "é", count: 21) + "a",
        ] where forgery != text {
            #expect(spend(forgery, in: office).isUnknown)
        }
        #expect(spend(text, in: office).isSpent)
    }

    @Test func `a full table refuses with a Retry-After, and has room again later`() throws {
        let office = TicketOffice(timeToLive: .seconds(30), maximum: 2)
        let first = try ticket(office.issue(to: alice, at: start.monotonic))
        _ = try ticket(office.issueForOperator(timeToLive: .seconds(60), uses: 1, at: start.monotonic))
        guard case .full(let seconds) = office.issue(to: alice, at: start.monotonic) else { throw Missing() }
        #expect((1...31).contains(seconds))
        guard case .issued = office.issue(to: alice, at: (start + seconds * 1_000).monotonic) else { throw Missing() }
        #expect(office.count == 2)
        #expect(!spend(first.ticket.text, in: office).isSpent)
    }

    @Test func `a spent ticket makes room at once`() throws {
        let office = TicketOffice(maximum: 1)
        for _ in 0..<100 {
            #expect(spend(try ticket(office.issue(to: alice, at: start.monotonic)).ticket.text, in: office).isSpent)
        }
    }

    @Test func `one identity has 64 tickets at most, and leaves room for others`() throws {
        let office = TicketOffice()
        let tickets = try (0..<TicketOffice.maximumPerHolder).map { _ in
            try ticket(office.issue(to: alice, at: start.monotonic))
        }
        guard case .full = office.issue(to: alice, at: start.monotonic) else { throw Missing() }
        _ = try ticket(office.issue(to: .anonymous, at: start.monotonic))
        #expect(spend(tickets[0].ticket.text, in: office).isSpent)
        _ = try ticket(office.issue(to: alice, at: start.monotonic))
    }

    @Test func `expired tickets leave nothing behind`() throws {
        let office = TicketOffice(timeToLive: .seconds(1), maximum: 100)
        for second in 0..<1_000 {
            for _ in 0..<30 { _ = try ticket(office.issue(to: alice, at: (start + second * 2_001).monotonic)) }
        }
        #expect(office.count <= 60)
        #expect(!spend("", in: office, at: start + 10_000_000).isSpent)
        _ = try ticket(office.issue(to: alice, at: (start + 10_000_000).monotonic))
        #expect(office.count == 1)
    }

    @Test func `tickets are renewed by tickets for a day, then credentials are required`() throws {
        let office = TicketOffice(timeToLive: .seconds(30))
        var principal = alice
        var moment = start
        var count = 0
        let day = start + 86_400_000
        while moment.monotonic < day.monotonic {
            let issued = try ticket(office.issue(to: principal, at: moment.monotonic))
            guard case .spent(let spent) = spend(issued.ticket.text, in: office, at: moment) else { throw Missing() }
            principal = Principal(spent)
            #expect(principal.identity == alice.identity)
            moment = moment + 600_000
            count += 1
        }
        #expect(count == 144)
        guard case .chainEnded = office.issue(to: principal, at: day.monotonic) else { throw Missing() }
        let last = try ticket(office.issue(to: principal, at: (day - 10_000).monotonic))
        #expect(last.expiresIn == 10)
        guard case .issued = office.issue(to: alice, at: day.monotonic) else { throw Missing() }
    }

    @Test func `fifty concurrent spenders use a ticket once, and an operator's as often as its uses allow`() throws {
        for uses in [1, 7] {
            let office = TicketOffice()
            let issued = try ticket(office.issueForOperator(timeToLive: .seconds(60), uses: uses, at: start.monotonic))
            let text = issued.ticket.text
            let spent = race(50) { _ in office.spend(text, at: start.monotonic).isSpent }
            #expect(spent.count(where: { $0 }) == uses)
        }
    }
}

extension TicketSpending {
    fileprivate var isSpent: Bool {
        if case .spent = self { true } else { false }
    }

    var isUnknown: Bool {
        if case .unknown = self { true } else { false }
    }
}
