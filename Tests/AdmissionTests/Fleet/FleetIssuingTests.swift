import DeviceSimulation
import KeyStore
import Testing

@testable import Admission

/// What gateways with different clocks and secrets accept of each other.
struct FleetIssuingTests {
    /// Whether the second gateway admits with a challenge that the first has issued.
    private func accepts(_ bench: FleetBench, issuedAt issued: Moment = start, usedAt used: Moment = start) throws
        -> RefusalAnswer?
    {
        var device = try bench.registeredDevice()
        let nonce = bench.gateways[0].nonce(at: issued)
        let request = bench.bench.request(try bench.bench.assertion(by: &device, over: nonce), at: used)
        let decision = try bench.decide(request, by: 1)
        #expect((decision.admitted == nil) != (decision.refusal == nil))
        return decision.refusal?.answer
    }

    @Test(arguments: [-1_000, 0, 1_000])
    func `times that differ by up to the tolerance don't matter`(base: Int64) throws {
        let tolerance = FleetClock.tolerance
        #expect(try accepts(FleetBench(offsets: [base, base - tolerance])) == nil)
        #expect(try accepts(FleetBench(offsets: [base, base + tolerance])) == nil)
        #expect(try accepts(FleetBench(offsets: [base, base - tolerance - 1])) == .invalidNonce)
        #expect(try accepts(FleetBench(offsets: [base, base + 59_999])) == nil)
        #expect(try accepts(FleetBench(offsets: [base, base + 60_000])) == .invalidNonce)
    }

    @Test func `a challenge lives as long as at a gateway alone, in the fleet's time`() throws {
        #expect(try accepts(FleetBench(), usedAt: start + 59_999) == nil)
        #expect(try accepts(FleetBench(), usedAt: start + 60_000) == .invalidNonce)
        #expect(try accepts(FleetBench(offsets: [0, -1_500]), usedAt: start + 61_499) == nil)
        #expect(try accepts(FleetBench(offsets: [0, -1_500]), usedAt: start + 61_500) == .invalidNonce)
    }

    @Test func `a mark isn't forgotten while any gateway accepts its challenge`() throws {
        let bench = try FleetBench(offsets: [0, -FleetClock.tolerance])
        var device = try bench.registeredDevice()
        let request = try bench.request(by: &device)
        #expect(try bench.decide(request, by: 0).admitted != nil)
        let last = request.with { $0.moment = start + 61_999 }
        bench.store.forgetMarks(expiredAt: start.unixMilliseconds + 61_999, maximum: 1_000)
        #expect(try bench.decide(last, by: 1).refusal?.detail == "challenge was already used")
        bench.store.forgetMarks(expiredAt: start.unixMilliseconds + 62_000, maximum: 1_000)
        var other = try bench.registeredDevice()
        let late = bench.bench.request(try bench.bench.assertion(by: &other), at: start)
        #expect(try bench.decide(late, by: 1).refusal?.answer == .invalidNonce)
    }

    @Test func `a clock that is set back by hours doesn't stop challenges`() throws {
        let bench = try FleetBench(offsets: [3_600_000, 0])
        var device = try bench.registeredDevice()
        #expect(try bench.decide(try bench.request(by: &device), by: 0).admitted != nil)
        bench.gateways[0].identity.note(.sample(offset: 0))
        #expect(try bench.decide(try bench.request(by: &device, challengeOf: 1), by: 0).admitted != nil)
    }

    // MARK: Secrets

    private static let later = start + 60_000

