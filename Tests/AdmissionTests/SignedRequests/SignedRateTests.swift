import DeviceSimulation
import KeyStore
import Testing

@testable import Admission

/// The limit on failed signed requests of one address: what strangers can cost the store.
@Suite("Rates of signed requests behind a proxy")
struct SignedRateTests {
    private var signed: SignedBench
    private var stranger = SimulatedDevice(app: Bench.app)

    init() throws {
        signed = try SignedBench()
        signed.limits = UpgradeLimits()
    }

    private mutating func failTenTimes() throws {
        for _ in 0..<10 {
            #expect(try signed.refusal(try signed.first(&stranger)).answer == .reattestationRequired)
        }
    }

    @Test mutating func `ten failures a minute get their own answers, the eleventh gets 429`() throws {
        try failTenTimes()
        let refusal = try #require(try signed.authorize(try signed.first(&stranger), at: start + 15_000).refusal)
        #expect(refusal.answer == .rateLimited && refusal.retryAfter == 45 && refusal.isOfSignedRequest)
        #expect(refusal.failed.check == .keyRegistered && refusal.detail.contains("unknown_key"))
        let later = try signed.first(&stranger, at: start + 60_000)
        #expect(try signed.authorize(later, at: start + 60_000).refusal?.answer == .reattestationRequired)
    }

    @Test mutating func `above the limit twenty signatures a second are verified, and no more`() throws {
        var device = try signed.bench.registeredDevice()
        try failTenTimes()
        for _ in 0..<10 {
            #expect(try signed.authorize(try signed.first(&device)).verified != nil)
            #expect(try signed.refusal(try signed.first(&stranger)).answer == .rateLimited)
        }
        let sent = try signed.first(&device)
        let refusal = try signed.refusal(sent)
        #expect(refusal.answer == .rateLimited && refusal.retryAfter == 1 && refusal.failed.check == .rateLimit)
        // Others aren't affected, and nothing was used up.
        #expect(try signed.authorize(try signed.first(&device), from: "192.0.2.2").verified != nil)
        #expect(try signed.authorize(sent, at: start + 1_000).verified != nil)
    }

    @Test mutating func `late challenges and mistakes in the form aren't counted`() throws {
        var device = try signed.bench.registeredDevice()
        let spent = try signed.first(&device)
        #expect(try signed.authorize(spent).verified != nil)
        for _ in 0..<20 {
            #expect(try signed.refusal(spent).answer == .signedChallengeRefused)
            var short = spent
            short[.assertion] = nil
            #expect(try signed.refusal(short).answer == .signedFieldMissing)
            #expect(try signed.refusal(spent, arrived: "{}").answer == .bodyDigestMismatch)
        }
        try failTenTimes()
    }

    @Test mutating func `upgrades and signed requests of an address share its allowance`() throws {
        var gate = signed.bench.settings
        gate.limits = signed.limits
        try failTenTimes()
        #expect(Gate(gate).evaluate(signed.bench.request()).refusal?.answer == .rateLimited)
    }

    /// The name of the key belongs in the audit log, whatever the client is told.
    @Test mutating func `a counter that is far too high is recorded with its key above the limit, too`() throws {
        var device = try signed.bench.registeredDevice()
        try failTenTimes()
        device.counter = 1_000_000
        let refusal = try signed.refusal(try signed.first(&device))
        #expect(refusal.answer == .rateLimited && refusal.signer == SignedBench.base64(device.keyID))
        #expect(refusal.failed.check == .counterRise)
    }
}
