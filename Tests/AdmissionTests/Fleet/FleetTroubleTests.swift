import AppAttest
import DeviceSimulation
import KeyStore
import KeyStoreTestKit
import Testing

@testable import Admission

/// A fleet whose store is slow, fails, or loses what it had.
struct FleetTroubleTests {
    private let bench: FleetBench

    init() throws { bench = try FleetBench() }

    private func begin(_ request: AdmissionRequest, by number: Int = 0) throws -> Gathered<AdmissionDecision> {
        guard case .later(let later) = bench.gateways[number].gate.evaluate(request) else { throw DecidedAtOnce() }
        let decided = Gathered<AdmissionDecision>()
        later.whenDecided { decided.add($0) }
        return decided
    }

    private struct DecidedAtOnce: Error {}

    @Test(arguments: [SharedStore.Operation.look, .admit])
    func `a store that can't answer causes a 503 that counts against nobody`(operation: SharedStore.Operation) throws {
        for error in [KeyRegistryError.busy, .queueFull, .unavailable("it was not reached")] {
            var bench = try FleetBench(offsets: [0])
            bench.gateways[0].settings.limits = UpgradeLimits(failedUpgradesPerMinute: 1, verificationsPerSecond: 100)
            bench.gateways[0].settings.storeRetryAfter = { 7 }
            bench.store.fail([operation], with: error)
            var device = try bench.registeredDevice()
            for _ in 0..<3 {
                let refusal = try bench.decide(try bench.request(by: &device), by: 0).refusal
                #expect(refusal?.answer == .storeUnavailable && refusal?.status == 503)
                #expect(refusal?.headerFields.contains { $0 == ("Retry-After", "7") } == true)
            }
            bench.store.fail([operation], with: nil)
            #expect(try bench.decide(try bench.request(by: &device), by: 0).admitted != nil)
        }
    }

