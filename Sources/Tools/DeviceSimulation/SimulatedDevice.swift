package import AppAttest
import Crypto
package import FoundationEssentials

/// A simulated app on a device with a key in its Secure Enclave: it returns what `DCAppAttestService` returns to an
/// app, with time and authority as arguments. One value is one App Attest key, with the device key that signs proofs.
package struct SimulatedDevice: Sendable {
    /// The device's optional properties.
    package struct Options: Hashable, Sendable, Codable {
        /// The aaguid: an ``AttestationEnvironment``.
        package var environment: String
        /// The map that iOS 27 appends; nil: an older system.
        package var extensions: SimulatedExtensions?
        /// Seconds from the leaf's notBefore, a day before it is issued, to its notAfter.
        package var leafLifetime: TimeInterval

        package init(
            environment: AttestationEnvironment = .production, extensions: SimulatedExtensions? = nil,
            leafLifetime: TimeInterval = 3 * 24 * 60 * 60
        ) {
            self.environment = environment.rawValue
            self.extensions = extensions
            self.leafLifetime = leafLifetime
        }
    }

    package let app: AppID
    package let options: Options
    let key: P256.Signing.PrivateKey
    package let proofKey: SimulatedProofKey
    /// The counter of the last assertion.
    package var counter: UInt32 = 0

    /// Makes a new key, as `generateKey` does.
    package init(app: AppID, options: Options = Options()) {
        self.app = app
        self.options = options
        key = P256.Signing.PrivateKey()
        proofKey = SimulatedProofKey()
    }

    /// 65 bytes, uncompressed X9.63.
    package var publicKeyX963: [UInt8] { Array(key.publicKey.x963Representation) }
    /// SHA-256 over the public key: 32 bytes.
    package var keyID: [UInt8] { Array(SHA256.hash(data: publicKeyX963)) }

    /// The result of `attestKey`: a CBOR attestation object.
    /// - Parameters:
    ///   - clientDataHash: SHA-256 of the server's challenge.
    ///   - time: the time at which the leaf is issued.
    package func attest(
        clientDataHash: [UInt8], by authority: SimulatedAuthority, at time: Date
    ) throws -> [UInt8] {
        try AttestationPlan(device: self, authority: authority, clientDataHash: clientDataHash, time: time).encoded()
    }

    /// The result of `generateAssertion`: a CBOR assertion object with the next counter.
    /// - Parameter clientDataHash: SHA-256 of the server's challenge.
    package mutating func assert(clientDataHash: [UInt8]) throws -> [UInt8] {
        counter &+= 1
        return try AssertionPlan(device: self, clientDataHash: clientDataHash).encoded()
    }
}

// Saves a device between runs of a tool.
extension SimulatedDevice {
    /// The whole device, including the private key: for files of a test or a demonstration.
    package struct Saved: Codable, Sendable {
        var app: String
        var options: Options
        var key: Data
        var counter: UInt32
        /// Absent in files of earlier versions.
        var proofKey: Data?
    }

    package enum RestoreError: Error { case invalidApp }

    package var saved: Saved {
        Saved(
            app: app.description, options: options, key: key.rawRepresentation, counter: counter,
            proofKey: proofKey.rawRepresentation)
    }

    package init(restoring saved: Saved) throws {
        guard let app = AppID(saved.app) else { throw RestoreError.invalidApp }
        self.app = app
        options = saved.options
        key = try P256.Signing.PrivateKey(rawRepresentation: saved.key)
        counter = saved.counter
        proofKey = try saved.proofKey.map { try SimulatedProofKey(rawRepresentation: $0) } ?? SimulatedProofKey()
    }
}
