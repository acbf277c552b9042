import Crypto
package import DeviceSimulation
import Foundation
import Synchronization

/// One simulated key, and the data that an app would send with it, over hand-written requests.
package final class TestDevice: Sendable {
    private let authority: SimulatedAuthority
    private let device: Mutex<SimulatedDevice>
    /// In the form in which Apple returns it to the app: padded base64.
    package let keyID: String

    init(_ device: SimulatedDevice, authority: SimulatedAuthority) {
        self.authority = authority
        keyID = Data(device.keyID).base64EncodedString()
        self.device = Mutex(device)
    }

    /// SHA-256 over the challenge's bytes, as in the guide. A challenge that isn't hexadecimal is hashed as text.
    private static func clientDataHash(_ nonce: String) -> [UInt8] {
        Array(SHA256.hash(data: Hex.decode(nonce) ?? Array(nonce.utf8)))
    }

    func attestation(clientDataHash: [UInt8]) throws -> [UInt8] {
        try device.withLock { try $0.attest(clientDataHash: clientDataHash, by: authority, at: Date()) }
    }

    /// - Parameter counter: the counter to sign; nil: the next one.
    func assertion(clientDataHash: [UInt8], counter: UInt32? = nil) throws -> [UInt8] {
        try device.withLock { device in
            guard let counter else { return try device.assert(clientDataHash: clientDataHash) }
            // `assert` increments the counter first; a value below one needs a forgery.
            guard counter > 0 else {
                return try device.forgeAssertion(.counterZero, clientDataHash: clientDataHash).assertion
            }
            device.counter = counter - 1
            return try device.assert(clientDataHash: clientDataHash)
        }
    }

    /// The body of a registration.
    ///
    /// - Parameters:
    ///   - signed: the challenge to attest over, if not `nonce`.
    ///   - keyID: replaces the key identifier.
    package func registration(nonce: String, signing signed: String? = nil, keyID: String? = nil) throws -> String {
        let attestation = try attestation(clientDataHash: Self.clientDataHash(signed ?? nonce))
        return try Self.body(keyID: keyID ?? self.keyID, attestation: attestation, nonce: nonce)
    }

    /// The body of a registration with one defect.
    package func forgedRegistration(_ defect: AttestationDefect, nonce: String) throws -> String {
        let hash = Self.clientDataHash(nonce)
        let forgery = try device.withLock {
            try $0.forgeAttestation(defect, clientDataHash: hash, by: authority, at: Date())
        }
        return try Self.body(
            keyID: Data(forgery.keyID).base64EncodedString(), attestation: forgery.attestation, nonce: nonce)
    }

    private static func body(keyID: String, attestation: [UInt8], nonce: String) throws -> String {
        let fields = ["keyId": keyID, "attestation": Data(attestation).base64EncodedString(), "nonce": nonce]
        return String(decoding: try JSONEncoder().encode(fields), as: UTF8.self)
    }

    /// Fetches a challenge and registers.
    package func register(at gateway: GatewayProcess) async throws -> ReceivedAnswer {
        try await gateway.post("/attest/register", registration(nonce: gateway.challenge()))
    }

    /// The guide's three headers.
    package func assertionHeaders(
        nonce: String, signing signed: String? = nil, keyID: String? = nil, counter: UInt32? = nil
    ) throws -> [String: String] {
        let assertion = try assertion(clientDataHash: Self.clientDataHash(signed ?? nonce), counter: counter)
        return [
            "X-App-Assert-KeyId": keyID ?? self.keyID,
            "X-App-Assert-Data": Data(assertion).base64EncodedString(),
            "X-App-Assert-Nonce": nonce,
        ]
    }

    /// Fetches a challenge and makes the upgrade request for it.
    package func handshake(
        at gateway: GatewayProcess, keyID: String? = nil, counter: UInt32? = nil
    ) async throws -> Handshake {
        let nonce = try await gateway.challenge()
        return try Handshake().adding(assertionHeaders(nonce: nonce, keyID: keyID, counter: counter))
    }

    /// An upgrade request whose assertion has one defect. The stored counter must be lower than the defect requires.
    package func forgedHandshake(_ defect: AssertionDefect, at gateway: GatewayProcess) async throws -> Handshake {
        let nonce = try await gateway.challenge()
        let hash = Self.clientDataHash(nonce)
        let assertion = try device.withLock { try $0.forgeAssertion(defect, clientDataHash: hash).assertion }
        return Handshake().adding([
            "X-App-Assert-KeyId": keyID, "X-App-Assert-Data": Data(assertion).base64EncodedString(),
            "X-App-Assert-Nonce": nonce,
        ])
    }
}