    @Test(arguments: [SharedStore.Operation.look, .admit])
    func `a slow store delays the decision, and the lease is taken only then`(operation: SharedStore.Operation) throws {
        bench.store.hold([operation])
        var device = try bench.registeredDevice()
        let leases = bench.gateways[0].settings.leases
        do {
            let decided = try begin(try bench.request(by: &device))
            #expect(decided.all.isEmpty && leases.count == 0)
            bench.store.answer()
            #expect(decided.all.count == 1 && decided.all[0].admitted != nil)
            withExtendedLifetime(decided) { #expect(leases.count == 1) }
        }
        #expect(leases.count == 0)
    }

    @Test func `a client that has left leaves no lease behind`() throws {
        bench.store.hold([.admit])
        var device = try bench.registeredDevice()
        let leases = bench.gateways[0].settings.leases
        guard case .later(let later) = bench.gateways[0].gate.evaluate(try bench.request(by: &device)) else {
            throw DecidedAtOnce()
        }
        later.whenDecided { _ in }
        bench.store.answer()
        #expect(bench.store.asked == [.look, .admit])
        #expect(leases.count == 0)
    }

    @Test func `without a free lease a late decision is a refusal`() throws {
        var bench = bench
        let leases = SessionLeases(maximum: 1)
        bench.gateways[0].settings.leases = leases
        bench.store.hold([.admit])
        var device = try bench.registeredDevice()
        let decided = Gathered<AdmissionDecision>()
        guard case .later(let later) = bench.gateways[0].gate.evaluate(try bench.request(by: &device)) else {
            throw DecidedAtOnce()
        }
        later.whenDecided { decided.add($0) }
        let other = leases.claim(forReturning: false)
        bench.store.answer()
        #expect(decided.all.first?.refusal?.answer == .atCapacity)
        withExtendedLifetime(other) {}
    }

    @Test func `a revocation between look and commit decides`() throws {
        let changes: [(RefusalAnswer, (SharedStore, KeyID) -> Void)] = [
            (.keyRevoked, { _ = $0.revoke($1, reason: "lost", at: 1) }), (.unknownKey, { _ = $0.forget($1) }),
            (.assertionRejected, { _ = $0.advanceCounter(of: $1, to: 9, at: 1) }),
        ]
        for (answer, change) in changes {
            bench.store.hold([.look])
            var device = try bench.registeredDevice()
            let decided = try begin(try bench.request(by: &device))
            change(bench.store, try #require(KeyID(bytes: device.keyID)))
            bench.store.answer()
            #expect(decided.all.first?.refusal?.answer == answer)
        }
    }

    @Test func `a client that is blocked meanwhile isn't admitted`() throws {
        bench.store.hold([.admit])
        var device = try bench.registeredDevice()
        let id = try #require(KeyID(bytes: device.keyID))
        let decided = try begin(try bench.request(by: &device))
        let list = try BlockList("key \(id.base64)")
        let reloaded = bench.gateways[0].gate.changed { $0.blockList = list }
        bench.store.answer()
        let principal = try #require(decided.all.first?.admitted?.principal)
        #expect(reloaded.recheck(principal, from: address("192.0.2.1"), at: start)?.answer == .deviceBlocked)
    }

    // MARK: Clients that are only reported

    /// `REQUIRE_APP_AUTH=report`: admitted without proof, but not with a revoked key.
    @Test func `a client that is only reported is refused if its key is revoked, and else admitted`() throws {
        var bench = try FleetBench(offsets: [0])
        bench.gateways[0].settings.appAuth = .reported(until: start.unixMilliseconds + 60_000)
        let nonces: [(AdmissionRequest) -> String?] = [{ $0.assertion.nonce }, { _ in "00" }]
        for nonce in nonces {
            var (stranger, revoked) = (SimulatedDevice(app: Bench.app), try bench.registeredDevice())
            #expect(bench.store.revoke(try #require(KeyID(bytes: revoked.keyID)), reason: "lost", at: 1))
            var request = try bench.request(by: &stranger)
            request.assertion.nonce = nonce(request)
            #expect(try bench.decide(request, by: 0).admitted?.principal.reported != nil)
            request = try bench.request(by: &revoked)
            request.assertion.nonce = nonce(request)
            #expect(try bench.decide(request, by: 0).refusal?.answer == .keyRevoked)
            bench.store.fail([.look], with: .busy)
            var other = SimulatedDevice(app: Bench.app)
            request = try bench.request(by: &other)
            request.assertion.nonce = nonce(request)
            #expect(try bench.decide(request, by: 0).refusal?.answer == .storeUnavailable)
            bench.store.fail([.look], with: nil)
        }
    }

    // MARK: Incarnations

    @Test func `a challenge of before a crash is refused, and the fresh one is of after it`() throws {
        var device = try bench.registeredDevice()
        let old = try bench.request(by: &device)
        bench.store.crash(SharedStore.incarnation(2))
        let refusal = try #require(try bench.decide(old, by: 1).refusal)
        #expect(refusal.answer == .invalidNonce)
        let fresh = try #require(refusal.freshChallenge?.text)
        let next = bench.bench.request(try bench.bench.assertion(by: &device, over: fresh))
        #expect(try bench.decide(next, by: 1).admitted != nil)
    }

    @Test func `a gateway that knows of the crash doesn't ask the store about older challenges`() throws {
        var device = try bench.registeredDevice()
        let old = try bench.request(by: &device)
        bench.store.crash(SharedStore.incarnation(2))
        bench.gateways[2].fleet.learn(SharedStore.present(2), askedAt: start.monotonic)
        #expect(try bench.decide(old, by: 2).refusal?.answer == .invalidNonce)
        #expect(bench.store.asked.isEmpty)
    }

    @Test func `no assertion of before a crash is admitted again, although counters have fallen back`() throws {
        var device = try bench.registeredDevice()
        let id = try #require(KeyID(bytes: device.keyID))
        var used: [AdmissionRequest] = []
        for number in 0..<12 {
            let request = try bench.request(by: &device, challengeOf: number % 4)
            #expect(try bench.decide(request, by: (number + 1) % 3).admitted != nil)
            used.append(request)
        }
        let unused = try (0..<4).map { try bench.request(by: &device, challengeOf: $0) }
        bench.store.crash(SharedStore.incarnation(2), counters: [id: 3])
        bench.gateways[0].fleet.learn(SharedStore.present(2), askedAt: start.monotonic)
        for request in used + unused {
            for number in bench.gateways.indices {
                #expect(try bench.decide(request, by: number).refusal?.answer == .invalidNonce)
            }
        }
        #expect(bench.store.key(id)?.counter == 3)
        #expect(try bench.decide(try bench.request(by: &device, challengeOf: 3), by: 0).admitted != nil)
    }
}
