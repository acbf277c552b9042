import AppAttest
import DeviceSimulation
import Foundation
import KeyStore
import KeyStoreTestKit
import Synchronization
import Testing

@testable import Admission

@Suite("Registration of devices that sign requests")
struct SignedRegistrarTests {
    private let signed: SignedBench
    private let registrar: Registrar
    private static let now = Date(timeIntervalSince1970: Double(start.unixMilliseconds) / 1_000)
    private let body = #"{"app_attest_key_id":"…"}"#

    init() throws {
        signed = try SignedBench()
        registrar = Registrar(
            settings: signed.settings.appAttest, registry: signed.bench.registry,
            verifier: AttestationVerifier(trustRoot: signed.bench.trustRoot, policy: signed.bench.policy),
            limits: EndpointLimits())
    }

    /// Attestation and assertion are over the client data alone.
    private func sent(_ device: inout SimulatedDevice, attests: Bool = true) throws -> SignedBench.Sent {
        let challenge = signed.challenge()
        let data = SignedBench.clientData(challenge)
        let hash = sha256(Array(data.utf8))
        let attestation = try device.attest(clientDataHash: hash, by: try Bench.authority.get(), at: Self.now)
        var sent = try signed.sent(by: &device, clientData: data, challenge: challenge, hash: hash, body: body)
        if attests { sent[.attestation] = SignedBench.base64(attestation) }
        return sent
    }

    private func request(_ sent: SignedBench.Sent) -> SignedEndpointRequest {
        SignedEndpointRequest(
            method: "POST", fields: sent.fields, body: Array(sent.body.utf8), address: address("192.0.2.1"),
            moment: start)
    }

    private func register(_ sent: SignedBench.Sent) async -> RegistrationOutcome {
        await registrar.registerSigned(request(sent), ifBlocked: { _ in nil }) { _ in nil }
    }

    private func unregister(_ sent: SignedBench.Sent) async -> UnregistrationOutcome {
        let registry = signed.bench.registry
        return await registrar.unregister(request(sent), ifBlocked: { _ in nil }, unless: { _ in nil }) {
            if registry.key($0)?.isBeingErased == true { _ = registry.restore($0) }
            _ = registry.forget($0)
        }
    }

    @Test func `a new key is registered, and a known one confirms itself with or without an attestation`() async throws
    {
        var device = SimulatedDevice(app: Bench.app)
        #expect(await register(try sent(&device)).registered?.wasKnown == false)
        let id = try #require(KeyID(bytes: device.keyID))
        #expect(signed.bench.registry.key(id)?.counter == 1)
        #expect(await register(try sent(&device)).registered?.wasKnown == true)
        #expect(await register(try sent(&device, attests: false)).registered?.wasKnown == true)
        #expect(signed.bench.registry.key(id)?.counter == 3)
        // A key that is registered one way is used in all.
        #expect(try signed.authorize(try signed.first(&device)).verified != nil)
        #expect(signed.gate.evaluate(signed.bench.request(try signed.bench.assertion(by: &device))).admitted != nil)
    }

    @Test func `without an attestation an unknown key is told to send one`() async throws {
        var device = SimulatedDevice(app: Bench.app)
        #expect(await register(try sent(&device, attests: false)).refusal?.answer == .attestationRequired)
        var outside = try signed.bench.registeredDevice(app: Bench.unknownApp)
        #expect(await register(try sent(&outside, attests: false)).refusal?.answer == .reattestationRequired)
        var revoked = try signed.bench.registeredDevice { $0.revokedAt = 1 }
        #expect(await register(try sent(&revoked)).refusal?.status == 403)
        #expect(await register(try sent(&revoked, attests: false)).refusal?.status == 403)
    }

