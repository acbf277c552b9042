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

    /// - Throws: ``DeviceKeyGone``, or any other error if the key can't be used at the moment: then it is kept.
    func restoreKey(_ restoration: Data) throws -> any DeviceKey
}

/// What a ``DeviceKeyMaker`` throws for a key that never comes back: another device has made it, it was erased, or what
/// would bring it back is damaged. Only then is another one made.
public struct DeviceKeyGone: Error, Equatable {
    /// Of CryptoTokenKit: `corruptedData`, `objectNotFound` and `badParameter`.
    private static let codes = [-3, -6, -8]

    public init() {}

    /// Nil: the failure may pass, as before the device's first unlock.
    init?(domain: String, code: Int) {
        // CryptoKit's own are about the form of what it was given.
        let isOfForm = domain.isSame(as: "CryptoKit.CryptoKitError")
        guard isOfForm || (domain.isSame(as: "CryptoTokenKit") && Self.codes.contains(code)) else { return nil }
    }
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
        guard let key = try? P256.Signing.PrivateKey(rawRepresentation: restoration) else { throw DeviceKeyGone() }
        return Key(key: key)
    }
}
