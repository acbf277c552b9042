import AppAttest
import DeviceSimulation
import Foundation
import KeyStore
import KeyStoreTestKit
import Synchronization
import Testing

@testable import Admission

/// The table of checks, held against what the verifiers really do.
struct CheckOrderTests {
    private let bench: Bench
    private static let now = Date(timeIntervalSince1970: Double(start.unixMilliseconds) / 1_000)

    init() throws { bench = try Bench() }

    private func registration(
        _ keyID: [UInt8], _ attestation: [UInt8], _ nonce: String, over bench: Bench? = nil
    ) async throws -> Refusal? {
        let bench = bench ?? self.bench
        let registrar = Registrar(
            settings: bench.appAttest(over: bench.registry), registry: bench.registry,
            verifier: AttestationVerifier(trustRoot: bench.trustRoot, policy: bench.policy), limits: EndpointLimits())
        let body = try JSONEncoder().encode([
            "keyId": Data(keyID).base64EncodedString(), "attestation": Data(attestation).base64EncodedString(),
            "nonce": nonce,
        ])
        return await registrar.register(body: Array(body), from: address("192.0.2.1"), at: start).refusal
    }

    private func forgery(_ defect: AttestationDefect) async throws -> Refusal {
        let nonce = bench.nonce()
        let forgery = try SimulatedDevice(app: Bench.app).forgeAttestation(
            defect, clientDataHash: clientDataHash(of: nonce), by: try Bench.authority.get(), at: Self.now)
        return try #require(try await registration(forgery.keyID, forgery.attestation, nonce))
    }

    private func forgery(_ defect: AssertionDefect) throws -> Refusal {
        var device = try bench.registeredDevice()
        // The forgeries expect the counter of their own device.
        device.counter = 0
        let nonce = bench.nonce()
        let forgery = try device.forgeAssertion(defect, clientDataHash: clientDataHash(of: nonce))
        if forgery.previousCounter > 0 {
            let id = try #require(KeyID(bytes: device.keyID))
            #expect(bench.registry.advanceCounter(of: id, to: forgery.previousCounter, at: 0) == .advanced)
        }
        let fields = AssertionFields(
            keyID: Data(device.keyID).base64EncodedString(),
            data: Data(forgery.assertion).base64EncodedString(), nonce: nonce)
        return try #require(bench.gate.evaluate(bench.request(fields)).refusal)
    }

    @Test(arguments: AttestationDefect.allCases)
    func `every forged attestation fails a check that the table knows`(defect: AttestationDefect) async throws {
        let refusal = try await forgery(defect)
        let checks = CheckOrder.checks(of: .registration, by: "app_attest", failed: refusal.failed.check)
        #expect(checks.contains(refusal.failed.check), "\(refusal)")
        #expect(AdmissionCheck(code: refusal.code.rawValue, detail: refusal.detail) == refusal.failed.check)
        #expect(refusal.failed.check != .body || ["empty", "tooLarge"].contains(defect.rawValue), "\(refusal)")
    }

    @Test(arguments: AssertionDefect.allCases)
    func `every forged assertion fails a check that the table knows`(defect: AssertionDefect) throws {
        let refusal = try forgery(defect)
        #expect(CheckOrder.checks(of: .upgrade, by: "app_attest").contains(refusal.failed.check), "\(refusal)")
        #expect(AdmissionCheck(code: refusal.code.rawValue, detail: refusal.detail) == refusal.failed.check)
    }

