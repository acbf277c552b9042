import Crypto
import CryptoExtras
import StrictDER
import X509

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A public key that verifies signatures of one algorithm. Points of the NIST curves are on them, and moduli within
/// their limits: there is no other value of this type. Ed25519 bytes that no point has verify no signature.
enum VerifyingKey: Sendable {
    case es256(P256.Signing.PublicKey)
    case es384(P384.Signing.PublicKey)
    case edDSA(Curve25519.Signing.PublicKey)
    case rs256(_RSA.Signing.PublicKey)

    init(_ key: COSEKey) throws(PublicKeyFault) {
        guard let algorithm = CredentialAlgorithm(rawValue: key.algorithm) else {
            throw .algorithmNotSupported(key.algorithm)
        }
        switch algorithm {
        case .es256: self = .es256(try Self.p256(key))
        case .es384: self = .es384(try Self.p384(key))
        case .edDSA: self = .edDSA(try Self.ed25519(key))
        case .rs256: self = .rs256(try Self.rsa(key))
        }
    }

    /// - Returns: nil if the certificate's key isn't one for this algorithm.
    init?(_ key: Certificate.PublicKey, for algorithm: CredentialAlgorithm) {
        let found: VerifyingKey? =
            switch algorithm {
            case .es256: P256.Signing.PublicKey(key).map(Self.es256)
            case .es384: P384.Signing.PublicKey(key).map(Self.es384)
            case .edDSA: Curve25519.Signing.PublicKey(key).map(Self.edDSA)
            case .rs256: _RSA.Signing.PublicKey(key).map(Self.rs256)
            }
        guard let found else { return nil }
        self = found
    }

    var algorithm: CredentialAlgorithm {
        switch self {
        case .es256: .es256
        case .es384: .es384
        case .edDSA: .edDSA
        case .rs256: .rs256
        }
    }
}

/// The parameters of each key type.
extension VerifyingKey {
    private static let coordinateLengthP256 = 32
    private static let coordinateLengthP384 = 48
    private static let lengthEd25519 = 32

    /// EC2 with crv P-256 (RFC 9053, section 7.1.1).
    private static func p256(_ key: COSEKey) throws(PublicKeyFault) -> P256.Signing.PublicKey {
        let point = try point(key, curve: 1, length: coordinateLengthP256)
        do { return try P256.Signing.PublicKey(rawRepresentation: point) } catch { throw .notOnCurve }
    }

    /// EC2 with crv P-384.
    private static func p384(_ key: COSEKey) throws(PublicKeyFault) -> P384.Signing.PublicKey {
        let point = try point(key, curve: 2, length: coordinateLengthP384)
        do { return try P384.Signing.PublicKey(rawRepresentation: point) } catch { throw .notOnCurve }
    }

    /// Both coordinates: "MUST NOT use the compressed point form" (Web Authentication Level 3, section 5.8.5).
    private static func point(_ key: COSEKey, curve: Int8, length: Int) throws(PublicKeyFault) -> [UInt8] {
        try key.requireParameters(5, keyType: 2, curve: curve)
        return try key.bytes(COSEKey.Label.x, count: length) + key.bytes(COSEKey.Label.y, count: length)
    }

    /// OKP with crv Ed25519 (RFC 9053, section 7.2). Whether a point has the bytes isn't checked here.
    private static func ed25519(_ key: COSEKey) throws(PublicKeyFault) -> Curve25519.Signing.PublicKey {
        try key.requireParameters(4, keyType: 1, curve: 6)
        let bytes = try key.bytes(COSEKey.Label.x, count: lengthEd25519)
        guard !SmallOrderPoints.contains(bytes) else { throw .smallOrder }
        do { return try Curve25519.Signing.PublicKey(rawRepresentation: bytes) } catch { throw .notOnCurve }
    }

