import Admission
import AppAttest
import DeviceSimulation
import Foundation
import KeyStore
import KeyStoreTestKit
import Testing

struct AppAttestPolicyTests {
    private let bench: Bench
    private let gate: Gate

    init() throws {
        bench = try Bench()
        gate = bench.gate
    }

    private func refusal(_ fields: AssertionFields, at moment: Moment = start) -> Refusal? {
        gate.evaluate(bench.request(fields, at: moment)).refusal
    }

    @Test func `a registered device with a fresh challenge is admitted as itself`() throws {
        var device = try bench.registeredDevice()
        let admitted = gate.evaluate(bench.request(try bench.assertion(by: &device))).admitted
        let id = try #require(KeyID(bytes: device.keyID))
        #expect(admitted?.principal.identity == .key(id))
        let proof = admitted?.principal.proof as? AppAttestProof
        #expect(proof?.key == id && proof?.app == Bench.app)
        #expect(admitted?.principal.proxyName == "app_attest")
        #expect(admitted?.principal.identity.subject == id.base64)
        #expect(bench.registry.key(id)?.counter == 1)
        #expect(bench.registry.key(id)?.lastUsedAt == start.unixMilliseconds)
    }

    @Test func `each connection needs its own challenge and a higher counter`() throws {
        var device = try bench.registeredDevice()
        for _ in 0..<5 { #expect(refusal(try bench.assertion(by: &device)) == nil) }
    }

    @Test func `identifier and assertion may be base64url`() throws {
        var device = try bench.registeredDevice()
        for _ in 0..<8 {
            var fields = try bench.assertion(by: &device)
            fields.keyID = fields.keyID.map(urlSafe)
            fields.data = fields.data.map(urlSafe)
            #expect(refusal(fields) == nil)
        }
    }

    @Test(arguments: 1..<27) func `one header without the others, or empty, is refused and spends nothing`(pattern: Int)
        throws
    {
        var device = try bench.registeredDevice()
        let good = try bench.assertion(by: &device)
        func value(_ place: Int, _ text: String?) -> String? {
            [nil, "", text][pattern / place % 3]
        }
        let fields = AssertionFields(
            keyID: value(1, good.keyID), data: value(3, good.data), nonce: value(9, good.nonce))
        var bench = bench
        bench.settings.requiresAppAuth = false
        bench.settings.clientCertificates = TrustedChains()
        let decision = bench.gate.evaluate(bench.request(fields).with { $0.certificate = .good })
        if pattern == 26 {
            #expect(decision.admitted != nil)
        } else {
            #expect(decision.refusal?.answer == .appAuthRequired)
            #expect(bench.challenges.spentCount == 0)
            #expect(refusal(good) == nil)
        }
    }

    @Test func `a challenge that is malformed, foreign, expired or used is refused as such`() throws {
        var device = try bench.registeredDevice()
        let foreign = Challenges(epoch: epoch).issue(at: start).nonce
        let expired = bench.nonce(at: start - 60_000)
        let used = bench.nonce()
        #expect(refusal(try bench.assertion(by: &device, over: used)) == nil)
        for nonce in ["00", foreign, expired, used] {
            let refusal = refusal(try bench.assertion(by: &device, over: nonce))
            #expect(refusal?.answer == .invalidNonce)
            #expect(refusal?.freshChallenge?.text.count == 64)
        }
    }

    @Test func `a refusal's fresh challenge is valid for the next attempt`() throws {
        var device = try bench.registeredDevice()
        let fresh = try #require(refusal(AssertionFields(keyID: ""))?.freshChallenge?.text)
        #expect(refusal(try bench.assertion(by: &device, over: fresh)) == nil)
    }

    @Test func `the challenge is spent even if key or assertion then fail`() throws {
        var device = try bench.registeredDevice()
        var stranger = SimulatedDevice(app: Bench.app)
        for spoil: (inout AssertionFields) -> Void in [
            { $0.keyID = Data(stranger.keyID).base64EncodedString() }, { $0.keyID = "?" }, { $0.data = "?" },
            { $0.data = "AAAA" },
        ] {
            let nonce = bench.nonce()
            var fields = try bench.assertion(by: &device, over: nonce)
            spoil(&fields)
            #expect(refusal(fields)?.answer != .invalidNonce)
            #expect(refusal(try bench.assertion(by: &device, over: nonce))?.answer == .invalidNonce)
        }
        #expect(refusal(try bench.assertion(by: &stranger))?.answer == .unknownKey)
    }

    @Test func `an unknown key is told to attest again`() throws {
        var device = SimulatedDevice(app: Bench.app)
        let refusal = refusal(try bench.assertion(by: &device))
        #expect(refusal?.status == 401)
        #expect(refusal?.code.rawValue == "unknown_key")
        #expect(refusal?.message == "Unknown key: requires re-attestation")
    }

    @Test(arguments: [
        "?", "AAAA", String(repeating: "A", count: 10_000), "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA =",
    ])
    func `a malformed key identifier is an unknown key`(keyID: String) throws {
        var device = try bench.registeredDevice()
        var fields = try bench.assertion(by: &device)
        fields.keyID = keyID
        #expect(refusal(fields)?.answer == .unknownKey)
    }

    @Test func `a key of an app, environment or root that is no longer configured is unknown`() throws {
        for change: (inout DeviceKey) -> Void in [
            { $0.app = Bench.unknownApp.description }, { $0.app = "" }, { $0.app = "org.example.mud" },
            { $0.environment = "development" }, { $0.environment = "sandbox" }, { $0.environment = "Production" },
            { $0.trustRoot = TrustRoot.apple.fingerprint }, { $0.trustRoot = [] },
        ] {
            var device = try bench.registeredDevice(changing: change)
            #expect(refusal(try bench.assertion(by: &device))?.answer == .unknownKey)
        }
    }

    @Test func `a key is valid for its own app only`() throws {
        var other = try bench.registeredDevice(app: Bench.otherApp)
        #expect(refusal(try bench.assertion(by: &other)) == nil)
        var mistaken = try bench.registeredDevice(app: Bench.app) { $0.app = Bench.otherApp.description }
        #expect(refusal(try bench.assertion(by: &mistaken))?.answer == .assertionRejected)
    }

    @Test func `a revoked key is refused as revoked until it is restored`() throws {
        var device = try bench.registeredDevice()
        let id = try #require(KeyID(bytes: device.keyID))
        #expect(bench.registry.revoke(id, reason: "lost", at: start.unixMilliseconds))
        let refusal = refusal(try bench.assertion(by: &device))
        #expect(refusal?.status == 403)
        #expect(refusal?.code.rawValue == "key_revoked")
        #expect(refusal?.freshChallenge == nil)
        #expect(bench.registry.restore(id))
        #expect(self.refusal(try bench.assertion(by: &device)) == nil)
    }

    @Test func `a revoked key is refused as such before its assertion is looked at`() throws {
        var device = try bench.registeredDevice()
        #expect(bench.registry.revoke(try #require(KeyID(bytes: device.keyID)), reason: "lost", at: 1))
        var fields = try bench.assertion(by: &device)
        fields.data = "AAAA"
        #expect(refusal(fields)?.answer == .keyRevoked)
    }

    @Test(arguments: AssertionDefect.allCases) func `every forged assertion is refused and moves no counter`(
        defect: AssertionDefect
    ) throws {
        let nonce = bench.nonce()
        let device = SimulatedDevice(app: Bench.app)
        let forgery = try device.forgeAssertion(defect, clientDataHash: clientDataHash(of: nonce))
        let id = try #require(KeyID(bytes: device.keyID))
        #expect(
            bench.registry.enrol(
                DeviceKey(
                    id: id, publicKeyX963: device.publicKeyX963, app: Bench.app.description,
                    environment: "production", trustRoot: bench.trustRoot.fingerprint,
                    counter: forgery.previousCounter, receipt: [], validationCategory: nil, bundleVersion: nil,
                    registeredAt: 0)) == .enrolled)
        let fields = AssertionFields(
            keyID: id.base64, data: Data(forgery.assertion).base64EncodedString(), nonce: nonce)
        let expected: RefusalAnswer = forgery.assertion.isEmpty ? .appAuthRequired : .assertionRejected
        #expect(refusal(fields)?.answer == expected)
        #expect(bench.registry.key(id)?.counter == forgery.previousCounter)
    }

