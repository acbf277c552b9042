import DeviceSimulation
import Testing
import WireText

@testable import Admission

/// A gate with new settings continues with the state of the previous one.
struct ReloadTests {
    @Test func `spent challenges stay spent, and issued ones stay valid`() throws {
        let bench = try Bench()
        let gate = bench.gate
        var device = try bench.registeredDevice()
        let used = bench.request(try bench.assertion(by: &device))
        let fresh = bench.request(try bench.assertion(by: &device))
        #expect(gate.evaluate(used).admitted != nil)
        let next = gate.changed { $0.allowsMissingOrigin = true }
        #expect(next.evaluate(used).refusal?.answer == .invalidNonce)
        #expect(next.evaluate(fresh).admitted != nil)
    }

    @Test func `taken leases stay taken under the new limit`() throws {
        var bench = try Bench()
        let maximum = Current<Int?>(2)
        bench.settings.leases = SessionLeases(maximum: maximum.now)
        bench.settings.requiresAppAuth = false
        let gate = bench.gate
        var taken = [gate.evaluate(bench.request()).admitted, gate.evaluate(bench.request()).admitted]
        #expect(gate.evaluate(bench.request()).refusal?.answer == .atCapacity)
        maximum.replace(with: 3)
        let next = gate.changed { _ in }
        taken.append(next.evaluate(bench.request()).admitted)
        #expect(taken.compactMap(\.self).count == 3)
        #expect(next.evaluate(bench.request()).refusal?.answer == .atCapacity)
        maximum.replace(with: 1)
        #expect(bench.settings.leases.count == 3)
        taken.removeLast(2)
        #expect(gate.evaluate(bench.request()).refusal?.answer == .atCapacity)
        maximum.replace(with: nil)
        #expect(next.evaluate(bench.request()).admitted != nil)
    }

    @Test func `counted failures stay counted under the new limit`() throws {
        var bench = try Bench()
        let failures = Current(2)
        bench.settings.limits = UpgradeLimits(failedUpgradesPerMinute: failures.now, verificationsPerSecond: 1)
        let gate = bench.gate
        for _ in 0..<2 { #expect(gate.evaluate(bench.request()).refusal?.answer == .appAuthRequired) }
        #expect(gate.evaluate(bench.request()).refusal?.answer == .rateLimited)
        failures.replace(with: 3)
        #expect(gate.evaluate(bench.request()).refusal?.answer == .appAuthRequired)
        #expect(gate.evaluate(bench.request()).refusal?.answer == .rateLimited)
    }

    @Test func `the endpoints' limits change as well`() {
        let challenges = Current(1)
        let limits = EndpointLimits(
            challengesPerMinute: challenges.now, registrationsPerMinute: 1, tokensPerMinute: 1)
        let client = address("192.0.2.1")
        #expect(limits.refuseChallenge(to: client, at: start.monotonic) == nil)
        #expect(limits.refuseRegistration(from: client, at: start.monotonic) == nil)
        challenges.replace(with: 2)
        #expect(limits.refuseChallenge(to: client, at: start.monotonic) == nil)
        #expect(limits.refuseChallenge(to: client, at: start.monotonic)?.answer == .rateLimited)
        #expect(limits.refuseRegistration(from: client, at: start.monotonic)?.answer == .rateLimited)
    }
}
