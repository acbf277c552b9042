import DeviceSimulation
import KeyStore
import KeyStoreTestKit
import Testing

@testable import Admission

/// Signed requests at gateways that share one store.
@Suite("Signed requests in a fleet")
struct SignedFleetTests {
    private let fleet: FleetBench
    private let signed: SignedBench
    private let limits = UpgradeLimits()

    init() throws {
        fleet = try FleetBench()
        signed = try SignedBench()
    }

    private func authorization(_ number: Int) throws -> SignedAuthorization {
        var appAttest = try #require(fleet.gateways[number].settings.appAttest)
        appAttest.window = try #require(CounterWindow(size: 32))
        return SignedAuthorization(
            SignedRequestSettings(appAttest: appAttest, origins: .unknown), blockList: BlockList(),
            admits: ["signed"], limits: limits, seesBodies: true, maximumBodyBytes: 65_536)
    }

    private func sent(_ device: inout SimulatedDevice, challengeOf number: Int) throws -> SignedBench.Sent {
        let challenge = fleet.gateways[number].challenges.issueForSigned(at: start).nonce
        let data = SignedBench.clientData(challenge, "PUT", SignedBench.url, "absent")
        return try signed.sent(
            by: &device, clientData: data, challenge: challenge, hash: sha256(Array(data.utf8)))
    }

    private func ask(_ number: Int, _ sent: SignedBench.Sent) throws -> Result<VerifiedSignedRequest, RefusedRequest> {
        let values = ["x-original-method": ["PUT"], "x-original-url": [SignedBench.url]]
        let question = SignedAuthorization.Question(
            request: try OriginalRequest(path: "", ownMethod: "GET") { values[$0] ?? [] }, fields: sent.fields,
            body: nil, address: address("192.0.2.1"), methods: nil, moment: start)
        let outcomes = Gathered<SignedAuthorization.Outcome>()
        try authorization(number).decision(on: question).whenDecided { outcomes.add($0) }
        return try #require(outcomes.all.first).get()
    }

    @Test func `a request passes at any gateway, once in the fleet`() throws {
        var device = try fleet.registeredDevice()
        let sent = try sent(&device, challengeOf: 0)
        #expect(try ask(1, sent).verified?.identity.subject == SignedBench.base64(device.keyID))
        for number in fleet.gateways.indices {
            #expect(try ask(number, sent).refusal?.answer == .signedChallengeRefused)
        }
    }

    @Test func `requests pass out of order at different gateways, each counter once`() throws {
        var device = try fleet.registeredDevice()
        let requests = try (0..<20).map { try sent(&device, challengeOf: $0 % 4) }
        for (number, request) in requests.enumerated().reversed() {
            #expect(try ask((number + 1) % 4, request).verified != nil)
        }
        device.counter = 4
        #expect(try ask(2, try sent(&device, challengeOf: 3)).refusal?.answer == .signedAssertionRejected)
        device.counter = 2_000_000
        #expect(try ask(2, try sent(&device, challengeOf: 3)).refusal?.answer == .signedKeyMismatch)
        device.counter = 20
        #expect(try ask(3, try sent(&device, challengeOf: 1)).verified != nil)
    }

    @Test func `strangers with random keys ask the store as often as the limit lets them`() throws {
        let challenge = fleet.gateways[0].challenges.issueForSigned(at: start).nonce
        let data = SignedBench.clientData(challenge, "PUT", SignedBench.url, "absent")
        let before = fleet.store.asked.count
        for number in 0..<100 {
            var stranger = SimulatedDevice(app: Bench.app)
            let sent = try signed.sent(
                by: &stranger, clientData: data, challenge: challenge, hash: sha256(Array(data.utf8)))
            let answer = try ask(0, sent).refusal?.answer
            #expect(answer == (number < 10 ? .reattestationRequired : .rateLimited), "\(number)")
        }
        // Ten failures, and what is verified in a second above them.
        let looks = fleet.store.asked.dropFirst(before)
        #expect(looks.count == 10 + UpgradeLimits.defaultVerificationsPerSecond && looks.allSatisfy { $0 == .look })
    }

    /// The threads that verify signatures are busy.
    @Test func `a key that nobody knows takes no place among the signatures`() throws {
        let full = try FleetBench(compute: { _ in false })
        let gateway = full.gateways[0]
        let settings = SignedRequestSettings(
            appAttest: try #require(gateway.settings.appAttest), origins: .unknown)
        func outcome(of device: inout SimulatedDevice) throws -> SignedAuthorization.Outcome {
            let challenge = gateway.challenges.issueForSigned(at: start).nonce
            let data = SignedBench.clientData(challenge, "PUT", SignedBench.url, "absent")
            let sent = try signed.sent(
                by: &device, clientData: data, challenge: challenge, hash: sha256(Array(data.utf8)))
            let steps = try SignedRequestSteps(
                sent.fields, SignedResource(method: "PUT", url: SignedBench.url, body: .unseen), settings,
                admitsLower: true)
            let outcomes = Gathered<SignedAuthorization.Outcome>()
            Decision(steps).run(at: start).whenDecided { outcomes.add($0) }
            return try #require(outcomes.all.first)
        }
        var (stranger, device) = (SimulatedDevice(app: Bench.app), try full.registeredDevice())
        #expect(try outcome(of: &stranger).get().refusal?.answer == .reattestationRequired)
        guard case .failure(.queueFull) = try outcome(of: &device) else {
            Issue.record("a signature was verified without a place")
            return
        }
    }

    @Test func `a challenge of before the store's new beginning is refused`() throws {
        var device = try fleet.registeredDevice()
        let sent = try sent(&device, challengeOf: 0)
        fleet.store.crash(SharedStore.incarnation(2))
        #expect(try ask(1, sent).refusal?.answer == .signedChallengeRefused)
    }
}
