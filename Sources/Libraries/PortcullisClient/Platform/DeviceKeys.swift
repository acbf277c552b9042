public import Foundation

#if canImport(CryptoKit)
    import CryptoKit
#else
    import Crypto
#endif

/// The device key: on P-256, it signs a proof for each request. It isn't the App Attest key.
public protocol DeviceKey: Sendable {
    /// The public key as 65 bytes, uncompressed (X9.63).
    var publicKey: Data { get }

    /// An ECDSA signature of the data's SHA-256, as the 64 bytes r and s.
    func sign(_ data: Data) throws -> Data
}

/// Makes device keys, and finds them again at the next start.
public protocol DeviceKeyMaker: Sendable {
    /// - Returns: the key, and what brings it back: for a key in the Secure Enclave this is of no use on any other
    ///   device.
    func makeKey() throws -> (key: any DeviceKey, restoration: Data)

    /// - Throws: if the key isn't of this device.
    func restoreKey(_ restoration: Data) throws -> any DeviceKey
}

/// Keys in memory, for simulators, tests and Linux. What brings a key back is the private key itself.
public struct SoftwareDeviceKeys: DeviceKeyMaker {
    private struct Key: DeviceKey {
        let key: P256.Signing.PrivateKey

        var publicKey: Data { key.publicKey.x963Representation }

        func sign(_ data: Data) throws -> Data { try key.signature(for: data).rawRepresentation }
    }

    public init() {}

    public func makeKey() throws -> (key: any DeviceKey, restoration: Data) {
        let key = P256.Signing.PrivateKey()
        return (Key(key: key), key.rawRepresentation)
    }

    public func restoreKey(_ restoration: Data) throws -> any DeviceKey {
        Key(key: try P256.Signing.PrivateKey(rawRepresentation: restoration))
    }
}
