import AppAttest
import DeviceSimulation
import KeyStore
import KeyStoreTestKit
import Testing

@testable import Admission

struct TicketPolicyTests {
    private var bench: Bench
    private let office = TicketOffice()

    init() throws {
        bench = try Bench()
        bench.settings.tickets = office
        bench.settings.clientCertificates = TrustedChains()
    }

    private func issued(_ issue: TicketIssue) throws -> String {
        guard case .issued(let issued) = issue else { throw NoTicket() }
        return issued.ticket.text
    }

    private struct NoTicket: Error {}

    private func operatorTicket(uses: Int = 1) throws -> String {
        try issued(office.issueForOperator(timeToLive: .seconds(60), uses: uses, at: start.monotonic))
    }

    /// A ticket as `POST /ticket` issues it to a device.
    private func ticket(of device: inout SimulatedDevice) throws -> String {
        guard
            case .authenticated(let principal) = bench.gate.authenticate(
                bench.request(try bench.assertion(by: &device)))
        else { throw NoTicket() }
        return try issued(office.issue(to: principal, at: start.monotonic))
    }

    private func decision(_ ticket: String?, changing change: (inout AdmissionRequest) -> Void = { _ in })
        -> AdmissionDecision
    {
        bench.gate.evaluate(
            bench.request().with {
                $0.ticket = ticket
                change(&$0)
            })
    }

    @Test func `a ticket admits the client that requested it, once`() throws {
        var device = try bench.registeredDevice()
        let ticket = try ticket(of: &device)
        let principal = try #require(decision(ticket).admitted?.principal)
        let key = try #require(KeyID(bytes: device.keyID))
        #expect(principal.identity == .key(key))
        let proof = try #require(principal.proof as? AppAttestProof)
        #expect(proof.key == key && proof.app == Bench.app)
        #expect(principal.proxyName == "app_attest_ticket")
        let refusal = try #require(decision(ticket).refusal)
        #expect(refusal.answer == .invalidTicket)
        #expect(refusal.status == 401)
        #expect(!refusal.detail.contains(ticket))
    }

    @Test func `a ticket keeps its certificate's serial number`() throws {
        let number = CertificateNumber(issuer: [1], serial: [8])
        let request = bench.request().with { $0.certificate = .good.with { $0.number = number } }
        guard case .authenticated(let principal) = bench.gate.authenticate(request) else { throw NoTicket() }
        let ticket = try issued(office.issue(to: principal, at: start.monotonic))
        let proof = try #require(decision(ticket).admitted?.principal.proof as? ClientCertificateProof)
        #expect(proof.number == number)
    }

    @Test(arguments: ["", "x", String(repeating: "A", count: 43)])
    func `a wrong ticket is refused even with other valid credentials`(ticket: String) throws {
        var device = try bench.registeredDevice()
        let assertion = try bench.assertion(by: &device)
        let refusal = decision(ticket) {
            $0.assertion = assertion
            $0.certificate = .good
        }.refusal
        #expect(refusal?.answer == .invalidTicket)
        #expect(bench.challenges.spentCount == 0)
        var lax = bench
        lax.settings.requiresAppAuth = false
        #expect(lax.gate.evaluate(lax.request().with { $0.ticket = ticket }).refusal?.answer == .invalidTicket)
    }

    @Test func `a ticket is a wrong credential if tickets are disabled`() throws {
        var bench = bench
        bench.settings.tickets = nil
        bench.settings.requiresAppAuth = false
        #expect(bench.gate.evaluate(bench.request().with { $0.ticket = "" }).refusal?.answer == .invalidTicket)
        #expect(bench.gate.evaluate(bench.request()).admitted != nil)
    }

