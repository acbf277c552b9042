import AppAttest
import Crypto
import DPoP
import DeviceSimulation
import Foundation
import KeyStore
import Testing

@testable import Admission

/// Registrations with a proof of the device key.
struct ProofRegistrationTests {
    private var bench: TokenBench

    init() throws { bench = try TokenBench(maximumProofs: 1) }

    private func register(_ request: TokenRequest) async throws -> RegistrationOutcome {
        try await bench.registrar().register(request)
    }

    @Test func `a registration is good once`() async throws {
        let request = try bench.registration()
        #expect(try await register(request).registered != nil)
        #expect(try await register(request).refusal?.answer == .nonceExpired)
    }

    @Test func `one attestation sent with several proofs registers once`() async throws {
        var bench = bench
        bench.settings.replays = ProofReplays()
        let nonce = bench.challenge()
        let attestation = try bench.attestation(over: nonce)
        let requests = try (0..<8).map { _ in try bench.registration(nonce: nonce, attestation: attestation) }
        let registrar = try bench.registrar()
        let outcomes = await withTaskGroup(of: RegistrationOutcome.self) { group in
            for request in requests { group.addTask { await registrar.register(request) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count { $0.registered != nil } == 1)
        #expect(outcomes.count { $0.refusal?.answer == .nonceExpired } == 7)
    }

    @Test mutating func `a registration without Apple's word takes no place in any store`() async throws {
        let nonce = bench.challenge()
        let captured = try bench.attestation(over: nonce)
        let foreign = try TokenBench().challenge()
        let honest = bench.clientKey
        for number in 0..<20 {
            bench.clientKey = P256.Signing.PrivateKey()
            let (object, challenge, answer): ([UInt8], String, RefusalAnswer) =
                switch number % 3 {
                case 0: (captured, nonce, .attestationFailed)
                case 1: ([UInt8](repeating: 1, count: 100), bench.challenge(), .attestationFailed)
                default: (captured, foreign, .nonceExpired)
                }
            let request = try bench.registration(nonce: challenge, attestation: object)
            #expect(try await register(request).refusal?.answer == answer)
        }
        #expect(bench.settings.replays.registration.count == 0 && bench.bench.challenges.spentCount == 0)
        bench.clientKey = honest
        let elsewhere = try bench.registration(nonce: nonce, attestation: captured) { members in
            members["app"] = #"{"bundle_id":"org.example.chat"}"#
        }
        #expect(try await register(elsewhere).refusal?.failed.check == .claimedApp)
        let request = try bench.registration(nonce: nonce, attestation: captured)
        #expect(try await register(request).registered != nil)
        // The one place is taken: the challenge stays good, and so does the attestation.
        let full = try bench.registration()
        #expect(try await register(full).refusal?.answer == .tooManyProofs)
        #expect(bench.bench.challenges.spentCount == 1)
    }

    @Test func `a used proof is found before an attestation is verified`() async throws {
        let first = try bench.registration()
        #expect(try await register(first).registered != nil)
        var again = try bench.registration(attestation: [1]) { $0["dpop"] = nil }
        again.proofs = first.proofs
        #expect(try await register(again).refusal?.failed.check == .replay)
    }

    @Test func `above the rate no attestation is verified`() async throws {
        let registrar = Registrar(
            settings: try #require(bench.settings.devices), registry: bench.bench.registry,
            verifier: AttestationVerifier(trustRoot: bench.bench.trustRoot, policy: bench.bench.policy),
            limits: EndpointLimits(registrationsPerMinute: 2), tokens: bench.settings)
        let nonce = bench.challenge()
        for expected in [RefusalAnswer.attestationFailed, .attestationFailed, .rateLimited] {
            let request = try bench.registration(nonce: nonce, attestation: [1])
            #expect(await registrar.register(request).refusal?.answer == expected)
        }
    }
}