    @Test func `a registration is good once, and one that is refused for its form spends nothing`() async throws {
        var device = SimulatedDevice(app: Bench.app)
        let good = try sent(&device)
        var wrong = good
        wrong[.bodyDigest] = nil
        #expect(await register(wrong).refusal?.answer == .bodyDigestMismatch)
        wrong = good
        wrong.body += " "
        #expect(await register(wrong).refusal?.answer == .bodyDigestMismatch)
        wrong = good
        wrong[.assertion] = nil
        #expect(await register(wrong).refusal?.answer == .signedFieldMissing)
        wrong = good
        wrong[.attestation] = "%"
        #expect(await register(wrong).refusal?.answer == .signedFieldsMalformed)
        wrong = good
        wrong[.attestation] = good[.assertion]
        #expect(await register(wrong).refusal?.answer == .attestationPayloadRejected)
        wrong = good
        wrong[.clientData] = SignedBench.clientData(
            try #require(good[.challenge]), "POST", SignedBench.url, SignedBench.digest(body))
        #expect(await register(wrong).refusal?.failed.check == .clientData)
        #expect(await register(good).registered != nil)
        #expect(await register(good).refusal?.answer == .signedChallengeRefused)
    }

    @Test func `a field that is repeated, or over its limit, is refused`() async throws {
        var device = SimulatedDevice(app: Bench.app)
        let good = try sent(&device)
        for field in [SignedField.keyID, .challenge, .assertion, .clientData, .bodyDigest, .attestation] {
            var wrong = good
            let text = try #require(good[field])
            wrong.values[field.name] = [text, text]
            let repeated = await register(wrong).refusal
            #expect(repeated?.answer == .signedFieldsMalformed && repeated?.failed.check == .signedFields)
            wrong.values[field.name] = [String(repeating: "A", count: 90_000)]
            let long = await register(wrong).refusal
            let check: AdmissionCheck = field == .challenge ? .clientData : .signedFields
            #expect(long?.answer == .signedFieldsMalformed && long?.failed.check == check, "\(field.name)")
        }
        var large = good
        large.body = String(repeating: "a", count: 65_537)
        #expect(await register(large).refusal?.answer == .bodyTooLarge)
        #expect(await register(good).registered != nil)
    }

    @Test func `above its rate nothing is spent`() async throws {
        var device = SimulatedDevice(app: Bench.app)
        let limited = Registrar(
            settings: signed.settings.appAttest, registry: signed.bench.registry,
            verifier: AttestationVerifier(trustRoot: signed.bench.trustRoot, policy: signed.bench.policy),
            limits: EndpointLimits(registrationsPerMinute: 1))
        let (first, second) = (try sent(&device), try sent(&device))
        #expect(await limited.registerSigned(request(first), ifBlocked: { _ in nil }) { _ in nil }.registered != nil)
        #expect(
            await limited.registerSigned(request(second), ifBlocked: { _ in nil }) { _ in nil }.refusal?.answer
                == .rateLimited)
        #expect(await register(second).registered != nil)
    }

    @Test func `an assertion over the body as well is refused here`() async throws {
        var device = SimulatedDevice(app: Bench.app)
        var sent = try sent(&device)
        let data = try #require(sent[.clientData])
        sent[.assertion] = SignedBench.base64(try device.assert(clientDataHash: sha256(Array((data + body).utf8))))
        #expect(await register(sent).refusal?.answer == .signedAssertionRejected)
        #expect(signed.bench.registry.key(try #require(KeyID(bytes: device.keyID))) == nil)
    }

    @Test func `unregistering needs the key's signature, and forgets the key`() async throws {
        var device = SimulatedDevice(app: Bench.app)
        #expect(await unregister(try sent(&device, attests: false)).refusal?.answer == .deviceNotRegistered)
        #expect(await register(try sent(&device)).registered != nil)
        var other = try signed.bench.registeredDevice()
        var stolen = try sent(&other, attests: false)
        stolen[.keyID] = SignedBench.base64(device.keyID)
        #expect(await unregister(stolen).refusal?.answer == .signedAssertionRejected)
        #expect(await unregister(try sent(&device, attests: false)).isDone)
        #expect(await unregister(try sent(&device, attests: false)).refusal?.answer == .deviceNotRegistered)
        #expect(await register(try sent(&device)).registered?.wasKnown == false)
    }

