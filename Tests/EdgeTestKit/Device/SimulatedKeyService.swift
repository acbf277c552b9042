package import Foundation

/// The replacement for `DCAppAttestService`: the same three calls, answered by a simulated device.
package actor SimulatedKeyService {
    private let apple: SimulatedApple
    private var devices: [String: TestDevice] = [:]

    package init(apple: SimulatedApple) {
        self.apple = apple
    }

    package func generateKey() async throws -> String {
        let device = try apple.device()
        devices[device.keyID] = device
        return device.keyID
    }

    package func attestKey(_ keyId: String, clientDataHash: Data) async throws -> Data {
        Data(try device(keyId).attestation(clientDataHash: Array(clientDataHash)))
    }

    package func generateAssertion(_ keyId: String, clientDataHash: Data) async throws -> Data {
        Data(try device(keyId).assertion(clientDataHash: Array(clientDataHash)))
    }

    private func device(_ keyId: String) throws -> TestDevice {
        guard let device = devices[keyId] else { throw EdgeTestError("no key \(keyId)") }
        return device
    }
}
