import Admission
import DeviceSimulation
import Testing
import WireText

/// Limits on failed upgrades by address: they stop guessing without excluding honest clients at the same address.
struct RatePolicyTests {
    private let bench: Bench
    private let gate: Gate

    init() throws {
        bench = try Bench()
        gate = bench.gate
    }

    private func failTenTimes(at moment: Moment = start) {
        for _ in 0..<10 { #expect(gate.evaluate(bench.request(at: moment)).refusal?.answer == .appAuthRequired) }
    }

    @Test func `ten failures a minute get their own answers, the eleventh gets 429`() throws {
        failTenTimes()
        let refusal = try #require(gate.evaluate(bench.request(at: start + 15_000)).refusal)
        #expect(refusal.answer == .rateLimited)
        #expect(refusal.retryAfter == 45)
        #expect(refusal.freshChallenge == nil)
        #expect(gate.evaluate(bench.request(at: start + 60_000)).refusal?.answer == .appAuthRequired)
    }

    @Test func `a valid credential is admitted from a limited address`() throws {
        failTenTimes()
        var device = try bench.registeredDevice()
        for _ in 0..<5 { #expect(gate.evaluate(bench.request(try bench.assertion(by: &device))).admitted != nil) }
    }

    @Test func `wrong credentials from a limited address get 429 and spend the challenge`() throws {
        failTenTimes()
        var stranger = SimulatedDevice(app: Bench.app)
        let refusal = gate.evaluate(bench.request(try bench.assertion(by: &stranger))).refusal
        #expect(refusal?.answer == .rateLimited)
        #expect(refusal?.retryAfter == 60)
        #expect(refusal?.freshChallenge == nil)
        #expect(refusal?.detail.contains("unknown_key") == true)
        #expect(bench.challenges.spentCount == 1)
    }

    @Test func `wrong credentials count, and above the limit requests without credentials get 429`() throws {
        var stranger = SimulatedDevice(app: Bench.app)
        for _ in 0..<10 {
            let refusal = gate.evaluate(bench.request(try bench.assertion(by: &stranger))).refusal
            #expect(refusal?.answer == .unknownKey)
        }
        #expect(gate.evaluate(bench.request(try bench.assertion(by: &stranger))).refusal?.answer == .rateLimited)
        #expect(gate.evaluate(bench.request()).refusal?.answer == .rateLimited)
    }

    /// As its credential does, at the gateway that has the session.
    @Test func `looking for a session elsewhere costs a limited address a verification`() {
        var request = bench.request()
        request.session = SessionCredential(id: "elsewhere", token: "t")
        for _ in 0..<40 { #expect(gate.screen(request) == nil) }
        failTenTimes()
        for _ in 0..<UpgradeLimits.defaultVerificationsPerSecond { #expect(gate.screen(request) == nil) }
        #expect(gate.screen(request)?.answer == .rateLimited)
    }

    @Test func `without failures valid credentials aren't limited`() throws {
        var device = try bench.registeredDevice()
        for _ in 0..<40 {
            #expect(gate.evaluate(bench.request(try bench.assertion(by: &device))).admitted != nil)
        }
    }

    @Test func `above the failure limit twenty credentials a second are verified`() throws {
        var device = try bench.registeredDevice()
        var stranger = SimulatedDevice(app: Bench.app)
        for _ in 0..<10 { _ = gate.evaluate(bench.request()) }
        for _ in 0..<10 {
            #expect(gate.evaluate(bench.request(try bench.assertion(by: &device))).admitted != nil)
            let wrong = gate.evaluate(bench.request(try bench.assertion(by: &stranger))).refusal
            #expect(wrong?.answer == .rateLimited)
            #expect(wrong?.detail.contains("unknown_key") == true)
        }
        let fields = try bench.assertion(by: &device)
        let refusal = gate.evaluate(bench.request(fields)).refusal
        #expect(refusal?.answer == .rateLimited)
        #expect(refusal?.retryAfter == 1)
        #expect(gate.evaluate(bench.request(fields, at: start + 1_000)).admitted != nil)
    }

    @Test func `certificates are credentials only if a client CA is configured`() throws {
        var bench = bench
        bench.settings.limits = UpgradeLimits(failedUpgradesPerMinute: 1, verificationsPerSecond: 2)
        let ignoring = bench.gate
        let request = bench.request().with { $0.certificate = .good }
        #expect(ignoring.evaluate(request).refusal?.answer == .appAuthRequired)
        #expect(ignoring.evaluate(request).refusal?.answer == .rateLimited)
        bench.settings.clientCertificates = TrustedChains()
        let checking = bench.gate
        for _ in 0..<2 { #expect(checking.evaluate(request).admitted != nil) }
        #expect(checking.evaluate(request).refusal?.answer == .rateLimited)
        let later = bench.request(at: start + 1_000).with { $0.certificate = .good }
        #expect(checking.evaluate(later).admitted != nil)
    }

    @Test func `other addresses and other /64s have their own limits`() throws {
        func answer(_ text: String) -> RefusalAnswer? {
            gate.evaluate(bench.request().with { $0.address = address(text) }).refusal?.answer
        }
        for host in 1...10 { #expect(answer("2001:db8::\(host)") == .appAuthRequired) }
        #expect(answer("2001:db8::ffff") == .rateLimited)
        #expect(answer("2001:db8:0:1::1") == .appAuthRequired)
        #expect(answer("192.0.2.1") == .appAuthRequired)
    }

    @Test func `mistakes in the handshake and foreign origins aren't failed upgrades`() throws {
        for _ in 0..<20 {
            _ = gate.evaluate(bench.request().with { $0.handshake.fault = .version(received: "8") })
            _ = gate.evaluate(bench.request().with { $0.origin = "null" })
        }
        #expect(gate.evaluate(bench.request()).refusal?.answer == .appAuthRequired)
    }

    @Test func `a 429 isn't a failure and doesn't extend the minute`() throws {
        failTenTimes()
        for second in 1..<60 { _ = gate.evaluate(bench.request(at: start + second * 1_000)) }
        failTenTimes(at: start + 60_000)
    }

    @Test func `when the limiter's table is full new addresses share one count`() throws {
        var bench = bench
        bench.settings.limits = UpgradeLimits(failedUpgradesPerMinute: 2, maximumEntries: 1)
        let gate = bench.gate
        func answer(_ host: Int) -> RefusalAnswer? {
            gate.evaluate(bench.request().with { $0.address = address("192.0.2.\(host)") }).refusal?.answer
        }
        #expect((1...3).map(answer) == [.appAuthRequired, .appAuthRequired, .appAuthRequired])
        #expect(answer(4) == .rateLimited)
        #expect(answer(1) == .appAuthRequired)
        #expect(answer(1) == .rateLimited)
    }
}
