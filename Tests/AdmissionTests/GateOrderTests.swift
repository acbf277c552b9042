import Admission
import DeviceSimulation
import KeyStore
import KeyStoreTestKit
import Testing

/// A request with several faults is refused for the first one, and nothing of the client's is spent before the
/// challenge.
struct GateOrderTests {
    /// One fault of a request or its gateway, in the order of the contract.
    enum Fault: Int, CaseIterable {
        case handshake, draining, block, origin, capacity, rate, secret, challenge, key, signature, counter

        var answer: RefusalAnswer {
            switch self {
            case .handshake: .unsupportedVersion
            case .draining: .draining
            case .block: .deviceBlocked
            case .origin: .originRefused
            case .capacity: .atCapacity
            case .rate: .rateLimited
            case .secret: .invalidSharedSecret
            case .challenge: .invalidNonce
            case .key: .unknownKey
            case .signature, .counter: .assertionRejected
            }
        }

        var isBeforeChallenge: Bool { rawValue < Fault.challenge.rawValue }
    }

    /// Everything that a fault can change: the gateway, its registered device, and the request.
    private struct Attempt {
        var bench: Bench
        var request: AdmissionRequest
        var device: SimulatedDevice
        let nonce: String

        init() throws {
            bench = try Bench()
            device = try bench.registeredDevice()
            nonce = bench.nonce()
            request = bench.request(try bench.assertion(by: &device, over: nonce))
            let secret = "0123456789abcdef0123456789abcdef"
            bench.settings.sharedSecrets = try SharedSecrets(secretLine("main", secret))
            request.authorization = "Bearer \(secret)"
        }

        mutating func spoil(with fault: Fault) throws {
            switch fault {
            case .handshake: request.handshake.fault = .version(received: "8")
            case .draining:
                let drain = DrainSwitch()
                drain.beginDraining()
                bench.settings.drain = drain
            case .block: bench.settings.blockList = try BlockList("address 192.0.2.1")
            case .origin: request.origin = "https://evil.example"
            case .capacity: bench.settings.leases = SessionLeases(maximum: 0)
            case .rate: bench.settings.limits = UpgradeLimits(failedUpgradesPerMinute: 0, verificationsPerSecond: 0)
            case .secret: request.authorization = "Bearer fedcba9876543210fedcba9876543210"
            case .challenge: request.assertion.nonce = Challenges(epoch: epoch).issue(at: start).nonce
            case .key: request.assertion.keyID = KeyID(bytes: [UInt8](repeating: 1, count: 32))?.base64
            case .signature: request.assertion.data = "AAAA"
            case .counter:
                let id = try #require(KeyID(bytes: device.keyID))
                #expect(bench.registry.advanceCounter(of: id, to: 1, at: 0) == .advanced)
            }
        }
    }

    @Test(arguments: Fault.allCases) func `the earliest of several faults is the answer`(first: Fault) throws {
        for second in Fault.allCases where second.rawValue >= first.rawValue {
            var attempt = try Attempt()
            for fault in Set([first, second]) { try attempt.spoil(with: fault) }
            let refusal = attempt.bench.gate.evaluate(attempt.request).refusal
            #expect(refusal?.answer == first.answer, "\(first) and \(second)")
        }
    }

    /// The order that `portcullis explain` shows is the one in which the gate checks.
    @Test func `the faults fail the checks of the table in its order`() throws {
        let order = CheckOrder.checks(of: .upgrade, by: "app_attest")
        let places = try Fault.allCases.map { fault in
            var attempt = try Attempt()
            try attempt.spoil(with: fault)
            let failed = try #require(attempt.bench.gate.evaluate(attempt.request).refusal).failed
            return try #require(order.firstIndex(of: failed.check), "\(failed)")
        }
        #expect(places == places.sorted() && Set(places).count == places.count)
    }

    @Test(arguments: Fault.allCases.filter(\.isBeforeChallenge))
    func `a request refused before its challenge is spent can be sent again unchanged`(fault: Fault) throws {
        var attempt = try Attempt()
        let good = attempt
        try attempt.spoil(with: fault)
        #expect(attempt.bench.gate.evaluate(attempt.request).refusal?.answer == fault.answer)
        #expect(attempt.bench.challenges.spentCount == 0)
        #expect(good.bench.gate.evaluate(good.request).admitted != nil)
    }

    @Test func `with every fault at once the handshake's answer comes first`() throws {
        var attempt = try Attempt()
        for fault in Fault.allCases { try attempt.spoil(with: fault) }
        #expect(attempt.bench.gate.evaluate(attempt.request).refusal?.answer == .unsupportedVersion)
    }

    @Test func `a request without a fault is admitted`() throws {
        let attempt = try Attempt()
        #expect(attempt.bench.gate.evaluate(attempt.request).admitted != nil)
    }

    @Test func `an undecided request is refused, with a challenge for the next attempt`() throws {
        let bench = try Bench()
        let refusal = try #require(bench.gate.evaluate(bench.request()).refusal)
        #expect(refusal.status == 401)
        #expect(refusal.code.rawValue == "app_auth_required")
        #expect(refusal.message == "App authentication required")
        let fresh = try #require(refusal.freshChallenge?.text)
        #expect(refusal.headerFields.contains { $0 == ("X-App-Assert-Challenge", fresh) })
        #expect(bench.challenges.spend(fresh, at: start.monotonic).isSpent)
    }

    @Test func `a gateway without an admission method admits no client`() throws {
        var bench = try Bench()
        bench.settings.appAttest = nil
        let refusal = bench.gate.evaluate(bench.request().with { $0.certificate = .good }).refusal
        #expect(refusal?.answer == .appAuthRequired)
        #expect(refusal?.freshChallenge == nil)
    }

    @Test func `without required authentication no credentials mean anonymous, and wrong ones are refused`() throws {
        var bench = try Bench()
        bench.settings.requiresAppAuth = false
        let principal = try #require(bench.gate.evaluate(bench.request()).admitted?.principal)
        #expect(principal.identity == .anonymous)
        #expect(principal.proxyName == "anonymous")
        #expect(principal.identity.subject == nil)
        var stranger = SimulatedDevice(app: Bench.app)
        let refusal = bench.gate.evaluate(bench.request(try bench.assertion(by: &stranger))).refusal
        #expect(refusal?.answer == .unknownKey)
    }

    @Test func `refusals caused by the gateway have a Retry-After`() throws {
        for fault in [Fault.draining, .capacity, .rate] {
            var attempt = try Attempt()
            try attempt.spoil(with: fault)
            let refusal = try #require(attempt.bench.gate.evaluate(attempt.request).refusal)
            #expect((refusal.retryAfter ?? 0) >= 1)
            #expect(refusal.freshChallenge == nil)
        }
    }

    @Test func `a full set of spent challenges causes a 503, and the challenge stays valid`() throws {
        let bench = try Bench(maximumSpent: 1)
        var device = try bench.registeredDevice()
        #expect(bench.gate.evaluate(bench.request(try bench.assertion(by: &device))).admitted != nil)
        let later = start + 30_000
        let fields = try bench.assertion(by: &device, at: later)
        let refusal = try #require(bench.gate.evaluate(bench.request(fields, at: later)).refusal)
        #expect(refusal.answer == .challengesExhausted)
        #expect(refusal.status == 503)
        let wait = try #require(refusal.retryAfter)
        #expect(bench.gate.evaluate(bench.request(fields, at: later + wait * 1_000)).admitted != nil)
    }
}