    @Test func `a blocked key is neither registered nor unregistered, and spends nothing`() async throws {
        let asked = Mutex<[Identity]>([])
        let blocking: Registrar.Blocking = { identity in
            asked.withLock { $0.append(identity) }
            return Refusal(.deviceBlocked, detail: "identity is blocked")
        }
        var device = SimulatedDevice(app: Bench.app)
        let id = try #require(KeyID(bytes: device.keyID))
        let (first, second) = (try sent(&device), try sent(&device, attests: false))
        let registry = signed.bench.registry
        for sent in [first, second] {
            let outcome = await registrar.registerSigned(request(sent), ifBlocked: blocking) { _ in
                Issue.record("nothing is recorded")
                return nil
            }
            #expect(outcome.refusal?.status == 403 && outcome.refusal?.code == .deviceBlocked)
            #expect(outcome.refusal?.failed.check == .identityBlocked && registry.key(id) == nil)
        }
        // What was refused is good afterwards.
        #expect(await register(first).registered != nil)
        let outcome = await registrar.unregister(
            request(second), ifBlocked: blocking,
            unless: { _ in
                Issue.record("nothing is recorded")
                return nil
            }, begin: { _ in Issue.record("nothing is forgotten") })
        #expect(outcome.refusal?.answer == .deviceBlocked && registry.key(id)?.counter == 1)
        #expect(await unregister(second).isDone)
        #expect(asked.withLock { $0 } == [Identity](repeating: .signed(id), count: 3))
    }

