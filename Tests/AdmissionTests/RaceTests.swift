import Admission
import DeviceSimulation
import KeyStore
import KeyStoreTestKit
import Testing

/// Several reactors decide at the same time.
struct RaceTests {
    @Test func `exactly one of fifty upgrades with one challenge is admitted`() throws {
        var bench = try Bench()
        bench.settings.limits = UpgradeLimits(failedUpgradesPerMinute: 1_000, verificationsPerSecond: 1_000)
        let gate = bench.gate
        var device = try bench.registeredDevice()
        let request = bench.request(try bench.assertion(by: &device))
        let decisions = race(50) { _ in gate.evaluate(request) }
        #expect(decisions.compactMap(\.admitted).count == 1)
        #expect(decisions.compactMap(\.refusal).allSatisfy { $0.answer == .invalidNonce })
    }

    @Test func `exactly one of fifty upgrades with one counter and different challenges is admitted`() throws {
        var bench = try Bench()
        bench.settings.limits = UpgradeLimits(failedUpgradesPerMinute: 1_000, verificationsPerSecond: 1_000)
        let gate = bench.gate
        let device = try bench.registeredDevice()
        let requests = try (0..<50).map { _ in
            var clone = device
            return bench.request(try bench.assertion(by: &clone))
        }
        let decisions = race(50) { gate.evaluate(requests[$0]) }
        #expect(decisions.compactMap(\.admitted).count == 1)
        #expect(decisions.compactMap(\.refusal).allSatisfy { $0.answer == .assertionRejected })
        let id = try #require(KeyID(bytes: device.keyID))
        #expect(bench.registry.key(id)?.counter == 1)
    }

    @Test func `fifty concurrent clients never take more leases than the limit`() throws {
        var bench = try Bench(maximumSessions: 7)
        bench.settings.requiresAppAuth = false
        let (gate, request) = (bench.gate, bench.request())
        let decisions = race(50) { _ in gate.evaluate(request) }
        #expect(decisions.compactMap(\.admitted).count == 7)
        #expect(decisions.compactMap(\.refusal).allSatisfy { $0.answer == .atCapacity })
        #expect(bench.settings.leases.count == 7)
    }
}