    @Test func `an assertion is read up to its limit`() throws {
        var bench = try Bench()
        var device = try bench.registeredDevice()
        var fields = try bench.assertion(by: &device)
        let size = try #require(fields.data.flatMap { Data(base64Encoded: $0) }?.count)
        bench.settings.appAttest?.maximumAssertionBytes = size
        #expect(bench.gate.evaluate(bench.request(fields)).admitted != nil)
        fields = try bench.assertion(by: &device)
        let next = try #require(fields.data.flatMap { Data(base64Encoded: $0) }?.count)
        bench.settings.appAttest?.maximumAssertionBytes = next - 1
        let refusal = bench.gate.evaluate(bench.request(fields)).refusal
        #expect(refusal?.answer == .assertionRejected)
        #expect(refusal?.detail.contains("too long") == true)
    }

    @Test func `a required validation category is required of assertions`() throws {
        var bench = try Bench()
        bench.settings.appAttest?.assertionVerifier = AssertionVerifier(validationCategories: [4])
        var device = try bench.registeredDevice()
        #expect(
            bench.gate.evaluate(bench.request(try bench.assertion(by: &device))).refusal?.answer == .assertionRejected)
    }

    @Test func `without App Attest its headers are wrong credentials`() throws {
        var bench = try Bench()
        bench.settings.appAttest = nil
        bench.settings.requiresAppAuth = false
        bench.settings.clientCertificates = TrustedChains()
        for fields in [AssertionFields(keyID: ""), AssertionFields(data: "x"), AssertionFields(nonce: "")] {
            let request = bench.request(fields).with { $0.certificate = .good }
            let refusal = bench.gate.evaluate(request).refusal
            #expect(refusal?.answer == .assertionRejected)
            #expect(refusal?.freshChallenge == nil)
        }
    }

    private func urlSafe(_ text: String) -> String {
        text.replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }
}
