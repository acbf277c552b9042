import KeyStore
import StateCoding
import Testing

@testable import Admission

@Suite("An operator's ticket for an account")
struct AccountTicketTests {
    private var bench: Bench
    private let office = TicketOffice()
    private let account: AccountID

    init() throws {
        bench = try Bench()
        bench.settings.tickets = office
        account = try #require(AccountID(bytes: [UInt8](repeating: 7, count: AccountID.length)))
    }

    private struct NoTicket: Error {}

    /// - Parameter uses: are not more for it.
    private func ticket(uses: Int = 9) throws -> String {
        let issue = office.issueForOperator(
            timeToLive: .seconds(60), uses: uses, proves: account, at: start.monotonic)
        guard case .issued(let issued) = issue else { throw NoTicket() }
        return issued.ticket.text
    }

    /// As an endpoint of accounts has it.
    private func request(_ ticket: String) -> AdmissionRequest {
        bench.request().with { ($0.ticket, $0.isWithoutRoute) = (ticket, true) }
    }

    private func bearer(_ ticket: String) -> Principal? {
        guard case .authenticated(let principal) = bench.gate.authenticate(request(ticket)) else { return nil }
        return principal
    }

    private func reclaimed(_ principal: Principal?) -> AccountID? {
        guard case .reclaimed(let id) = principal?.accountEvidence else { return nil }
        return id
    }

    @Test func `proves the account once`() throws {
        let ticket = try ticket()
        let principal = bearer(ticket)
        #expect(reclaimed(principal) == account)
        #expect(principal?.identity.method == TicketMethod.name && principal?.account == nil)
        #expect(bearer(ticket) == nil)
    }

    @Test(arguments: [nil, ["ticket"], ["ticket", "passkey"]] as [Set<String>?])
    func `opens no session, which doesn't use it up`(admit: Set<String>?) throws {
        let ticket = try ticket()
        let upgrade = bench.request().with { ($0.ticket, $0.allowedMethods) = (ticket, admit) }
        #expect(bench.gate.evaluate(upgrade).refusal?.answer == .wayNotAllowed)
        #expect(reclaimed(bearer(ticket)) == account)
    }

    @Test func `gives no ticket that proves anything of accounts`() throws {
        let principal = try #require(bearer(try ticket()))
        let issue = bench.gate.issueTicket(to: principal, from: address("192.0.2.1"), at: start)
        guard case .issued(let next) = issue else { throw NoTicket() }
        let second = try #require(bearer(next.ticket.text))
        #expect(second.identity == principal.identity && second.accountEvidence == nil)
        let upgrade = bench.request().with { $0.ticket = try? ticket() }
        #expect(bench.gate.evaluate(upgrade).admitted == nil)
    }

    @Test func `is good at the process that replaces this one`() throws {
        let (ticket, carrier, new) = (try ticket(), bench.gate.carrier, TicketOffice())
        for carried in office.carried(by: carrier) {
            let crossed = try StateDecoder.decode(CarriedTicket.self, from: StateEncoder.bytes(of: carried))
            #expect(try new.restore(crossed, by: carrier, at: start.monotonic))
        }
        guard case .spent(let spent) = new.spend(ticket, at: start.monotonic) else { throw NoTicket() }
        #expect(reclaimed(Principal(spent)) == account)
        #expect(new.spend(ticket, at: start.monotonic).isUnknown)
    }

    /// One that says nothing of an account may begin one.
    @Test func `is another than the operator's other tickets`() throws {
        let issue = office.issueForOperator(timeToLive: .seconds(60), uses: 1, at: start.monotonic)
        guard case .issued(let issued) = issue else { throw NoTicket() }
        guard case .origin(.ticket) = bearer(issued.ticket.text)?.accountEvidence else {
            Issue.record("no account may begin with it")
            return
        }
    }

    // MARK: In a fleet

    private func ticket(of fleet: FleetBench) throws -> String {
        let issued = Gathered<TicketIssue>()
        let office = try #require(fleet.gateways[0].settings.tickets)
        office.issueForOperator(timeToLive: .seconds(60), uses: 9, proves: account, at: start) { issued.add($0) }
        guard case .issued(let issued) = issued.all.first else { throw NoTicket() }
        return issued.ticket.text
    }

    private func bearer(_ ticket: String, at number: Int, of fleet: FleetBench) -> Principal? {
        let decisions = Gathered<CredentialDecision>()
        switch fleet.gateways[number].gate.authenticate(request(ticket)) {
        case .later(let later): later.whenDecided { decisions.add($0) }
        case let decision: decisions.add(decision)
        }
        guard case .authenticated(let principal) = decisions.all.first else { return nil }
        return principal
    }

    /// It reads no account in it, and its holder can't be read.
    @Test func `is nobody's at a gateway of an earlier version`() throws {
        let content = TicketContent(
            id: TicketID(), holder: .ofAccountTicket(TicketID()), route: nil,
            expires: start.unixMilliseconds + 60_000, chainEnd: start.unixMilliseconds + 60_000)
        #expect(throws: CarriedStateFault.self) {
            try HeldTicket(content).principal(
                by: bench.gate.carrier, at: (start.unixMilliseconds, start.monotonic))
        }
    }

    @Test func `is good at every gateway of a fleet, once, and opens no session there`() throws {
        var fleet = try FleetBench()
        for number in fleet.gateways.indices {
            fleet.gateways[number].settings.tickets = TicketOffice(fleet: fleet.gateways[number].fleet)
        }
        let ticket = try ticket(of: fleet)
        for admit in [nil, ["ticket"]] as [Set<String>?] {
            let upgrade = bench.request().with { ($0.ticket, $0.allowedMethods) = (ticket, admit) }
            #expect(try fleet.decide(upgrade, by: 1).refusal?.answer == .wayNotAllowed)
        }
        #expect(reclaimed(bearer(ticket, at: 2, of: fleet)) == account)
        for number in fleet.gateways.indices { #expect(bearer(ticket, at: number, of: fleet) == nil) }
    }
}
