import AppAttest
import DeviceSimulation
import Foundation
import KeyStore
import KeyStoreTestKit
import Testing
import WireText

@testable import Admission

/// A presented ticket, the next ticket and a resume are allowed only as long as their proof is valid.
struct ProofCheckTests {
    private static let secret = String(repeating: "correct horse ", count: 3)

    private var bench: Bench
    private let office = TicketOffice()

    init() throws {
        bench = try Bench()
        bench.settings.tickets = office
        bench.settings.clientCertificates = TrustedChains()
    }

    private struct NoTicket: Error {}

    private func text(_ issue: TicketIssue) throws -> String {
        guard case .issued(let issued) = issue else { throw NoTicket() }
        return issued.ticket.text
    }

    private func request(_ ticket: String, at moment: Moment = start) -> AdmissionRequest {
        bench.request(at: moment).with { $0.ticket = ticket }
    }

    /// A client that was admitted earlier: once by the proof itself, and once by a ticket.
    private struct Client {
        let direct: Principal
        let byTicket: Principal
    }

    private func client(_ request: AdmissionRequest) throws -> Client {
        guard case .authenticated(let direct) = bench.gate.authenticate(request) else { throw NoTicket() }
        let first = try text(bench.gate.issueTicket(to: direct, from: request.address, at: start))
        return Client(
            direct: direct, byTicket: try #require(bench.gate.evaluate(self.request(first)).admitted?.principal))
    }

    private func debugClient() throws -> Client { try client(bench.request().with { $0.certificate = .good }) }

    private func anonymousClient() throws -> Client {
        var open = self
        open.bench.settings.requiresAppAuth = false
        return try open.client(bench.request())
    }

    /// The refusal of each step from `client` by a gate that was changed meanwhile; `nil`: it is allowed.
    private func refusals(
        of client: Client, at moment: Moment = start, changing change: (inout GateSettings) -> Void = { _ in }
    ) throws -> [RefusalAnswer?] {
        let old = try text(office.issue(to: client.byTicket, at: start.monotonic))
        let gate = bench.gate.changed(change)
        let address = bench.request().address
        let next: RefusalAnswer? =
            switch gate.issueTicket(to: client.byTicket, from: address, at: moment) {
            case .issued: nil
            case .refused(let refusal): refusal.answer
            case .full, .chainEnded: throw NoTicket()
            }
        return [
            gate.evaluate(request(old, at: moment)).refusal?.answer, next,
            gate.recheck(client.byTicket, from: address, at: moment)?.answer,
            gate.recheck(client.direct, from: address, at: moment)?.answer,
        ]
    }

    private static let allowed = [RefusalAnswer?](repeating: nil, count: 4)
    private static func all(_ answer: RefusalAnswer) -> [RefusalAnswer?] { Array(repeating: answer, count: 4) }

    // MARK: No credentials

    @Test func `an anonymous ticket is valid while anonymous access is allowed`() throws {
        let client = try anonymousClient()
        #expect(try refusals(of: client) { $0.requiresAppAuth = false } == Self.allowed)
        #expect(try refusals(of: client) { $0.requiresAppAuth = true } == Self.all(.invalidTicket))
    }

    @Test func `a reload that requires credentials ends every chain of anonymous tickets`() throws {
        var principal = try anonymousClient().byTicket
        let open = bench.gate.changed { $0.requiresAppAuth = false }
        for _ in 0..<4 {
            let next = try text(open.issueTicket(to: principal, from: bench.request().address, at: start))
            principal = try #require(open.evaluate(request(next)).admitted?.principal)
        }
        let last = try text(open.issueTicket(to: principal, from: bench.request().address, at: start))
        #expect(bench.gate.evaluate(request(last)).refusal?.answer == .invalidTicket)
        // The attempt spends the ticket: reverting the settings doesn't restore it.
        #expect(open.evaluate(request(last)).refusal?.answer == .invalidTicket)
    }

    // MARK: Client certificates

    @Test func `a certificate's ticket is valid while the certificate verifies`() throws {
        let client = try debugClient()
        #expect(try refusals(of: client) == Self.allowed)
        #expect(try refusals(of: client) { $0.requiresAppAuth = false } == Self.allowed)
    }

    @Test func `a certificate's ticket ends with the certificate's validity, to the millisecond`() throws {
        let client = try debugClient()
        let chains = TrustedChains().with {
            $0.notBefore = start.unixMilliseconds - 5
            $0.notAfter = start.unixMilliseconds + 5
        }
        for (milliseconds, isValid) in [(-6, false), (-5, true), (5, true), (6, false)] {
            let answers = try refusals(of: client, at: start + milliseconds) { $0.clientCertificates = chains }
            #expect(answers == (isValid ? Self.allowed : Self.all(.invalidTicket)), "\(milliseconds)")
        }
    }

    @Test func `a certificate's ticket ends when its CA is replaced or it is revoked`() throws {
        let client = try debugClient()
        let replaced = TrustedChains().with { $0.trusted = [ClientCertificateChain([[8]])] }
        #expect(try refusals(of: client) { $0.clientCertificates = replaced } == Self.all(.invalidTicket))
        let revoking = TrustedChains().with { $0.revoked = [TrustedChains.good] }
        #expect(try refusals(of: client) { $0.clientCertificates = revoking } == Self.all(.invalidTicket))
    }

    @Test func `a certificate's ticket ends when client certificates are disabled, even with anonymous access`() throws
    {
        let client = try debugClient()
        for requires in [true, false] {
            let answers = try refusals(of: client) {
                $0.clientCertificates = nil
                $0.requiresAppAuth = requires
            }
            #expect(answers == Self.all(.invalidTicket))
        }
    }

    @Test func `a certificate's ticket ends when the certificate is blocked`() throws {
        let client = try debugClient()
        let list = try BlockList("certificate " + Hexadecimal.encode(ClientCertificate.good.sha256))
        #expect(try refusals(of: client) { $0.blockList = list } == Self.all(.deviceBlocked))
    }

    @Test func `no ticket is issued for a chain that is too large to keep`() throws {
        let request = bench.request().with { $0.certificate = .good.with { $0.chain = nil } }
        guard case .authenticated(let principal) = bench.gate.authenticate(request) else { throw NoTicket() }
        guard case .refused(let refusal) = bench.gate.issueTicket(to: principal, from: request.address, at: start)
        else { throw NoTicket() }
        #expect(refusal.answer == .invalidClientCertificate)
        #expect(office.count == 0)
    }

    @Test func `a chain has one to three certificates and at most 8 KiB`() {
        let maximum = ClientCertificateChain.maximumBytes
        #expect(ClientCertificateChain([]) == nil)
        #expect(ClientCertificateChain([[1], [2], [3]]) != nil)
        #expect(ClientCertificateChain([[1], [2], [3], [4]]) == nil)
        for (count, isKept) in [(maximum - 1, true), (maximum, false)] {
            let chain = ClientCertificateChain([[1], [UInt8](repeating: 2, count: count)])
            #expect((chain != nil) == isKept, "\(count)")
        }
    }

    @Test func `all tickets of a certificate are checked against its latest chain`() throws {
        let renewed = try #require(ClientCertificateChain([[7], [9]]))
        let gate = bench.gate.changed { $0.clientCertificates = TrustedChains(trusted: [TrustedChains.good, renewed]) }
        var tickets: [String] = []
        let chains: [ClientCertificateChain?] = [TrustedChains.good, renewed]
        for chain in chains {
            let request = bench.request().with { $0.certificate = .good.with { $0.chain = chain } }
            guard case .authenticated(let principal) = gate.authenticate(request) else { throw NoTicket() }
            tickets.append(try text(gate.issueTicket(to: principal, from: request.address, at: start)))
        }
        let later = gate.changed { $0.clientCertificates = TrustedChains(trusted: [renewed]) }
        for ticket in tickets { #expect(later.evaluate(request(ticket)).admitted != nil) }
    }

    // MARK: App Attest

    @Test func `a device's ticket is valid while its key is`() throws {
        var device = try bench.registeredDevice()
        let id = try #require(KeyID(bytes: device.keyID))
        let client = try client(bench.request(try bench.assertion(by: &device)))
        #expect(try refusals(of: client) == Self.allowed)
        #expect(try refusals(of: client) { $0.appAttest = nil } == Self.all(.invalidTicket))
        let busy = bench.appAttest(over: FailingRegistry(bench.registry, failing: [.look: .busy]))
        #expect(try refusals(of: client) { $0.appAttest = busy } == Self.all(.storeUnavailable))
        let list = try BlockList("key " + id.base64)
        #expect(try refusals(of: client) { $0.blockList = list } == Self.all(.deviceBlocked))
        _ = bench.registry.revoke(id, reason: "lost", at: 0)
        #expect(try refusals(of: client) == Self.all(.keyRevoked))
        _ = bench.registry.restore(id)
        #expect(try refusals(of: client) == Self.allowed)
        _ = bench.registry.forget(id)
        #expect(try refusals(of: client) == Self.all(.invalidTicket))
    }

    @Test func `a device's ticket ends when the key's app, environment or root isn't configured any more`() throws {
        var device = try bench.registeredDevice()
        let client = try client(bench.request(try bench.assertion(by: &device)))
        let other = try SimulatedAuthority(at: Date(timeIntervalSince1970: Double(start.unixMilliseconds) / 1_000))
        let (both, here) = ([Bench.app, Bench.otherApp], bench.trustRoot)
        for (apps, environments, root, isRight) in [
            (both, Set([AttestationEnvironment.production]), here, true),
            ([Bench.otherApp], [.production], here, false),
            (both, [.development], here, false), (both, [.production], other.trustRoot, false),
        ] {
            var appAttest = try #require(bench.settings.appAttest)
            appAttest.scope = AttestationScope(
                policy: AttestationPolicy(apps: apps, environments: environments), trustRoot: root)
            let answers = try refusals(of: client) { $0.appAttest = appAttest }
            #expect(answers == (isRight ? Self.allowed : Self.all(.invalidTicket)), "\(apps) \(environments)")
        }
    }

    @Test func `a ticket is valid only for the app of its key's attestation`() throws {
        var device = try bench.registeredDevice()
        let id = try #require(KeyID(bytes: device.keyID))
        let client = try client(bench.request(try bench.assertion(by: &device)))
        var key = try #require(bench.registry.key(id))
        _ = bench.registry.forget(id)
        key.app = Bench.otherApp.description
        #expect(bench.registry.enrol(key) == .enrolled)
        #expect(try refusals(of: client) == Self.all(.invalidTicket))
    }

    // MARK: Shared secrets

    @Test func `a ticket ends with its secret, and one without a secret ends when secrets are required`() throws {
        var bench = self
        bench.bench.settings.sharedSecrets = try SharedSecrets(secretLine("old", Self.secret))
        let request = self.bench.request().with {
            $0.certificate = .good
            $0.authorization = "Bearer \(Self.secret)"
        }
        let client = try bench.client(request)
        #expect(try bench.refusals(of: client) == Self.allowed)
        let others = try SharedSecrets(secretLine("new", Self.secret))
        #expect(try bench.refusals(of: client) { $0.sharedSecrets = others } == Self.all(.invalidTicket))
        #expect(try bench.refusals(of: client) { $0.sharedSecrets = nil } == Self.allowed)
        #expect(try refusals(of: debugClient()) { $0.sharedSecrets = others } == Self.all(.invalidTicket))
    }

    // MARK: The operator's tickets

    @Test func `an operator's ticket requires only that its bearer isn't blocked`() throws {
        let others = try SharedSecrets(secretLine("new", Self.secret))
        let issue = office.issueForOperator(timeToLive: .seconds(60), uses: 1, at: start.monotonic)
        let bearer = try #require(bench.gate.evaluate(request(try text(issue))).admitted?.principal)
        let client = Client(direct: bearer, byTicket: bearer)
        let answers = try refusals(of: client) {
            $0.requiresAppAuth = true
            $0.clientCertificates = nil
            $0.appAttest = nil
            $0.sharedSecrets = others
        }
        #expect(answers == Self.allowed)
        let list = try BlockList("address 192.0.2.0/24")
        #expect(try refusals(of: client) { $0.blockList = list } == Self.all(.deviceBlocked))
    }

    // MARK: Memory

    @Test func `the number of certificates with tickets is limited until one is spent`() throws {
        let office = TicketOffice(maximum: 10_000)
        func issue(_ number: Int) -> TicketIssue {
            let sha256 = Array("\(number)".utf8)
            return office.issue(
                to: Principal(debugging: .good.with { $0.sha256 = sha256 }), at: start.monotonic)
        }
        let tickets = try (0..<TicketOffice.maximumLargeProofs).map { try text(issue($0)) }
        guard case .full(let seconds) = issue(-1) else { throw NoTicket() }
        #expect((1...31).contains(seconds))
        // Identities that already have tickets may have more, and clients without a certificate aren't affected.
        let second = try text(issue(0))
        _ = try text(office.issue(to: .anonymous, at: start.monotonic))
        guard case .spent = office.spend(tickets[0], at: start.monotonic) else { throw NoTicket() }
        guard case .full = issue(-1) else { throw NoTicket() }
        guard case .spent = office.spend(second, at: start.monotonic) else { throw NoTicket() }
        _ = try text(issue(-1))
        guard case .full = issue(-2) else { throw NoTicket() }
        #expect(office.count == TicketOffice.maximumLargeProofs + 1)
    }
}
