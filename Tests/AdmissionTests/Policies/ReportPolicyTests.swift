import DeviceSimulation
import KeyStore
import KeyStoreTestKit
import Testing

@testable import Admission

@Suite("REQUIRE_APP_AUTH=report")
struct ReportPolicyTests {
    private let end = start.unixMilliseconds + 60_000
    private var bench: Bench

    init() throws {
        bench = try Bench()
        bench.settings.appAuth = .reported(until: end)
    }

    private func reported(_ request: AdmissionRequest, by gate: Gate? = nil) -> Refusal? {
        let principal = (gate ?? bench.gate).evaluate(request).admitted?.principal
        #expect(principal == nil || principal?.identity == .anonymous)
        return principal?.reported
    }

    @Test func `admits a client without credentials as anonymous, and says what it lacks`() throws {
        let refusal = try #require(reported(bench.request()))
        #expect(refusal.code == .appAuthRequired && refusal.failed.check == .credential && refusal.method == .none)
    }

    @Test func `admits faults of app authentication`() throws {
        var device = try bench.registeredDevice()
        var stranger = SimulatedDevice(app: Bench.app)
        let foreign = try bench.assertion(by: &device, over: Challenges(epoch: epoch).issue(at: start).nonce)
        var damaged = try bench.assertion(by: &device)
        damaged.data = "AAAA"
        let faults: [(AssertionFields, RefusalCode)] = [
            (try bench.assertion(by: &stranger), .unknownKey), (foreign, .invalidNonce),
            (damaged, .assertionRejected), (AssertionFields(keyID: "x"), .appAuthRequired),
        ]
        for (fields, code) in faults {
            let refusal = try #require(reported(bench.request(fields)), "\(code)")
            #expect(refusal.code == code && refusal.method == AppAttestMethod.name)
        }
    }

    @Test func `changes nothing for valid credentials`() throws {
        var device = try bench.registeredDevice()
        let principal = try #require(
            bench.gate.evaluate(bench.request(try bench.assertion(by: &device))).admitted?.principal)
        #expect(principal.reported == nil && principal.identity.method == AppAttestMethod.name)
    }

    @Test func `ends at its time, to the millisecond`() throws {
        for (offset, isOpen) in [(59_999, true), (60_000, false), (3_600_000, false)] {
            let decision = bench.gate.evaluate(bench.request(at: start + offset))
            #expect((decision.admitted != nil) == isOpen)
            #expect(isOpen || decision.refusal?.answer == .appAuthRequired)
        }
    }

    // MARK: What stays enforced

    @Test func `keeps a revoked key out, with a good assertion and with a wrong one`() throws {
        var device = try bench.registeredDevice()
        let id = try #require(KeyID(bytes: device.keyID))
        #expect(bench.registry.revoke(id, reason: "lost", at: 1))
        var damaged = try bench.assertion(by: &device)
        damaged.data = "AAAA"
        var spent = damaged
        spent.nonce = "00"
        for fields in [try bench.assertion(by: &device), damaged, spent] {
            #expect(bench.gate.evaluate(bench.request(fields)).refusal?.answer == .keyRevoked)
        }
    }

    @Test func `keeps out whoever is on the block list`() throws {
        var bench = bench
        let device = SimulatedDevice(app: Bench.app)
        let id = try #require(KeyID(bytes: device.keyID)).base64
        bench.settings.blockList = try BlockList("address 198.51.100.7\nkey \(id)")
        let fromThere = bench.request().with { $0.address = address("198.51.100.7") }
        #expect(bench.gate.evaluate(fromThere).refusal?.answer == .deviceBlocked)
        let key = bench.request(AssertionFields(keyID: id, data: "x", nonce: "x"))
        #expect(bench.gate.evaluate(key).refusal?.answer == .deviceBlocked)
    }

    @Test func `keeps other rules: origin, handshake, capacity, shared secret, routes`() throws {
        let changes: [(inout Bench, inout AdmissionRequest) throws -> RefusalAnswer] = [
            { _, request in
                request.origin = "https://evil.example"
                return .originRefused
            },
            { _, request in
                request.handshake.fault = .version(received: "8")
                return .unsupportedVersion
            },
            { bench, _ in
                bench.settings.leases = SessionLeases(maximum: 0)
                return .atCapacity
            },
            { bench, _ in
                bench.settings.sharedSecrets = try SharedSecrets(
                    secretLine("main", "0123456789abcdef0123456789abcdef"))
                return .sharedSecretRequired
            },
            { _, request in
                request.allowedMethods = ["app"]
                return .appAuthRequired
            },
        ]
        for change in changes {
            var (bench, request) = (bench, bench.request())
            let answer = try change(&bench, &request)
            #expect(bench.gate.evaluate(request).refusal?.answer == answer)
        }
    }

    @Test func `keeps refusing wrong tickets and client certificates, which aren't the app's`() throws {
        var bench = bench
        bench.settings.tickets = TicketOffice()
        bench.settings.clientCertificates = TrustedChains()
        #expect(bench.gate.evaluate(bench.request().with { $0.ticket = "x" }).refusal?.answer == .invalidTicket)
        let certificate = bench.request().with { $0.certificate = .good.with { $0.isVerified = false } }
        #expect(bench.gate.evaluate(certificate).refusal?.answer == .invalidClientCertificate)
    }

    @Test func `refuses where the store can't say whether a key is revoked`() throws {
        var bench = bench
        var device = try bench.registeredDevice()
        bench.settings.appAttest = bench.appAttest(
            over: FailingRegistry(bench.registry, failing: [.look: .unavailable("disk")]))
        let fields = try bench.assertion(by: &device)
        #expect(bench.gate.evaluate(bench.request(fields)).refusal?.answer == .storeUnavailable)
        let foreign = AssertionFields(keyID: fields.keyID, data: "x", nonce: "x")
        #expect(bench.gate.evaluate(bench.request(foreign)).refusal?.answer == .storeUnavailable)
    }

    @Test func `doesn't count its clients as failed upgrades, which would lock out their address`() throws {
        var bench = bench
        bench.settings.limits = UpgradeLimits(failedUpgradesPerMinute: 1, verificationsPerSecond: 1)
        for _ in 0..<20 { #expect(reported(bench.request(), by: bench.gate) != nil) }
    }

    // MARK: What clients keep

    @Test func `gives tickets that end with it`() throws {
        var bench = bench
        bench.settings.tickets = TicketOffice(timeToLive: .seconds(300))
        guard case .authenticated(let principal) = bench.gate.authenticate(bench.request()),
            case .issued(let first) = bench.gate.issueTicket(to: principal, from: address("192.0.2.1"), at: start),
            case .issued(let second) = bench.gate.issueTicket(to: principal, from: address("192.0.2.1"), at: start)
        else {
            Issue.record("no ticket")
            return
        }
        func spend(_ ticket: IssuedTicket, at moment: Moment) -> AdmissionDecision {
            bench.gate.evaluate(bench.request(at: moment).with { $0.ticket = ticket.ticket.text })
        }
        let admitted = try #require(spend(first, at: start + 1_000).admitted?.principal)
        #expect(admitted.reported?.code == .appAuthRequired && admitted.isByTicket)
        #expect(spend(second, at: start + 60_000).refusal?.answer == .invalidTicket)
        #expect(bench.gate.recheck(admitted, from: address("192.0.2.1"), at: start + 59_000) == nil)
        #expect(bench.gate.recheck(admitted, from: address("192.0.2.1"), at: start + 60_000) != nil)
    }
}
