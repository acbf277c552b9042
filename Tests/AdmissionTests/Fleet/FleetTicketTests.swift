import DeviceSimulation
import KeyStore
import KeyStoreTestKit
import Testing

@testable import Admission

/// Tickets that any gateway of a fleet issues and any other one spends.
struct FleetTicketTests {
    private var bench: FleetBench

    init() throws {
        bench = try FleetBench()
        for number in bench.gateways.indices {
            bench.gateways[number].settings.tickets = TicketOffice(fleet: bench.gateways[number].fleet)
        }
    }

    private func principal(_ device: inout SimulatedDevice) throws -> Principal {
        try #require(try bench.decide(try bench.request(by: &device), by: 0).admitted).principal
    }

    private func issue(to principal: Principal, by number: Int = 0, at moment: Moment = start) throws -> TicketIssue {
        let issued = Gathered<TicketIssue>()
        bench.gateways[number].gate.issueTicket(to: principal, from: address("192.0.2.1"), at: moment) {
            issued.add($0)
        }
        return try #require(issued.all.first)
    }

    private func ticket(of device: inout SimulatedDevice) throws -> String {
        try text(try issue(to: try principal(&device)))
    }

    private func text(_ issue: TicketIssue) throws -> String {
        guard case .issued(let issued) = issue else { throw NoTicket() }
        return issued.ticket.text
    }

    private struct NoTicket: Error {}

