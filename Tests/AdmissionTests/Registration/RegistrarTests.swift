import Admission
import AppAttest
import DeviceSimulation
import Foundation
import KeyStore
import KeyStoreTestKit
import Testing
import WireText

struct RegistrarTests {
    private let bench: Bench
    private let registrar: Registrar
    private let authority: SimulatedAuthority
    private static let now = Date(timeIntervalSince1970: Double(start.unixMilliseconds) / 1_000)

    init() throws {
        bench = try Bench()
        authority = try Bench.authority.get()
        registrar = Self.registrar(bench, over: bench.registry)
    }

    private static func registrar(
        _ bench: Bench, over registry: any KeyRegistry & ImmediateKeyRegistry,
        limits: EndpointLimits = EndpointLimits()
    ) -> Registrar {
        Registrar(
            settings: bench.appAttest(over: registry), registry: registry,
            verifier: AttestationVerifier(trustRoot: bench.trustRoot, policy: bench.policy), limits: limits)
    }

    private func body(_ device: SimulatedDevice, nonce: String, by authority: SimulatedAuthority? = nil) throws
        -> [UInt8]
    {
        let attestation = try device.attest(
            clientDataHash: clientDataHash(of: nonce), by: authority ?? self.authority, at: Self.now)
        return json([
            "keyId": Data(device.keyID).base64EncodedString(),
            "attestation": Data(attestation).base64EncodedString(), "nonce": nonce,
        ])
    }

    private func json(_ fields: [String: String]) -> [UInt8] { Array((try? JSONEncoder().encode(fields)) ?? Data()) }

    private func register(_ body: [UInt8], at moment: Moment = start, by registrar: Registrar? = nil) async
        -> RegistrationOutcome
    {
        await (registrar ?? self.registrar).register(body: body, from: address("192.0.2.1"), at: moment)
    }

    @Test func `a device registers, and its key is stored with the attested facts`() async throws {
        let device = SimulatedDevice(app: Bench.otherApp)
        let outcome = await register(try body(device, nonce: bench.nonce()))
        let key = try #require(outcome.registered)
        #expect(!key.wasKnown)
        #expect(key.app == Bench.otherApp)
        let stored = try #require(bench.registry.key(key.id))
        #expect(stored.id.bytes == device.keyID)
        #expect(stored.publicKeyX963 == device.publicKeyX963)
        #expect(stored.app == Bench.otherApp.description)
        #expect(stored.environment == "production")
        #expect(stored.trustRoot == bench.trustRoot.fingerprint)
        #expect(stored.counter == 0)
        #expect(stored.registeredAt == start.unixMilliseconds)
        #expect(!stored.receipt.isEmpty)
    }

    @Test func `a registered device is admitted with a key identifier in either alphabet`() async throws {
        for _ in 0..<8 {
            var device = SimulatedDevice(app: Bench.app)
            let text = String(decoding: try body(device, nonce: bench.nonce()), as: UTF8.self)
            let urlSafe = Data(device.keyID).base64EncodedString().replacingOccurrences(of: "+", with: "-")
                .replacingOccurrences(of: "/", with: "_")
            let slashed = Data(device.keyID).base64EncodedString().replacingOccurrences(of: "/", with: "\\/")
            let rewritten = text.replacingOccurrences(of: slashed, with: urlSafe)
            #expect(await register(Array(rewritten.utf8)).registered != nil)
            #expect(bench.gate.evaluate(bench.request(try bench.assertion(by: &device))).admitted != nil)
        }
    }

    @Test func `registering again is verified in full and never lowers the counter`() async throws {
        var device = SimulatedDevice(app: Bench.app)
        #expect(await register(try body(device, nonce: bench.nonce())).registered?.wasKnown == false)
        #expect(bench.gate.evaluate(bench.request(try bench.assertion(by: &device))).admitted != nil)
        #expect(await register(try body(device, nonce: bench.nonce())).registered?.wasKnown == true)
        let id = try #require(KeyID(bytes: device.keyID))
        #expect(bench.registry.key(id)?.counter == 1)
        let forged = try body(device, nonce: bench.nonce(), by: SimulatedAuthority(at: Self.now))
        #expect(await register(forged).refusal?.answer == .attestationRejected)
    }

    @Test func `a revoked key stays revoked`() async throws {
        let device = SimulatedDevice(app: Bench.app)
        let id = try #require(await register(try body(device, nonce: bench.nonce())).registered?.id)
        #expect(bench.registry.revoke(id, reason: "lost", at: 1))
        let refusal = await register(try body(device, nonce: bench.nonce())).refusal
        #expect(refusal?.status == 403)
        #expect(refusal?.code.rawValue == "key_revoked")
        #expect(bench.registry.key(id)?.isRevoked == true)
    }