    @Test func `an erasure that was interrupted goes on, and is no revocation`() async throws {
        var device = SimulatedDevice(app: Bench.app)
        #expect(await register(try sent(&device)).registered != nil)
        let (id, registry) = (try #require(KeyID(bytes: device.keyID)), signed.bench.registry)
        #expect(registry.revoke(id, reason: DeviceKey.erasingReason, at: 1))
        // The client makes another key.
        for attests in [true, false] {
            let refusal = await register(try sent(&device, attests: attests)).refusal
            #expect(refusal?.answer == .reattestationRequired && refusal?.status == 428)
        }
        #expect(try signed.refusal(try signed.first(&device)).answer == .reattestationRequired)
        let assertion = signed.bench.request(try signed.bench.assertion(by: &device))
        #expect(signed.gate.evaluate(assertion).refusal?.answer == .unknownKey)
        // Or it asks again. That takes its signature, and each challenge is good once.
        var other = try signed.bench.registeredDevice()
        var stolen = try sent(&other, attests: false)
        stolen[.keyID] = SignedBench.base64(device.keyID)
        #expect(await unregister(stolen).refusal?.answer == .signedAssertionRejected)
        let good = try sent(&device, attests: false)
        #expect(await unregister(good).isDone)
        #expect(await unregister(good).refusal?.answer == .signedChallengeRefused)
        #expect(await register(try sent(&device)).registered?.wasKnown == false)
        // What an operator has revoked stays so.
        #expect(registry.revoke(id, reason: "lost", at: 1))
        #expect(await unregister(try sent(&device, attests: false)).refusal?.answer == .keyRevoked)
        #expect(await register(try sent(&device)).refusal?.answer == .keyRevoked)
    }

    @Test func `a key that is stored is registered, also if its counter can't be`() async throws {
        let failing = Registrar(
            settings: signed.settings.appAttest,
            registry: FailingRegistry(signed.bench.registry, failing: [.advance: .busy]),
            verifier: AttestationVerifier(trustRoot: signed.bench.trustRoot, policy: signed.bench.policy),
            limits: EndpointLimits())
        var device = SimulatedDevice(app: Bench.app)
        let first = try sent(&device)
        let outcome = await failing.registerSigned(request(first), ifBlocked: { _ in nil }) { _ in nil }
        #expect(outcome.registered?.wasKnown == false)
        let id = try #require(KeyID(bytes: device.keyID))
        #expect(signed.bench.registry.key(id)?.counter == 0)
        // Nor can the same be sent again, and the device goes on.
        #expect(await register(first).refusal?.answer == .signedChallengeRefused)
        #expect(await register(try sent(&device, attests: false)).registered?.wasKnown == true)
        // Of a known key nothing else is written: there the failure is one.
        let again = await failing.registerSigned(
            request(try sent(&device, attests: false)), ifBlocked: { _ in nil }
        ) { _ in nil }
        guard case .unstored = again else { return #expect(Bool(false), "\(again)") }
    }

    @Test func `a counter that is far too high is refused, also of a key that was just stored`() async throws {
        var device = SimulatedDevice(app: Bench.app)
        device.counter = 2_000_000
        guard case .unstored(let refusal) = await register(try sent(&device)) else {
            return #expect(Bool(false), "the line of the registration is corrected")
        }
        #expect(refusal.answer == .signedKeyMismatch && refusal.signer == SignedBench.base64(device.keyID))
    }

    @Test func `what can't be recorded isn't done`() async throws {
        var device = SimulatedDevice(app: Bench.app)
        let refusal = Refusal(.auditUnavailable, detail: "")
        let outcome = await registrar.registerSigned(request(try sent(&device)), ifBlocked: { _ in nil }) { _ in refusal
        }
        #expect(outcome.refusal?.answer == .auditUnavailable)
        #expect(signed.bench.registry.key(try #require(KeyID(bytes: device.keyID))) == nil)
    }

    /// What the audit log gets, and what becomes of the key.
    private final class Ending: Sendable {
        private let lines = Mutex(0)
        private let begun = Mutex(0)
        var counts: [Int] { [lines.withLock { $0 }, begun.withLock { $0 }] }
        func record() { lines.withLock { $0 += 1 } }
        func begin() { begun.withLock { $0 += 1 } }
    }

    private func unregister(
        _ sent: SignedBench.Sent, _ ending: Ending, refusing refusal: Refusal? = nil, failing: KeyRegistryError? = nil
    ) async -> UnregistrationOutcome {
        await registrar.unregister(
            request(sent), ifBlocked: { _ in nil },
            unless: { _ in
                ending.record()
                return refusal
            },
            begin: { _ throws(KeyRegistryError) in
                ending.begin()
                if let failing { throw failing }
            })
    }

    @Test func `an end is recorded when challenge and counter are used, and not before`() async throws {
        var device = SimulatedDevice(app: Bench.app)
        #expect(await register(try sent(&device)).registered != nil)
        let ending = Ending()
        // Its challenge is spent, its counter used, its counter too high: no line says that it was unregistered.
        let spent = try sent(&device, attests: false)
        #expect(await register(spent).registered != nil)
        #expect(await unregister(spent, ending).refusal?.answer == .signedChallengeRefused)
        device.counter -= 1
        #expect(await unregister(try sent(&device, attests: false), ending).refusal?.answer == .signedAssertionRejected)
        let counter = device.counter
        device.counter += 2_000_000
        #expect(await unregister(try sent(&device, attests: false), ending).refusal?.answer == .signedKeyMismatch)
        device.counter = counter
        #expect(ending.counts == [0, 0])
        let full = Refusal(.auditUnavailable, detail: "")
        let unwritten = await unregister(try sent(&device, attests: false), ending, refusing: full)
        #expect(unwritten.refusal?.answer == .auditUnavailable && ending.counts == [1, 0])
        guard case .unstored(let refusal) = await unregister(try sent(&device, attests: false), ending, failing: .busy)
        else { return #expect(Bool(false), "a failure after the line is told from a refusal before it") }
        #expect(refusal.answer == .attestationUnavailable && refusal.retryAfter != nil && ending.counts == [2, 1])
        #expect(await unregister(try sent(&device, attests: false), ending).isDone && ending.counts == [3, 2])
    }
}

extension UnregistrationOutcome {
    fileprivate var isDone: Bool { if case .begun = self { true } else { false } }

    fileprivate var refusal: Refusal? {
        switch self {
        case .begun: nil
        case .refused(let refusal), .unstored(let refusal): refusal
        }
    }
}
