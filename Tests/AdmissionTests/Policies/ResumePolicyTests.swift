import DeviceSimulation
import KeyStore
import KeyStoreTestKit
import Testing
import WireText

@testable import Admission

/// Upgrades that present the token of a session and nothing else.
struct ResumePolicyTests {
    private var bench: Bench
    private let office = TicketOffice()
    private let book = RegisterBook<String>()

    init() throws {
        bench = try Bench()
        bench.settings.tickets = office
        bench.settings.clientCertificates = TrustedChains()
        let book = Shared(book)
        bench.settings.sessionBearer = { book.value.register.bearer(of: $0, at: $1) }
    }

    /// The tests use it on one thread.
    private struct Shared: @unchecked Sendable {
        let value: RegisterBook<String>

        init(_ value: RegisterBook<String>) { self.value = value }
    }

    private struct NoPrincipal: Error {}

    private func principal(_ decision: AdmissionDecision) throws -> Principal {
        guard let principal = decision.admitted?.principal else { throw NoPrincipal() }
        return principal
    }

    private func ticketHolder(_ device: inout SimulatedDevice) throws -> Principal {
        let owner = try principal(bench.gate.evaluate(bench.request(try bench.assertion(by: &device))))
        guard case .issued(let issued) = office.issue(to: owner, at: start.monotonic) else { throw NoPrincipal() }
        return try principal(bench.gate.evaluate(bench.request().with { $0.ticket = issued.ticket.text }))
    }

    /// A session that `principal` has begun.
    private func session(of principal: Principal, id: String = "s1") throws -> SessionCredential {
        var generator = SystemRandomNumberGenerator()
        let token = SessionToken(using: &generator)
        let lease = try #require(book.reserve(for: principal.identity, from: address("192.0.2.1")).lease)
        #expect(book.open(lease, id: id, token: token, of: principal, holder: "driver"))
        return SessionCredential(id: id, token: token.text)
    }

    private func decision(
        _ session: SessionCredential, after milliseconds: Int = 0,
        changing change: (inout AdmissionRequest) -> Void = { _ in }
    ) -> AdmissionDecision {
        bench.gate.evaluate(
            bench.request(at: start + milliseconds).with {
                $0.session = session
                change(&$0)
            })
    }

    @Test func `a session that began with a ticket is resumed with its token, long after the ticket`() throws {
        var device = try bench.registeredDevice()
        let holder = try ticketHolder(&device)
        let back = try principal(decision(try session(of: holder), after: 40 * 60_000))
        #expect(back.identity == holder.identity && back.isByTicket && back.isByToken)
    }

    @Test func `a session that began with an assertion or a certificate isn't resumed by its token alone`() throws {
        var device = try bench.registeredDevice()
        let app = try principal(bench.gate.evaluate(bench.request(try bench.assertion(by: &device))))
        let debug = try principal(bench.gate.evaluate(bench.request().with { $0.certificate = .good }))
        for (id, owner) in [("app", app), ("debug", debug)] {
            let refusal = decision(try session(of: owner, id: id)).refusal
            #expect(refusal?.answer == .invalidResume, "\(id)")
        }
        // With its credentials it may, unchanged.
        let own = SessionCredential(id: "app", token: "")
        let assertion = try bench.assertion(by: &device)
        #expect(try !principal(decision(own) { $0.assertion = assertion }).isByToken)
        #expect(try !principal(decision(own) { $0.certificate = .good }).isByToken)
    }

    @Test func `a wrong, foreign or replaced token is refused without detail`()
        throws
    {
        var device = try bench.registeredDevice()
        let holder = try ticketHolder(&device)
        let mine = try session(of: holder, id: "mine")
        let other = try session(of: holder, id: "other")
        let wrong = [
            SessionCredential(id: mine.id, token: other.token), SessionCredential(id: "none", token: mine.token),
            SessionCredential(id: mine.id, token: ""), SessionCredential(id: mine.id, token: mine.token.uppercased()),
            SessionCredential(id: String(repeating: "x", count: 100_000), token: mine.token),
        ]
        for credential in wrong {
            let refusal = try #require(decision(credential).refusal)
            #expect(refusal.answer == .invalidResume && refusal.status == 401)
            #expect(!refusal.detail.contains(mine.token) && refusal.code.countsAsFailedUpgrade)
        }
        guard
            case .claimed(let lease, _, _) = book.claim(
                id: mine.id, token: mine.token, owner: holder.identity, at: start)
        else { throw NoPrincipal() }
        #expect(book.adopted(lease, by: "next driver"))
        book.register.tokenConfirmed(lease, at: start.monotonic)
        #expect(decision(mine, after: 30_000).refusal?.answer == .invalidResume)
    }

    @Test func `a ticket or an assertion in the same request is used instead of the token`()
        throws
    {
        var device = try bench.registeredDevice()
        let mine = try session(of: try ticketHolder(&device))
        #expect(decision(mine) { $0.ticket = "" }.refusal?.answer == .invalidTicket)
        let refusal = decision(mine) { $0.assertion.keyID = "" }.refusal
        #expect(refusal?.answer == .appAuthRequired || refusal?.answer == .invalidResume)
    }

    @Test func `the token of a key that was revoked or blocked is refused`() throws {
        var device = try bench.registeredDevice()
        let mine = try session(of: try ticketHolder(&device))
        let id = try #require(KeyID(bytes: device.keyID))
        #expect(decision(mine).admitted != nil)
        #expect(bench.registry.revoke(id, reason: "lost", at: start.unixMilliseconds))
        #expect(decision(mine).refusal?.answer == .keyRevoked)
    }

    @Test func `the token replaces the shared secret shown for its ticket, and no other`() throws {
        var device = try bench.registeredDevice()
        let mine = try session(of: try ticketHolder(&device))
        var guarded = self
        guarded.bench.settings.sharedSecrets = try SharedSecrets("app sha256:\(String(repeating: "0", count: 64))")
        #expect(guarded.decision(mine).refusal != nil, "none was shown then")
    }

    @Test func `a full gateway lets a client with a token use the reserve`() throws {
        var device = try bench.registeredDevice()
        let mine = try session(of: try ticketHolder(&device))
        var full = self
        full.bench.settings.leases = SessionLeases(maximum: 0)
        full.bench.settings.mayComeBack = { _, _ in true }
        #expect(full.decision(mine).admitted != nil)
        full.bench.settings.mayComeBack = { _, _ in false }
        #expect(full.decision(SessionCredential(id: "none", token: mine.token)).refusal?.answer == .atCapacity)
    }

    @Test func `no description shows the token`() {
        let credential = SessionCredential(id: "the id", token: "the token")
        var dumped = ""
        dump(credential, to: &dumped)
        #expect(![dumped, "\(credential)", String(reflecting: credential)].contains { $0.contains("the token") })
    }
}
