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

    init() throws {
        fleet = try FleetBench()
        signed = try SignedBench()
    }

    private func authorization(_ number: Int) throws -> SignedAuthorization {
        var appAttest = try #require(fleet.gateways[number].settings.appAttest)
        appAttest.window = try #require(CounterWindow(size: 32))
        return SignedAuthorization(
            SignedRequestSettings(appAttest: appAttest, origins: .unknown), blockList: BlockList(),
            admits: ["signed"], seesBodies: true, maximumBodyBytes: 65_536)
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

    @Test func `a challenge of before the store's new beginning is refused`() throws {
        var device = try fleet.registeredDevice()
        let sent = try sent(&device, challengeOf: 0)
        fleet.store.crash(SharedStore.incarnation(2))
        #expect(try ask(1, sent).refusal?.answer == .signedChallengeRefused)
    }
}