    /// RSA (RFC 8230, section 4). A long exponent would make a signature expensive to verify.
    private static func rsa(_ key: COSEKey) throws(PublicKeyFault) -> _RSA.Signing.PublicKey {
        try key.requireParameters(4, keyType: 3)
        let modulus = try key.bytes(COSEKey.Label.modulus)
        let exponent = try key.bytes(COSEKey.Label.exponent)
        let bits = modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0)
        guard modulus.first != 0, isModulus(bits: bits) else { throw .modulus(bits: bits) }
        guard (1...WebAuthnLimits.maximumExponentBytes).contains(exponent.count), exponent.first != 0,
            exponent != [1], exponent.last.map({ $0 & 1 }) == 1
        else { throw .exponent }
        do { return try _RSA.Signing.PublicKey(n: modulus, e: exponent) } catch { throw .modulus(bits: bits) }
    }

    static func isModulus(bits: Int) -> Bool {
        (WebAuthnLimits.minimumModulusBits...WebAuthnLimits.maximumModulusBits).contains(bits)
    }
}

/// Why a signature isn't a key's.
enum SignatureFault: Error, Hashable, Sendable {
    /// Not of the algorithm's form.
    case malformed
    /// Another key's, or over something else.
    case mismatch
}

/// Signatures have the forms of Web Authentication Level 3, section 6.5.5.
extension VerifyingKey {
    /// ECDSA signatures are strict DER. A high S is accepted: nothing here relies on a signature being unique.
    func verify(_ signature: [UInt8], over message: [UInt8]) throws(SignatureFault) {
        guard signature.count <= WebAuthnLimits.maximumSignatureBytes else { throw .malformed }
        let isValid =
            switch self {
            case .es256(let key): key.isValidSignature(try Self.ecdsaP256(signature), for: SHA256.hash(data: message))
            case .es384(let key): key.isValidSignature(try Self.ecdsaP384(signature), for: SHA384.hash(data: message))
            case .edDSA(let key): try Self.isValid(signature, over: message, by: key)
            case .rs256(let key): try Self.isValid(signature, over: message, by: key)
            }
        guard isValid else { throw .mismatch }
    }

    private static func ecdsaP256(_ bytes: [UInt8]) throws(SignatureFault) -> P256.Signing.ECDSASignature {
        guard let raw = SignatureDER.rawRepresentation(of: bytes, numberLength: SignatureDER.numberLengthP256) else {
            throw .malformed
        }
        do { return try P256.Signing.ECDSASignature(rawRepresentation: raw) } catch { throw .malformed }
    }

    private static func ecdsaP384(_ bytes: [UInt8]) throws(SignatureFault) -> P384.Signing.ECDSASignature {
        guard let raw = SignatureDER.rawRepresentation(of: bytes, numberLength: SignatureDER.numberLengthP384) else {
            throw .malformed
        }
        do { return try P384.Signing.ECDSASignature(rawRepresentation: raw) } catch { throw .malformed }
    }

    private static func isValid(
        _ signature: [UInt8], over message: [UInt8], by key: Curve25519.Signing.PublicKey
    ) throws(SignatureFault) -> Bool {
        guard signature.count == 64 else { throw .malformed }
        return key.isValidSignature(signature, for: message)
    }

    private static func isValid(
        _ signature: [UInt8], over message: [UInt8], by key: _RSA.Signing.PublicKey
    ) throws(SignatureFault) -> Bool {
        guard signature.count == (key.keySizeInBits + 7) / 8 else { throw .malformed }
        let signature = _RSA.Signing.RSASignature(rawRepresentation: signature)
        return key.isValidSignature(signature, for: SHA256.hash(data: message), padding: .insecurePKCS1v1_5)
    }
}

/// Two keys are equal if their algorithms and encodings are.
extension VerifyingKey: Equatable {
    static func == (one: VerifyingKey, other: VerifyingKey) -> Bool {
        switch (one, other) {
        case (.es256(let one), .es256(let other)): one.rawRepresentation == other.rawRepresentation
        case (.es384(let one), .es384(let other)): one.rawRepresentation == other.rawRepresentation
        case (.edDSA(let one), .edDSA(let other)): one.rawRepresentation == other.rawRepresentation
        case (.rs256(let one), .rs256(let other)): one.derRepresentation == other.derRepresentation
        default: false
        }
    }
}
