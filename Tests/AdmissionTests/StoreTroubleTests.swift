import Admission
import DeviceSimulation
import KeyStore
import KeyStoreTestKit
import Testing

/// The gate when its store can't answer, or answers differently from one moment to the next.
struct StoreTroubleTests {
    @Test(arguments: [FailingRegistry.Operation.look, .advance])
    func `a busy or broken store causes a 503, not a 401`(operation: FailingRegistry.Operation) throws {
        for error in [KeyRegistryError.busy, .unavailable("disk full")] {
            var bench = try Bench()
            bench.settings.appAttest = bench.appAttest(
                over: FailingRegistry(bench.registry, failing: [operation: error]))
            var device = try bench.registeredDevice()
            let refusal = bench.gate.evaluate(bench.request(try bench.assertion(by: &device))).refusal
            #expect(refusal?.answer == .storeUnavailable)
            #expect(refusal?.status == 503)
            #expect(refusal?.retryAfter == 1)
        }
    }

    @Test func `store errors don't count as failed upgrades`() throws {
        var bench = try Bench()
        bench.settings.appAttest = bench.appAttest(over: FailingRegistry(bench.registry, failing: [.look: .busy]))
        let gate = bench.gate
        var device = try bench.registeredDevice()
        for second in 0..<15 {
            let moment = start + second * 1_000
            #expect(
                gate.evaluate(bench.request(try bench.assertion(by: &device, at: moment), at: moment)).refusal?.answer
                    == .storeUnavailable)
        }
        #expect(gate.evaluate(bench.request(at: start + 15_000)).refusal?.answer == .appAuthRequired)
    }

    @Test func `only a verified assertion advances the counter`() throws {
        var bench = try Bench()
        let registry = FailingRegistry(bench.registry)
        bench.settings.appAttest = bench.appAttest(over: registry)
        var device = try bench.registeredDevice()
        var fields = try bench.assertion(by: &device)
        fields.data = "AAAA"
        #expect(bench.gate.evaluate(bench.request(fields)).refusal?.answer == .assertionRejected)
        #expect(registry.operations == [.look])
    }

    @Test func `a lease that another client took meanwhile isn't granted`() throws {
        var bench = try Bench(maximumSessions: 1)
        var device = try bench.registeredDevice()
        var open = bench.settings
        open.requiresAppAuth = false
        let (other, request, taken) = (Gate(open), bench.request(), Gathered<Admitted?>())
        bench.settings.appAttest = bench.appAttest(
            over: FailingRegistry(bench.registry) {
                taken.add(other.evaluate(request).admitted)
            })
        let refusal = bench.gate.evaluate(bench.request(try bench.assertion(by: &device))).refusal
        #expect(refusal?.answer == .atCapacity)
        #expect(taken.all.count == 1 && taken.all.allSatisfy { $0 != nil })
    }

    @Test func `a change between lookup and commit decides`() throws {
        let changes: [(RefusalAnswer, @Sendable (MemoryKeyRegistry, KeyID) -> Void)] = [
            (.assertionRejected, { _ = $0.advanceCounter(of: $1, to: 1, at: 0) }),
            (.unknownKey, { _ = $0.forget($1) }),
            (.keyRevoked, { _ = $0.revoke($1, reason: "", at: 0) }),
        ]
        for (answer, change) in changes {
            var bench = try Bench()
            var device = try bench.registeredDevice()
            let id = try #require(KeyID(bytes: device.keyID))
            let registry = bench.registry
            bench.settings.appAttest = bench.appAttest(
                over: FailingRegistry(registry, beforeAdvance: { change(registry, id) }))
            #expect(bench.gate.evaluate(bench.request(try bench.assertion(by: &device))).refusal?.answer == answer)
        }
    }
}