    private func operatorTicket(uses: Int) throws -> String {
        let issued = Gathered<TicketIssue>()
        let office = try #require(bench.gateways[0].settings.tickets)
        office.issueForOperator(timeToLive: .seconds(60), uses: uses, at: start) { issued.add($0) }
        return try text(try #require(issued.all.first))
    }

    private func spend(_ ticket: String, by number: Int, at moment: Moment = start, admit: Set<String>? = nil) throws
        -> AdmissionDecision
    {
        let request = bench.bench.request(at: moment).with {
            ($0.ticket, $0.allowedMethods) = (ticket, admit)
        }
        return try bench.decide(request, by: number)
    }

    @Test func `a ticket of one gateway is spent at another, once`() throws {
        var device = try bench.registeredDevice()
        let ticket = try ticket(of: &device)
        let principal = try #require(try spend(ticket, by: 1).admitted).principal
        #expect(principal.identity == .key(try #require(KeyID(bytes: device.keyID))))
        #expect(principal.isByTicket && (principal.proof as? AppAttestProof)?.app == Bench.app)
        for number in bench.gateways.indices {
            #expect(try spend(ticket, by: number).refusal?.answer == .invalidTicket)
        }
    }

    @Test func `of many gateways with one ticket exactly one admits`() throws {
        var device = try bench.registeredDevice()
        let gates = bench.gateways.map(\.gate)
        for _ in 0..<10 {
            let ticket = try ticket(of: &device)
            let request = bench.bench.request().with { $0.ticket = ticket }
            let decisions = race(40) { gates[$0 % gates.count].evaluate(request).awaited }
            #expect(decisions.compactMap { $0?.admitted }.count == 1)
            #expect(decisions.compactMap { $0?.refusal }.count { $0.answer == .invalidTicket } == 39)
        }
    }

    @Test func `an operator's ticket has as many uses as it was issued for, in the whole fleet`() throws {
        let ticket = try operatorTicket(uses: 3)
        for number in 0..<3 { #expect(try spend(ticket, by: number).admitted != nil) }
        for number in 0..<4 { #expect(try spend(ticket, by: number).refusal?.answer == .invalidTicket) }
    }

    @Test(arguments: [(1, false), (2, true)])
    func `every gateway knows whether a ticket's bearers share its identity, also by the next ticket`(
        uses: Int, isShared: Bool
    ) throws {
        let bearer = try #require(try spend(try operatorTicket(uses: uses), by: 1).admitted).principal
        #expect(bearer.owner.isShared == isShared)
        let next = try text(try issue(to: bearer, by: 1))
        #expect(try #require(try spend(next, by: 2).admitted).principal.owner == bearer.owner)
        var device = try bench.registeredDevice()
        #expect(try spend(try ticket(of: &device), by: 1).admitted?.principal.owner.isShared == false)
    }

    @Test func `of many clients with one operator's ticket as many are admitted as it has uses`() throws {
        let gates = bench.gateways.map(\.gate)
        let request = bench.bench.request().with { $0.ticket = try? operatorTicket(uses: 30) }
        let decisions = race(40) { gates[$0 % gates.count].evaluate(request).awaited }
        #expect(decisions.compactMap { $0?.admitted }.count == 30)
    }

    @Test func `an operator's ticket that another route refuses keeps its uses`() throws {
        let ticket = try operatorTicket(uses: 2)
        for number in 0..<2 {
            #expect(try spend(ticket, by: number, admit: ["mtls"]).refusal?.answer == .wayNotAllowed)
            #expect(try spend(ticket, by: number).admitted != nil)
        }
        #expect(try spend(ticket, by: 0).refusal?.answer == .invalidTicket)
    }

    @Test func `an operator's ticket of a program that counts in the content has its uses`() throws {
        let ticket = try operatorTicket(uses: 1)
        let hash = try #require(TicketHash(ticket))
        let tickets = FleetTickets(fleet: bench.gateways[0].fleet)
        let taken = Gathered<FleetTickets.Taken?>()
        tickets.take(hash, at: start.monotonic) { taken.add(try? $0.get()) }
        var content = try #require(taken.all.first ?? nil).content
        content.uses = 3
        tickets.keep(content, uses: 1, as: hash, at: start.monotonic) { _ in }
        #expect(try spend(ticket, by: 1, admit: ["mtls"]).refusal?.answer == .wayNotAllowed)
        for number in 0..<3 { #expect(try spend(ticket, by: number).admitted != nil) }
        #expect(try spend(ticket, by: 0).refusal?.answer == .invalidTicket)
    }

    @Test func `a ticket for another route isn't used up`() throws {
        var device = try bench.registeredDevice()
        let ticket = try ticket(of: &device)
        #expect(try spend(ticket, by: 1, admit: ["mtls"]).refusal?.answer == .wayNotAllowed)
        #expect(try spend(ticket, by: 2, admit: ["app"]).admitted != nil)
    }

    @Test func `a ticket ends with its lifetime and with the incarnation`() throws {
        var device = try bench.registeredDevice()
        let (first, second) = (try ticket(of: &device), try ticket(of: &device))
        #expect(try spend(first, by: 1, at: start + 30_000).refusal?.answer == .invalidTicket)
        #expect(try spend(second, by: 1, at: start + 29_999).admitted != nil)
        let third = try ticket(of: &device)
        bench.store.crash(SharedStore.incarnation(2))
        for number in bench.gateways.indices {
            #expect(try spend(third, by: number).refusal?.answer == .invalidTicket)
        }
    }

    @Test func `the store can neither read a ticket nor give its content to another`() throws {
        var device = try bench.registeredDevice()
        let (text, other) = (try ticket(of: &device), try operatorTicket(uses: 1))
        let hash = try #require(TicketHash(text)).carried
        let taken = Gathered<TakenTicket?>()
        bench.store.takeTicket(hash: hash, at: 0, in: SharedStore.incarnation(1)) { taken.add(try? $0.get()) }
        let sealed = try #require(taken.all.first ?? nil).ticket
        let subject = Array(try #require(KeyID(bytes: device.keyID)).base64.utf8)
        #expect(!sealed.sealed.indices.contains { sealed.sealed[$0...].starts(with: subject) })
        let place = try #require(TicketHash(other)).carried
        bench.store.takeTicket(hash: place, at: 0, in: SharedStore.incarnation(1)) { _ in }
        let moved = try #require(SealedTicket(hash: place, sealed: sealed.sealed, expires: sealed.expires))
        bench.store.keep(moved, uses: 1, in: SharedStore.incarnation(1)) { _ in }
        #expect(try spend(other, by: 0).refusal?.answer == .invalidTicket)
        bench.store.keep(sealed, uses: 1, in: SharedStore.incarnation(1)) { _ in }
        #expect(try spend(text, by: 0).admitted != nil)
    }

    @Test func `a ticket's holder is checked again by the gateway that spends it`() throws {
        var device = try bench.registeredDevice()
        let ticket = try ticket(of: &device)
        #expect(bench.store.revoke(try #require(KeyID(bytes: device.keyID)), reason: "lost", at: 1))
        #expect(try spend(ticket, by: 1).refusal?.answer == .keyRevoked)
    }

    @Test(arguments: [SharedStore.Operation.take, .look])
    func `a store that fails causes a 503, and no admission`(operation: SharedStore.Operation) throws {
        var device = try bench.registeredDevice()
        let ticket = try ticket(of: &device)
        bench.store.fail([operation], with: .busy)
        #expect(try spend(ticket, by: 1).refusal?.answer == .storeUnavailable)
    }

    @Test func `a ticket that the store doesn't keep isn't issued, and takes no place`() throws {
        var device = try bench.registeredDevice()
        let principal = try principal(&device)
        bench.store.fail([.keep], with: .busy)
        let office = try #require(bench.gateways[0].settings.tickets)
        guard case .refused(let refusal) = try issue(to: principal) else { throw NoTicket() }
        #expect(refusal.answer == .storeUnavailable && refusal.retryAfter == 1 && office.count == 0)
        bench.store.fail([.keep], with: nil)
        for _ in 0..<TicketOffice.maximumPerHolder { _ = try text(try issue(to: principal)) }
        guard case .full = try issue(to: principal) else { throw NoTicket() }
    }

    @Test func `a withdrawn ticket is worth nothing`() throws {
        var device = try bench.registeredDevice()
        guard case .issued(let issued) = try issue(to: try principal(&device)) else { throw NoTicket() }
        bench.gateways[0].gate.withdraw(issued)
        #expect(try spend(issued.ticket.text, by: 1).refusal?.answer == .invalidTicket)
    }

    @Test func `the end of a chain of tickets is the same at every gateway`() throws {
        var device = try bench.registeredDevice()
        let holder = try #require(try spend(try ticket(of: &device), by: 1).admitted).principal
        let end = Int(TicketOffice.longestChain / .milliseconds(1))
        guard case .issued = try issue(to: holder, by: 1, at: start + (end - 1)) else { throw NoTicket() }
        guard case .chainEnded = try issue(to: holder, by: 1, at: start + end) else { throw NoTicket() }
    }

    @Test func `one stranger's tickets leave room for others`() throws {
        var gateway = bench.gateways[0]
        gateway.settings.requiresAppAuth = false
        let gate = gateway.gate
        func issue(_ place: String) throws -> TicketIssue {
            let issued = Gathered<TicketIssue>()
            gate.issueTicket(to: .anonymous, from: address(place), at: start) { issued.add($0) }
            return try #require(issued.all.first)
        }
        for _ in 0..<TicketOffice.maximumPerHolder { _ = try text(issue("203.0.113.7")) }
        guard case .full = try issue("203.0.113.7") else { throw NoTicket() }
        _ = try text(issue("203.0.113.8"))
    }

    @Test func `the calls for a gateway alone issue nothing in a fleet`() throws {
        var device = try bench.registeredDevice()
        let principal = try principal(&device)
        let issue = bench.gateways[0].gate.issueTicket(to: principal, from: address("192.0.2.1"), at: start)
        guard case .refused(let refusal) = issue else { throw NoTicket() }
        #expect(refusal.answer == .storeUnavailable)
    }
}
