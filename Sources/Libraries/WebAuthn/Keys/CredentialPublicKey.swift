import Crypto

/// A credential's public key. It was checked: points of P-256 and P-384 are on their curves, Ed25519 keys aren't of
/// small order, and RSA keys have 2,048 to 4,096 bits. Ed25519 bytes that no point has verify no signature.
public struct CredentialPublicKey: Hashable, Sendable {
    public let algorithm: CredentialAlgorithm
    /// The COSE_Key as the authenticator wrote it. Store it to verify authentications.
    public let cose: [UInt8]
    let key: VerifyingKey

    /// Reads a stored key.
    ///
    /// - Parameter cose: what ``cose`` of a ``VerifiedRegistration`` was.
    public init(cose: [UInt8]) throws(PublicKeyFault) {
        var rest = cose[...]
        let read = try COSEKey(consuming: &rest)
        guard rest.isEmpty else { throw .trailingBytes }
        try self.init(read)
    }

    init(_ read: COSEKey) throws(PublicKeyFault) {
        key = try VerifyingKey(read)
        (algorithm, cose) = (key.algorithm, read.bytes)
    }

    public static func == (one: Self, other: Self) -> Bool { one.cose == other.cose }

    public func hash(into hasher: inout Hasher) { hasher.combine(cose) }
}
