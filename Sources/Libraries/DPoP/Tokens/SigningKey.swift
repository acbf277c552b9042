import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A private key on P-256 that access tokens are signed with. No description shows it.
public struct SigningKey: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The number of bytes of ``rawRepresentation``.
    public static let byteCount = 32

    let key: P256.Signing.PrivateKey
    /// The public key, for verifiers.
    public let publicKey: PublicJWK

    /// - Parameter rawRepresentation: the private scalar, ``byteCount`` bytes, big-endian: for a new key, bytes from a
    ///   cryptographic random number generator.
    /// - Returns: nil for another number of bytes, and for the few values (one in 2³²) that aren't scalars of the
    ///   curve: draw again.
    public init?(rawRepresentation: [UInt8]) {
        guard rawRepresentation.count == Self.byteCount,
            let key = try? P256.Signing.PrivateKey(rawRepresentation: rawRepresentation)
        else { return nil }
        self.key = key
        publicKey = PublicJWK(key.publicKey)
    }

    /// ``byteCount`` bytes for the store. Secret.
    public var rawRepresentation: [UInt8] { Array(key.rawRepresentation) }

    /// The `kid` of the tokens that it signs: the thumbprint of the public key.
    public var keyID: String { publicKey.thumbprint.text }

    public var description: String { "(signing key \(keyID))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