    @Test func `no check is listed twice, and each is in some order`() {
        let labels = [
            "none", "app_attest", "access_token", "development_token", "ticket", "session_token", "debug_certificate",
            "anonymous", "signed_request",
        ]
        var seen: Set<AdmissionCheck> = []
        for event in CheckOrder.Event.allCases {
            for label in labels {
                for check in [nil] + AdmissionCheck.allCases.map(Optional.some) {
                    let order = CheckOrder.checks(of: event, by: label, failed: check)
                    #expect(Set(order).count == order.count)
                    seen.formUnion(order)
                }
            }
        }
        #expect(Set(AdmissionCheck.allCases).subtracting(seen).isEmpty)
        for code in RefusalCode.allCases { #expect(seen.contains(code.usualCheck)) }
    }

    // MARK: What was expected and received

    @Test(arguments: [
        (AttestationDefect.bareBundleRPIDHash, AdmissionCheck.appID, "ABCDE12345.org.example.mud", "without a team"),
        (.otherRoot, .certificates, "Portcullis", "Another Root"),
        (.leafExpired, .certificates, "a leaf that is valid at", "to "),
    ])
    func `an attestation's refusal says what it lacks`(
        defect: AttestationDefect, check: AdmissionCheck, expected: String, received: String
    ) async throws {
        let failed = try await forgery(defect).failed
        #expect(failed.check == check)
        #expect(failed.expected?.contains(expected) == true, "\(failed)")
        #expect(failed.received?.contains(received) == true, "\(failed)")
    }

    @Test func `a development build against production, another team and another bundle are named`() async throws {
        var options = SimulatedDevice(app: Bench.app).options
        options.environment = "development"
        for (device, expected, received) in [
            (SimulatedDevice(app: Bench.app, options: options), "production", "development: a build"),
            (SimulatedDevice(app: Bench.unknownApp), "ABCDE12345.org.example.mud, or of 1 more", "none of these"),
        ] {
            let nonce = bench.nonce()
            let attestation = try device.attest(
                clientDataHash: clientDataHash(of: nonce), by: try Bench.authority.get(), at: Self.now)
            let failed = try #require(try await registration(device.keyID, attestation, nonce)).failed
            #expect(failed.expected?.contains(expected) == true, "\(failed)")
            #expect(failed.received?.contains(received) == true, "\(failed)")
        }
    }

    @Test func `a counter that has gone back is shown with the last one`() throws {
        let failed = try forgery(AssertionDefect.counterLower).failed
        #expect(failed == FailedCheck(.counter, expected: "a counter above 7, the last one", received: "6"))
    }

    @Test func `an expired challenge is shown with its age, and an unknown key by its name`() throws {
        var device = SimulatedDevice(app: Bench.app)
        let fields = try bench.assertion(by: &device)
        let old = bench.gate.evaluate(bench.request(fields, at: start + 75_000)).refusal?.failed
        #expect(old == FailedCheck(.challenge, expected: "a challenge of the last 60 s", received: "one of 75 s ago"))
        let later = start + 75_000
        let fresh = try bench.assertion(by: &device, at: later)
        let unknown = bench.gate.evaluate(bench.request(fresh, at: later)).refusal?.failed
        #expect(unknown?.check == .keyRegistered && unknown?.received == Data(device.keyID).base64EncodedString())
    }

    @Test func `a refusal above the limit of failures keeps the check that failed`() throws {
        var bench = bench
        bench.settings.limits = UpgradeLimits(failedUpgradesPerMinute: 1, verificationsPerSecond: 100)
        let refusals = (0..<2).compactMap { _ in
            bench.gate.evaluate(bench.request(AssertionFields(keyID: "x", data: "x", nonce: "x"))).refusal
        }
        #expect(refusals.map(\.code) == [.invalidNonce, .rateLimited])
        #expect(refusals.map(\.failed.check) == [.challenge, .challenge])
        #expect(AdmissionCheck(code: "rate_limited", detail: refusals[1].detail) == .challenge)
    }

    @Test func `the texts of a failed check are made when they are read, and once where they are kept`() {
        let calls = Mutex(0)
        @Sendable func text() -> String {
            calls.withLock { $0 += 1 }
            return "text"
        }
        let failed = FailedCheck(.origin, expected: text())
        let refusal = Refusal(.originRefused, detail: "x", failed: failed)
        #expect(refusal.failed.check == .origin && calls.withLock { $0 } == 0)
        #expect(refusal.failed.expected == "text" && calls.withLock { $0 } == 1)
        let kept = refusal.withTextsMade
        for _ in 0..<2 { #expect(kept.failed.expected == "text" && kept.failed.received == nil) }
        #expect(calls.withLock { $0 } == 2)
    }

    @Test func `a client's text is cut between two characters`() {
        let failed = FailedCheck(.origin, received: String(repeating: "ä", count: 500))
        #expect(failed.received == String(repeating: "ä", count: FailedCheck.maximumTextBytes / 2) + "…")
        let whole = String(repeating: "a", count: FailedCheck.maximumTextBytes)
        #expect(FailedCheck(.origin, received: whole).received == whole)
    }
}
