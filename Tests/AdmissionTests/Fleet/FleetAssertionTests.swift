import AppAttest
import DeviceSimulation
import KeyStore
import KeyStoreTestKit
import Testing

@testable import Admission

/// Assertions at gateways that share one store.
struct FleetAssertionTests {
    private let bench: FleetBench

    init() throws { bench = try FleetBench() }

    @Test func `a challenge of one gateway is accepted by another, once in the fleet`() throws {
        var device = try bench.registeredDevice()
        let id = try #require(KeyID(bytes: device.keyID))
        let request = try bench.request(by: &device, challengeOf: 0)
        let admitted = try #require(try bench.decide(request, by: 1).admitted)
        #expect(admitted.principal.identity == .key(id))
        #expect((admitted.principal.proof as? AppAttestProof)?.app == Bench.app)
        #expect(bench.store.key(id)?.counter == 1 && bench.store.key(id)?.lastUsedAt == start.unixMilliseconds)
        for number in bench.gateways.indices {
            let refusal = try #require(try bench.decide(request, by: number).refusal)
            #expect(refusal.answer == .invalidNonce && refusal.freshChallenge?.text.count == 64)
            #expect(refusal.detail == "challenge was already used")
        }
    }

    @Test func `each refusal is the same as that of a gateway alone, and spends no counter`() throws {
        var device = try bench.registeredDevice()
        let id = try #require(KeyID(bytes: device.keyID))
        let changes: [(RefusalAnswer, (inout AssertionFields) -> Void)] = [
            (.appAuthRequired, { $0.data = "" }), (.invalidNonce, { $0.nonce = "00" }),
            (.invalidNonce, { $0.nonce = Challenges(epoch: epoch).issue(at: start).nonce }),
            (.unknownKey, { $0.keyID = "?" }), (.assertionRejected, { $0.data = "?" }),
            (.unknownKey, { $0.keyID = KeyID(bytes: [UInt8](repeating: 1, count: 32))?.base64 }),
            (.assertionRejected, { $0.data = "AAAA" }),
        ]
        for (answer, change) in changes {
            var request = try bench.request(by: &device)
            change(&request.assertion)
            let refusal = try bench.decide(request, by: 2).refusal
            #expect(refusal?.answer == answer)
            let alone = try Self.alone(change)
            #expect(refusal?.failed.check == alone.check)
        }
        #expect(bench.store.key(id)?.counter == 0)
    }

    @Test func `a challenge that the fleet hasn't issued counts for nothing, whoever accepts it`() throws {
        var device = try bench.registeredDevice()
        let id = try #require(KeyID(bytes: device.keyID))
        let own = Challenges(epoch: epoch)
        var settings = bench.gateways[0].settings
        var appAttest = try #require(settings.appAttest)
        appAttest.challenges = own
        settings.appAttest = appAttest
        let fields = try bench.bench.assertion(by: &device, over: own.issue(at: start).nonce)
        let decision = try #require(Gate(settings).evaluate(bench.bench.request(fields)).awaited)
        #expect(decision.refusal?.answer == .invalidNonce)
        #expect(bench.store.key(id)?.counter == 0)
    }

    private static func alone(_ change: (inout AssertionFields) -> Void) throws -> FailedCheck {
        let bench = try Bench()
        var device = try bench.registeredDevice()
        var fields = try bench.assertion(by: &device)
        change(&fields)
        return try #require(bench.gate.evaluate(bench.request(fields)).refusal).failed
    }

    @Test func `a gateway tries no second assertion with a challenge, and the fleet no other counter`() throws {
        var device = try bench.registeredDevice()
        var spoiled = try bench.request(by: &device)
        spoiled.assertion.data = "AAAA"
        #expect(try bench.decide(spoiled, by: 0).refusal?.answer == .assertionRejected)
        let nonce = try #require(spoiled.assertion.nonce)
        let good = bench.bench.request(try bench.bench.assertion(by: &device, over: nonce))
        #expect(try bench.decide(good, by: 0).refusal?.answer == .invalidNonce)
        var clone = device
        #expect(try bench.decide(try bench.request(by: &device), by: 0).admitted != nil)
        let late = try #require(try bench.decide(try bench.request(by: &clone), by: 1).refusal)
        #expect(late.answer == .assertionRejected)
    }

    @Test func `of many gateways with one assertion exactly one admits`() throws {
        var device = try bench.registeredDevice()
        let gates = bench.gateways.map(\.gate)
        for _ in 0..<20 {
            let request = try bench.request(by: &device)
            let decisions = race(40) { gates[$0 % gates.count].evaluate(request).awaited }
            #expect(decisions.compactMap { $0?.admitted }.count == 1)
            #expect(decisions.compactMap { $0?.refusal }.count == 39)
            #expect(decisions.compactMap { $0?.refusal }.allSatisfy { $0.answer == .invalidNonce })
        }
    }

    @Test func `of many challenges with one counter exactly one admits`() throws {
        let device = try bench.registeredDevice()
        let gates = bench.gateways.map(\.gate)
        let requests = try (0..<40).map { number in
            var clone = device
            return try bench.request(by: &clone, challengeOf: number % gates.count)
        }
        let decisions = race(40) { gates[$0 % gates.count].evaluate(requests[$0]).awaited }
        #expect(decisions.compactMap { $0?.admitted }.count == 1)
        #expect(decisions.compactMap { $0?.refusal }.allSatisfy { $0.answer == .assertionRejected })
        #expect(decisions.compactMap { $0?.refusal }.count == 39)
    }

    @Test func `a known key costs one question to the store`() throws {
        var device = try bench.registeredDevice()
        #expect(try bench.decide(try bench.request(by: &device), by: 0).admitted != nil)
        #expect(bench.store.asked == [.look, .admit])
        #expect(try bench.decide(try bench.request(by: &device), by: 0).admitted != nil)
        #expect(bench.store.asked == [.look, .admit, .admit])
    }

    @Test func `an unknown key's signature isn't verified on the store's thread`() throws {
        var bench = bench
        let fleet = Fleet(registry: bench.store, identity: bench.gateways[0].identity) { _ in false }
        bench.gateways[0].settings.appAttest?.registry = .shared(fleet)
        var device = try bench.registeredDevice()
        let refusal = try bench.decide(try bench.request(by: &device), by: 0).refusal
        #expect(refusal?.answer == .storeUnavailable && refusal?.detail.contains("too many") == true)
    }

    @Test func `challenges of a gateway outside of the fleet are foreign`() throws {
        var bench = bench
        bench.gateways[0].settings.appAttest?.challenges = bench.bench.challenges
        var device = try bench.registeredDevice()
        let request = bench.bench.request(try bench.bench.assertion(by: &device))
        #expect(try bench.decide(request, by: 0).refusal?.answer == .invalidNonce)
        #expect(bench.store.asked.allSatisfy { $0 == .look })
    }
}
