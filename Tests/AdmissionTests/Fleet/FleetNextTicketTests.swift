import DeviceSimulation
import KeyStore
import KeyStoreTestKit
import Testing

@testable import Admission

/// Next tickets that any gateway of a fleet issues, and any other one spends, long after.
@Suite("A session's next ticket in a fleet")
struct FleetNextTicketTests {
    private var bench: FleetBench

    init() throws {
        bench = try FleetBench()
        for number in bench.gateways.indices {
            bench.gateways[number].settings.tickets = TicketOffice(
                fleet: bench.gateways[number].fleet, nextLifetime: .seconds(5_400))
        }
    }

    private struct NoTicket: Error {}

    private func principal(_ device: inout SimulatedDevice) throws -> Principal {
        try #require(try bench.decide(try bench.request(by: &device), by: 0).admitted).principal
    }

    private func ticket(of principal: Principal, _ session: String = "s", by number: Int = 0) throws -> String {
        let answers = Gathered<TicketIssue>()
        bench.gateways[number].gate.issueNextTicket(
            to: principal, ofSession: session, from: address("192.0.2.1"), at: start
        ) { answers.add($0) }
        guard case .issued(let issued) = answers.all.first else { throw NoTicket() }
        #expect(issued.expiresIn == 5_400)
        return issued.ticket.text
    }

    private func spend(
        _ ticket: String, by number: Int, at moment: Moment = start, admit: Set<String>? = nil
    ) throws -> AdmissionDecision {
        let request = bench.bench.request(at: moment).with { ($0.ticket, $0.allowedMethods) = (ticket, admit) }
        return try bench.decide(request, by: number)
    }

    @Test func `is spent once, whichever of its session's it is, long after its gateway has gone`() throws {
        var device = try bench.registeredDevice()
        let principal = try principal(&device)
        let tickets = try (0..<3).map { _ in try ticket(of: principal) }
        let other = try ticket(of: principal, "other")
        let late = start + 5_399_999
        #expect(try spend(tickets[1], by: 1, at: late).admitted?.principal.identity == principal.identity)
        for number in bench.gateways.indices {
            for ticket in tickets { #expect(try spend(ticket, by: number, at: late).refusal?.answer == .invalidTicket) }
        }
        #expect(try spend(other, by: 2, at: start + 5_400_000).refusal?.answer == .invalidTicket)
    }

    @Test func `goes back as it was if another route refuses it`() throws {
        var device = try bench.registeredDevice()
        let principal = try principal(&device)
        let (first, second) = (try ticket(of: principal), try ticket(of: principal))
        #expect(try spend(first, by: 1, admit: ["mtls"]).refusal?.answer == .wayNotAllowed)
        bench.gateways[0].gate.endTickets(ofSession: "s", keepingThem: false, at: start)
        #expect(try spend(first, by: 2, at: start + 30_000).refusal?.answer == .invalidTicket)
        #expect(try spend(second, by: 2).refusal?.answer == .invalidTicket)
        let third = try ticket(of: principal)
        #expect(try spend(third, by: 1, admit: ["mtls"]).refusal?.answer == .wayNotAllowed)
        #expect(try spend(third, by: 2, admit: ["app"]).admitted != nil)
    }

    @Test func `ends with its session, its incarnation and its proof`() throws {
        var device = try bench.registeredDevice()
        let principal = try principal(&device)
        let tickets = try (0..<3).map { try ticket(of: principal, "\($0)") }
        bench.gateways[1].gate.endTickets(ofSession: "0", keepingThem: false, at: start)
        #expect(try spend(tickets[0], by: 2, at: start + 30_000).refusal?.answer == .invalidTicket)
        #expect(bench.store.revoke(try #require(KeyID(bytes: device.keyID)), reason: "lost", at: 1))
        #expect(try spend(tickets[1], by: 1).refusal?.answer == .keyRevoked)
        bench.store.crash(SharedStore.incarnation(2))
        for number in bench.gateways.indices {
            #expect(try spend(tickets[2], by: number).refusal?.answer == .invalidTicket)
        }
    }

    @Test func `isn't issued if the store doesn't keep it, and takes no place`() throws {
        var device = try bench.registeredDevice()
        let principal = try principal(&device)
        bench.store.fail([.keep], with: .busy)
        #expect(throws: NoTicket.self) { try ticket(of: principal) }
        #expect(bench.gateways[0].settings.tickets?.count == 0)
        bench.store.fail([.keep], with: nil)
        let issued = try ticket(of: principal)
        #expect(try spend(issued, by: 0).admitted != nil && bench.gateways[0].settings.tickets?.count == 0)
    }
}
