import Admission
import Testing

struct CapacityPolicyTests {
    @Test func `the last lease is granted and the next client gets a Retry-After until a session ends`() throws {
        var bench = try Bench(maximumSessions: 2)
        bench.settings.requiresAppAuth = false
        let gate = bench.gate
        var first = gate.evaluate(bench.request()).admitted
        let second = gate.evaluate(bench.request()).admitted
        #expect(first != nil)
        #expect(second != nil)
        let refusal = gate.evaluate(bench.request()).refusal
        #expect(refusal?.answer == .atCapacity)
        #expect(refusal?.status == 503)
        #expect(refusal?.retryAfter == 5)
        first = nil
        #expect(bench.settings.leases.count == 1)
        #expect(gate.evaluate(bench.request()).admitted != nil)
        withExtendedLifetime(second) {}
    }

    @Test func `without a maximum a lease is always granted`() throws {
        var bench = try Bench()
        bench.settings.requiresAppAuth = false
        bench.settings.leases = SessionLeases(maximum: nil)
        let gate = bench.gate
        let admitted = (0..<2_000).map { _ in gate.evaluate(bench.request()).admitted }
        #expect(admitted.allSatisfy { $0 != nil })
        #expect(bench.settings.leases.count == 2_000)
    }

    @Test func `a refused client takes no place`() throws {
        let bench = try Bench(maximumSessions: 1)
        for _ in 0..<3 { #expect(bench.gate.evaluate(bench.request()).refusal?.answer == .appAuthRequired) }
        #expect(bench.settings.leases.count == 0)
    }

    @Test func `draining can't be undone and begins at once`() throws {
        var bench = try Bench()
        bench.settings.requiresAppAuth = false
        let gate = bench.gate
        #expect(gate.evaluate(bench.request()).admitted != nil)
        bench.drain.beginDraining()
        let refusal = gate.evaluate(bench.request()).refusal
        #expect(refusal?.answer == .draining)
        #expect(refusal?.retryAfter == 5)
    }
}
