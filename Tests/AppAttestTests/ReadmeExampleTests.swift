import AppAttest
import Crypto
import DeviceSimulation
import Foundation
import Testing

// docs/LIBRARY.md contains this type unchanged, and README.md a part of it; tests of the documentation compare them.

struct AttestedDevices {
    let attestations: AttestationVerifier
    let assertions = AssertionVerifier()

    init(of app: AppID, trustRoot: TrustRoot = .apple) {
        attestations = AttestationVerifier(trustRoot: trustRoot, policy: AttestationPolicy(apps: [app]))
    }

    /// Once for each device. Keep the key, its app and a counter of 0.
    func register(_ attestation: [UInt8], keyID: [UInt8], challenge: [UInt8]) async throws -> VerifiedAttestation {
        try await attestations.verify(
            attestation: attestation, keyID: keyID, clientDataHash: Array(SHA256.hash(data: challenge)), at: Date())
    }

    /// For each request after that. Store the counter before you act on the request, if it is still above the stored one.
    func check(
        _ assertion: [UInt8], by key: VerifiedAttestation, challenge: [UInt8], after counter: UInt32
    ) throws -> UInt32 {
        try assertions.verify(
            assertion: assertion, clientDataHash: Array(SHA256.hash(data: challenge)),
            publicKeyX963: key.publicKeyX963, app: key.app, previousCounter: counter
        ).counter
    }
}

@Suite("The README's example")
struct ReadmeExampleTests {
    @Test func `registers a device and checks what it signs`() async throws {
        let app = try #require(AppID("ABCDE12345.com.example.mud"))
        let authority = try SimulatedAuthority(at: Date())
        var device = SimulatedDevice(app: app)
        let devices = AttestedDevices(of: app, trustRoot: authority.trustRoot)
        let (first, second) = ([UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 32))

        let attestation = try device.attest(
            clientDataHash: Array(SHA256.hash(data: first)), by: authority, at: Date())
        let key = try await devices.register(attestation, keyID: device.keyID, challenge: first)
        let assertion = try device.assert(clientDataHash: Array(SHA256.hash(data: second)))
        #expect(try devices.check(assertion, by: key, challenge: second, after: 0) == 1)
        #expect(throws: AssertionError.counterNotHigher(received: 1, previous: 1)) {
            try devices.check(assertion, by: key, challenge: second, after: 1)
        }
        #expect(throws: AssertionError.signatureMismatch) {
            try devices.check(assertion, by: key, challenge: first, after: 0)
        }
        await #expect(throws: AttestationError.untrustedChain) {
            try await AttestedDevices(of: app).register(attestation, keyID: device.keyID, challenge: first)
        }
    }
}