    @Test func `gateways that learn of a new secret at different times accept each other's challenges`() throws {
        var bench = try FleetBench(offsets: [])
        let next = try #require(
            FleetBench.secrets.rotated(to: [UInt8](repeating: 2, count: 32), at: start.unixMilliseconds))
        bench.addGateway(secrets: next)
        bench.addGateway()
        for pair in [[0, 1], [1, 0]] {
            var turned = bench
            turned.gateways = pair.map { bench.gateways[$0] }
            #expect(try accepts(turned) == nil)
            #expect(try accepts(turned, issuedAt: start + 59_999, usedAt: start + 61_000) == nil)
        }
        bench.gateways[1].identity.replace(next)
        #expect(try accepts(bench, issuedAt: Self.later, usedAt: Self.later) == nil)
    }

    @Test func `the new secret issues from its time on, and the old one is accepted while it may be needed`() throws {
        let (old, both) = (FleetBench.secrets, FleetBench.secrets([1: 0, 2: start.unixMilliseconds]))
        var bench = try FleetBench(offsets: [])
        bench.addGateway(secrets: old)
        bench.addGateway(secrets: both)
        #expect(try accepts(bench) == nil)
        let last = start + (60_000 + Int(FleetClock.tolerance) - 1)
        #expect(try accepts(bench, issuedAt: last, usedAt: last) == nil)
        #expect(try accepts(bench, issuedAt: last + 1, usedAt: last + 1) == .invalidNonce)
        bench.gateways.reverse()
        #expect(try accepts(bench) == .invalidNonce)
        bench.gateways[1].identity.replace(both)
        #expect(try accepts(bench) == nil)
    }

    @Test func `generations are in order, few, and the oldest ones end`() throws {
        func generation(_ number: UInt32, _ start: Int64) throws -> FleetSecrets.Generation {
            try #require(.init(number: number, secret: [UInt8](repeating: 1, count: 32), issuesFrom: start))
        }
        #expect(FleetSecrets.Generation(number: 1, secret: [1], issuesFrom: 0) == nil)
        #expect(FleetSecrets([]) == nil)
        #expect(FleetSecrets([try generation(2, 5), try generation(1, 6)]) == nil)
        #expect(FleetSecrets([try generation(1, 6), try generation(2, 6)]) == nil)
        let four = try (1...4).map { try generation($0, Int64($0)) }
        #expect(FleetSecrets(four) != nil)
        #expect(FleetSecrets(four + [try generation(5, 5)]) == nil)
        let next = try #require(FleetSecrets(four)?.rotated(to: [UInt8](repeating: 9, count: 32), at: 1_000))
        #expect(next.generations.map(\.number) == [2, 3, 4, 5])
        #expect(next.generations.last?.issuesFrom == 61_000)
        let month = Int64(30 * 86_400_000) + FleetClock.tolerance
        let aged = next.rotated(to: [UInt8](repeating: 8, count: 32), at: 61_000 + month)
        #expect(aged?.generations.map(\.number) == [5, 6])
    }

    @Test func `a clock keeps its most certain measurement until it is contradicted`() {
        func measured(_ asked: Int, took: Int, offset: Int64) -> FleetClock.Measurement {
            FleetClock.Measurement(
                asked: (start + asked).monotonic, answered: (start + asked + took).monotonic,
                storeTime: start.unixMilliseconds + Int64(asked) + Int64(took) / 2 + offset)
        }
        var clock = FleetClock(measured(0, took: 100, offset: 0))
        func keeps(_ next: FleetClock.Measurement) -> Bool { clock.note(next) }
        #expect(clock.time(at: (start + 50).monotonic) == start.unixMilliseconds + 50)
        #expect(!keeps(measured(1_000, took: 400, offset: 150)))
        #expect(keeps(measured(1_000, took: 20, offset: 30)))
        #expect(clock.time(at: (start + 5_000).monotonic) == start.unixMilliseconds + 5_030)
        #expect(clock.time(at: (start - 5_000).monotonic) == start.unixMilliseconds - 4_970)
        // Beyond the maximum it tells nothing, also if it contradicts.
        #expect(!keeps(measured(2_000, took: 2_000, offset: 9_000)))
        #expect(!keeps(measured(2_000, took: 100, offset: 1_900)))
        #expect(keeps(measured(2_000, took: 100, offset: 9_000)))
        #expect(clock.time(at: start.monotonic) == start.unixMilliseconds + 9_000)
        // An hour later the old measurement is less certain than this one.
        #expect(keeps(measured(3_600_000, took: 1_000, offset: 8_500)))
    }
}