    @Test func `the last check runs before a key is stored, and only for valid attestations`()
        async throws
    {
        let device = SimulatedDevice(app: Bench.app)
        let refusal = Refusal(.auditUnavailable, detail: "", retryAfter: 5)
        let id = try #require(KeyID(bytes: device.keyID))
        let refused = await registrar.register(
            body: try body(device, nonce: bench.nonce()), from: address("192.0.2.1"), at: start
        ) { [registry = bench.registry] key in
            #expect(key.id == id && !key.wasKnown && registry.key(id) == nil)
            return refusal
        }
        #expect(refused.refusal?.answer == .auditUnavailable && refused.refusal?.retryAfter == 5)
        #expect(bench.registry.key(id) == nil)

        #expect(await register(try body(device, nonce: bench.nonce())).registered != nil)
        #expect(bench.registry.revoke(id, reason: "lost", at: 1))
        let forged = try body(device, nonce: bench.nonce(), by: SimulatedAuthority(at: Self.now))
        for body in [forged, try body(device, nonce: bench.nonce())] {
            let outcome = await registrar.register(body: body, from: address("192.0.2.1"), at: start) { _ in
                Issue.record("asked about a key that is refused")
                return refusal
            }
            #expect(outcome.refusal != nil)
        }
    }

    @Test(arguments: ["keyId", "attestation", "nonce"])
    func `a missing, null or empty field is reported by name and spends nothing`(field: String) async throws {
        let nonce = bench.nonce()
        let good = try body(SimulatedDevice(app: Bench.app), nonce: nonce)
        let fields = try JSONDecoder().decode([String: String].self, from: Data(good))
        var without = fields
        without[field] = nil
        let object = String(decoding: json(without).dropLast(), as: UTF8.self)
        for text in [object + "}", object + ",\"\(field)\":null}", object + ",\"\(field)\":\"\"}", "{}"] {
            let refusal = await register(Array(text.utf8)).refusal
            #expect(refusal?.status == 400)
            #expect(refusal?.code.rawValue == "missing_field")
            #expect(refusal?.message == "Missing keyId, attestation, or nonce")
        }
        #expect(await register(good).registered != nil)
    }

    @Test(arguments: [
        "", "{", "[]", "null", "\"\"", "1", "{\"keyId\":1,\"attestation\":\"\",\"nonce\":\"\"}", "{}}", "{} x",
        "{\"keyId\":{},\"attestation\":[],\"nonce\":true}", "keyId=AAAA&attestation=AAAA&nonce=00",
    ])
    func `a body that isn't an object of strings is malformed`(text: String) async {
        #expect(await register(Array(text.utf8)).refusal?.answer == .malformedRequest)
    }

    @Test func `invalid UTF-8 and unbounded nesting are malformed`() async {
        #expect(await register([0xff, 0xfe, 0x00]).refusal?.answer == .malformedRequest)
        #expect(await register(Array("{\"keyId\":\"".utf8) + [0xc3, 0x28]).refusal?.answer == .malformedRequest)
        let deep = [UInt8](repeating: UInt8(ascii: "["), count: 60_000)
        #expect(await register(deep).refusal?.answer == .malformedRequest)
        let deepObject = Array(String(repeating: "{\"keyId\":", count: 6_000).utf8)
        #expect(await register(deepObject).refusal?.answer == .malformedRequest)
    }

    @Test func `a truncated body is refused and spends nothing`() async throws {
        let bench = bench
        let registrar = Self.registrar(
            bench, over: bench.registry, limits: EndpointLimits(registrationsPerMinute: .max))
        let good = try body(SimulatedDevice(app: Bench.app), nonce: bench.nonce())
        for length in 0..<good.count {
            let outcome = await register(Array(good.prefix(length)), by: registrar)
            #expect(outcome.refusal?.answer == .malformedRequest)
        }
        #expect(bench.challenges.spentCount == 0)
        #expect(await register(good, by: registrar).registered != nil)
    }

    @Test func `identifier and attestation must be strict base64, and nothing is spent before that check`() async throws
    {
        let nonce = bench.nonce()
        let device = SimulatedDevice(app: Bench.app)
        let good = try JSONDecoder().decode([String: String].self, from: Data(try body(device, nonce: nonce)))
        for (field, text) in [("keyId", "AAAA"), ("keyId", "?"), ("attestation", "A"), ("attestation", "AA AA")] {
            var fields = good
            fields[field] = text
            #expect(await register(json(fields)).refusal?.answer == .malformedRequest)
        }
        #expect(bench.challenges.spentCount == 0)
        #expect(await register(json(good)).registered != nil)
    }

    @Test func `a malformed, foreign, expired or used nonce is refused in the specified words`() async throws {
        let device = SimulatedDevice(app: Bench.app)
        let used = bench.nonce()
        #expect(await register(try body(device, nonce: used)).registered != nil)
        let foreign = Challenges(epoch: epoch).issue(at: start).nonce
        for nonce in ["zz", foreign, bench.nonce(at: start - 60_000), used] {
            let refusal = await register(try body(device, nonce: nonce)).refusal
            #expect(refusal?.status == 400)
            #expect(refusal?.code.rawValue == "invalid_nonce")
            #expect(refusal?.message == "Invalid or expired nonce")
        }
    }