    @Test func `an expired ticket is refused`() throws {
        var device = try bench.registeredDevice()
        let ticket = try ticket(of: &device)
        let late = start + 30_000
        #expect(
            bench.gate.evaluate(bench.request(at: late).with { $0.ticket = ticket }).refusal?.answer == .invalidTicket)
    }

    @Test func `a refusal for another reason doesn't spend the ticket`() throws {
        let ticket = try operatorTicket()
        #expect(
            decision(ticket) { $0.handshake.fault = .version(received: "8") }.refusal?.answer == .unsupportedVersion)
        #expect(decision(ticket) { $0.origin = "https://evil.example" }.refusal?.answer == .originRefused)
        var full = bench
        full.settings.leases = SessionLeases(maximum: 0)
        #expect(full.gate.evaluate(full.request().with { $0.ticket = ticket }).refusal?.answer == .atCapacity)
        var limited = bench
        limited.settings.limits = UpgradeLimits(failedUpgradesPerMinute: 0, verificationsPerSecond: 0)
        #expect(limited.gate.evaluate(limited.request().with { $0.ticket = ticket }).refusal?.answer == .rateLimited)
        var draining = bench
        draining.settings.drain = DrainSwitch()
        draining.settings.drain.beginDraining()
        #expect(draining.gate.evaluate(draining.request().with { $0.ticket = ticket }).refusal?.answer == .draining)
        #expect(decision(ticket).admitted != nil)
    }

    @Test func `wrong tickets count as failures, and a valid one still passes`() throws {
        let ticket = try operatorTicket()
        for _ in 0..<10 { #expect(decision("guess").refusal?.answer == .invalidTicket) }
        #expect(decision("guess").refusal?.answer == .rateLimited)
        #expect(decision(ticket).admitted != nil)
    }

    @Test func `the ticket of a revoked or forgotten key is refused`() throws {
        var revoked = try bench.registeredDevice()
        let ticketOfRevoked = try ticket(of: &revoked)
        _ = bench.registry.revoke(try #require(KeyID(bytes: revoked.keyID)), reason: "lost", at: 0)
        #expect(decision(ticketOfRevoked).refusal?.answer == .keyRevoked)
        var forgotten = try bench.registeredDevice()
        let ticketOfForgotten = try ticket(of: &forgotten)
        _ = bench.registry.forget(try #require(KeyID(bytes: forgotten.keyID)))
        #expect(decision(ticketOfForgotten).refusal?.answer == .invalidTicket)
    }

    @Test func `a ticket whose key can't be looked up is answered with 503`() throws {
        var device = try bench.registeredDevice()
        let ticket = try ticket(of: &device)
        var broken = bench
        broken.settings.appAttest = bench.appAttest(over: FailingRegistry(bench.registry, failing: [.look: .busy]))
        #expect(broken.gate.evaluate(broken.request().with { $0.ticket = ticket }).refusal?.answer == .storeUnavailable)
    }

    @Test func `exactly one of fifty upgrades with one ticket is admitted`() throws {
        var bench = bench
        bench.settings.limits = UpgradeLimits(failedUpgradesPerMinute: 1_000, verificationsPerSecond: 1_000)
        let ticket = try operatorTicket()
        let (gate, request) = (bench.gate, bench.request().with { $0.ticket = ticket })
        let decisions = race(50) { _ in gate.evaluate(request) }
        #expect(decisions.compactMap(\.admitted).count == 1)
        #expect(decisions.compactMap(\.refusal).allSatisfy { $0.answer == .invalidTicket })
    }

    @Test func `authentication needs neither a handshake nor a free lease, and spends the challenge`() throws {
        var bench = bench
        bench.settings.leases = SessionLeases(maximum: 0)
        var device = try bench.registeredDevice()
        let request = bench.request(try bench.assertion(by: &device)).with {
            $0.handshake = UpgradeHandshake(method: "POST", fault: .method)
        }
        guard case .authenticated = bench.gate.authenticate(request) else { throw NoTicket() }
        guard case .refused(let refusal) = bench.gate.authenticate(request) else { throw NoTicket() }
        #expect(refusal.answer == .invalidNonce)
        #expect(refusal.freshChallenge != nil)
        guard case .refused(let foreign) = bench.gate.authenticate(request.with { $0.origin = "https://evil.example" })
        else {
            throw NoTicket()
        }
        #expect(foreign.answer == .originRefused)
        #expect(bench.settings.leases.count == 0)
    }
}

/// A route that doesn't allow some admission methods.
struct RoutePolicyTests {
    private var bench: Bench
    private let office = TicketOffice()

    init() throws {
        bench = try Bench()
        bench.settings.tickets = office
        bench.settings.clientCertificates = TrustedChains()
        bench.settings.requiresAppAuth = false
    }

    private func decision(_ request: AdmissionRequest, to methods: Set<String>?) -> AdmissionDecision {
        bench.gate.evaluate(request.with { $0.allowedMethods = methods })
    }

    private func ticket(_ principal: Principal?) -> String? {
        let issue =
            principal.map { office.issue(to: $0, at: start.monotonic) }
            ?? office.issueForOperator(timeToLive: .seconds(60), uses: 1, at: start.monotonic)
        guard case .issued(let issued) = issue else { return nil }
        return issued.ticket.text
    }

    @Test func `assertions are admitted to app routes, and spend nothing elsewhere`() throws {
        var device = try bench.registeredDevice()
        let request = bench.request(try bench.assertion(by: &device)).with { $0.certificate = .good }
        let refusal = decision(request, to: ["cert", "ticket", "anonymous"]).refusal
        #expect(refusal?.answer == .wayNotAllowed)
        #expect(refusal?.status == 403)
        #expect(bench.challenges.spentCount == 0)
        #expect(decision(request, to: ["app"]).admitted?.principal.identity.method == AppAttestMethod.name)
    }

    @Test func `certificates are admitted to routes for debug clients`() throws {
        let request = bench.request().with { $0.certificate = .good }
        #expect(decision(request, to: ["app", "ticket", "anonymous"]).refusal?.answer == .wayNotAllowed)
        #expect(decision(request, to: ["cert"]).admitted?.principal.identity.method == ClientCertificateMethod.name)
        #expect(decision(request, to: nil).admitted != nil)
    }

    @Test func `a ticket counts as its holder's method, and isn't spent on other routes`() throws {
        let mine = try #require(ticket(Principal(debugging: .good)))
        let request = bench.request().with { $0.ticket = mine }
        #expect(decision(request, to: ["ticket", "app", "anonymous"]).refusal?.answer == .wayNotAllowed)
        #expect(decision(request, to: ["cert"]).admitted?.principal.identity.method == ClientCertificateMethod.name)
        let bearer = try #require(ticket(nil))
        let bearing = bench.request().with { $0.ticket = bearer }
        #expect(decision(bearing, to: ["app", "cert", "anonymous"]).refusal?.answer == .wayNotAllowed)
        #expect(decision(bearing, to: ["ticket"]).admitted?.principal.identity.method == TicketMethod.name)
    }

    @Test func `without anonymous access a client without credentials is refused`() throws {
        #expect(decision(bench.request(), to: ["app"]).refusal?.answer == .appAuthRequired)
        #expect(
            decision(bench.request(), to: ["app", "anonymous"]).admitted?.principal.identity.method
                == AnonymousMethod.name)
        #expect(decision(bench.request(), to: []).refusal?.answer == .appAuthRequired)
    }

    @Test func `a refusal by route doesn't count as a failed upgrade`() throws {
        let request = bench.request().with { $0.certificate = .good }
        for _ in 0..<20 { #expect(decision(request, to: ["app"]).refusal?.answer == .wayNotAllowed) }
        #expect(decision(request, to: nil).admitted != nil)
    }
}
