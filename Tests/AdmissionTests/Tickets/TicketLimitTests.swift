import Testing
import WireText

@testable import Admission

/// How many tickets a client may have, and that none can use up what another one needs.
@Suite("The limits of tickets")
struct TicketLimitTests {
    private let alice = Principal(debugging: .good)
    private let office = TicketOffice()
    private let stranger = address("203.0.113.7")

    private struct Missing: Error {}

    private func isIssued(_ issue: TicketIssue) -> Bool { if case .issued = issue { true } else { false } }

    private func issue(
        _ count: Int, to principal: Principal, from address: IPAddress, by office: TicketOffice? = nil
    ) throws -> [IssuedTicket] {
        try (0..<count).map { _ in
            guard
                case .issued(let ticket) = (office ?? self.office).issue(
                    to: principal, from: address, at: start.monotonic)
            else { throw Missing() }
            return ticket
        }
    }

    private func gets(_ principal: Principal, _ place: IPAddress, at moment: Moment = start) -> Bool {
        isIssued(office.issue(to: principal, from: place, at: moment.monotonic))
    }

    @Test func `count clients without credentials by address`() throws {
        let tickets = try issue(TicketOffice.maximumPerHolder, to: .anonymous, from: stranger)
        guard case .full(let seconds) = office.issue(to: .anonymous, from: stranger, at: start.monotonic) else {
            throw Missing()
        }
        #expect((1...31).contains(seconds))
        #expect(gets(.anonymous, address("203.0.113.8")) && gets(.anonymous, address("2001:db8::1")))
        #expect(gets(alice, stranger))
        guard case .spent = office.spend(tickets[0].ticket.text, at: start.monotonic) else { throw Missing() }
        #expect(gets(.anonymous, stranger) && !gets(.anonymous, stranger))
        office.withdraw(tickets[1])
        #expect(gets(.anonymous, stranger) && !gets(.anonymous, stranger))
        #expect(gets(.anonymous, stranger, at: start + 32_000))
    }

    @Test func `count a /64 of IPv6 as one address`() throws {
        _ = try issue(TicketOffice.maximumPerHolder, to: .anonymous, from: address("2001:db8:0:1::1"))
        #expect(!gets(.anonymous, address("2001:db8:0:1:ffff::9")))
        #expect(gets(.anonymous, address("2001:db8:0:2::1")))
    }

    @Test func `leave room for clients with credentials, whatever strangers with many addresses do`() throws {
        let office = TicketOffice(maximum: 200)
        for host in 1...100 { _ = try issue(1, to: .anonymous, from: address("198.51.100.\(host)"), by: office) }
        let next = office.issue(to: .anonymous, from: address("198.51.100.101"), at: start.monotonic)
        #expect(!isIssued(next))
        for _ in 0..<TicketOffice.maximumPerHolder {
            #expect(isIssued(office.issue(to: alice, from: stranger, at: start.monotonic)))
        }
    }

    /// Which certificates are on several devices nobody knows.
    @Test func `count the devices that share a certificate by address, and together`() throws {
        for place in 0..<TicketOffice.maximumPerIdentity / TicketOffice.maximumPerHolder {
            let here = address("192.0.2.\(place)")
            _ = try issue(TicketOffice.maximumPerHolder, to: alice, from: here)
            #expect(!gets(alice, here))
        }
        #expect(!gets(alice, address("192.0.2.200")))
        let other = Principal(debugging: .good.with { $0.sha256 = [1, 2, 3] })
        #expect(gets(other, address("192.0.2.200")) && gets(.anonymous, address("192.0.2.1")))
    }

    @Test func `count those who share an operator's ticket by address`() throws {
        let shared = office.issueForOperator(timeToLive: .seconds(60), uses: 2, at: start.monotonic)
        guard case .issued(let issued) = shared,
            case .spent(let first) = office.spend(issued.ticket.text, at: start.monotonic),
            case .spent(let second) = office.spend(issued.ticket.text, at: start.monotonic)
        else { throw Missing() }
        _ = try issue(TicketOffice.maximumPerHolder, to: Principal(first), from: stranger)
        #expect(!gets(Principal(first), stranger))
        #expect(gets(Principal(second), address("192.0.2.1")))
    }

    @Test func `stay with the process that takes over`() throws {
        let carrier = PrincipalCarrier([any AdmissionMethod]())
        _ = try issue(TicketOffice.maximumPerHolder, to: .anonymous, from: stranger)
        let new = TicketOffice()
        for ticket in office.carried(by: carrier) {
            #expect(try new.restore(ticket, by: carrier, at: start.monotonic))
        }
        #expect(!isIssued(new.issue(to: .anonymous, from: stranger, at: start.monotonic)))
        #expect(isIssued(new.issue(to: .anonymous, from: address("192.0.2.1"), at: start.monotonic)))
    }
}
