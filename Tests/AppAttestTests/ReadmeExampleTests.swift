import AppAttest
import Crypto
import DeviceSimulation
import Foundation
import Testing

@testable import LibraryExample

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
        let registered = try await devices.register(attestation, keyID: device.keyID, challenge: first)
        // What a server has of it after a restart.
        let (key, stored) = (registered.publicKeyX963, try #require(AppID("\(registered.app)")))
        let assertion = try device.assert(clientDataHash: Array(SHA256.hash(data: second)))
        #expect(try devices.check(assertion, by: key, of: stored, challenge: second, after: 0) == 1)
        #expect(throws: AssertionError.counterNotHigher(received: 1, previous: 1)) {
            try devices.check(assertion, by: key, of: stored, challenge: second, after: 1)
        }
        #expect(throws: AssertionError.signatureMismatch) {
            try devices.check(assertion, by: key, of: stored, challenge: first, after: 0)
        }
        await #expect(throws: AttestationError.untrustedChain) {
            try await AttestedDevices(of: app).register(attestation, keyID: device.keyID, challenge: first)
        }
    }
}