    @Test func `a challenge serves one registration or one upgrade, not both`() async throws {
        var device = SimulatedDevice(app: Bench.app)
        let nonce = bench.nonce()
        #expect(await register(try body(device, nonce: nonce)).registered != nil)
        let refusal = bench.gate.evaluate(bench.request(try bench.assertion(by: &device, over: nonce))).refusal
        #expect(refusal?.answer == .invalidNonce)
    }

    @Test(arguments: AttestationDefect.allCases)
    func `every forged attestation is refused, spends its nonce and stores nothing`(
        defect: AttestationDefect
    ) async throws {
        let nonce = bench.nonce()
        let forgery = try SimulatedDevice(app: Bench.app).forgeAttestation(
            defect, clientDataHash: clientDataHash(of: nonce), by: authority, at: Self.now)
        let refusal = await register(
            json([
                "keyId": Data(forgery.keyID).base64EncodedString(),
                "attestation": Data(forgery.attestation).base64EncodedString(), "nonce": nonce,
            ])
        ).refusal
        #expect(bench.registry.keys(after: nil, limit: 10).isEmpty)
        switch refusal?.answer {
        case .missingField: #expect(forgery.attestation.isEmpty)
        case .bodyTooLarge: #expect(forgery.attestation.count > 40_000)
        case .attestedAppMismatch:
            #expect(defect == .bareBundleRPIDHash || defect == .otherTeamRPIDHash)
            #expect(bench.challenges.spentCount == 1)
        default:
            #expect(refusal?.answer == .attestationRejected)
            #expect(bench.challenges.spentCount == 1)
        }
    }

    @Test func `another app is told that its bundle doesn't match`() async throws {
        let refusal = await register(try body(SimulatedDevice(app: Bench.unknownApp), nonce: bench.nonce())).refusal
        #expect(refusal?.status == 400)
        #expect(refusal?.code.rawValue == "attestation_rejected")
        #expect(refusal?.message == "rpIdHash does not match bundleId")
    }

    @Test func `a store that can't write refuses with 503, and the device may try again`() async throws {
        for error in [KeyRegistryError.busy, .queueFull, .unavailable("disk full")] {
            let failing = Self.registrar(bench, over: FailingRegistry(bench.registry, failing: [.enrol: error]))
            let device = SimulatedDevice(app: Bench.app)
            let outcome = await register(try body(device, nonce: bench.nonce()), by: failing)
            guard case .unstored(let refusal) = outcome else {
                Issue.record("a line that says it was admitted would stay: \(outcome)")
                continue
            }
            let blind = Self.registrar(bench, over: FailingRegistry(bench.registry, failing: [.look: error]))
            let unasked = await blind.register(
                body: try body(device, nonce: bench.nonce()), from: address("192.0.2.1"), at: start
            ) { _ in
                Issue.record("asked about a key that can't be stored")
                return nil
            }
            #expect(unasked.refusal?.answer == .attestationUnavailable)
            #expect(refusal.status == 503)
            #expect(refusal.code.rawValue == "attestation_unavailable")
            #expect(refusal.message == "Attestation verification is unavailable")
            #expect(refusal.retryAfter == 5)
            #expect(await register(try body(device, nonce: bench.nonce())).registered != nil)
        }
    }

    @Test func `64 KiB of body are read and one byte more isn't`() async throws {
        let good = try body(SimulatedDevice(app: Bench.app), nonce: bench.nonce())
        let padding = [UInt8](repeating: UInt8(ascii: " "), count: 65_536 - good.count)
        #expect(await register(good + padding + [32]).refusal?.answer == .bodyTooLarge)
        #expect(await register(good + padding).registered != nil)
    }

    @Test func `above the rate nothing is verified`() async throws {
        let limited = Self.registrar(bench, over: bench.registry, limits: EndpointLimits(registrationsPerMinute: 1))
        let good = try body(SimulatedDevice(app: Bench.app), nonce: bench.nonce())
        #expect(await register([], by: limited).refusal?.answer == .malformedRequest)
        let refusal = await register(good, by: limited).refusal
        #expect(refusal?.answer == .rateLimited)
        #expect(refusal?.retryAfter == 60)
        #expect(bench.challenges.spentCount == 0)
        #expect(await register(good, at: start + 60_000 - 1, by: limited).refusal?.answer == .rateLimited)
    }

    @Test func `a full set of spent challenges causes a 503 and the nonce stays valid`() async throws {
        let bench = try Bench(maximumSpent: 0)
        let registrar = Self.registrar(bench, over: bench.registry)
        let refusal = await register(
            try body(SimulatedDevice(app: Bench.app), nonce: bench.nonce()), by: registrar
        ).refusal
        #expect(refusal?.answer == .challengesExhausted)
        #expect((refusal?.retryAfter ?? 0) >= 1)
    }
}

extension RegistrationOutcome {
    var registered: RegisteredKey? {
        guard case .registered(let key) = self else { return nil }
        return key
    }

    var refusal: Refusal? {
        switch self {
        case .registered: return nil
        case .refused(let refusal), .unstored(let refusal): return refusal
        }
    }
}
