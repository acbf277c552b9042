import CBOR

/// A COSE_Key with an algorithm (RFC 9052 section 7), read and not checked any further.
struct COSEKey: Sendable {
    /// The bytes as received.
    let bytes: [UInt8]
    let parameters: CBORMap
    let algorithm: Int64

    /// Labels of RFC 9052 section 7.1, RFC 9053 section 7 and RFC 8230 section 4.
    enum Label {
        static let keyType: Int8 = 1
        static let algorithm: Int8 = 3
        static let curve: Int8 = -1
        static let x: Int8 = -2
        static let y: Int8 = -3
        static let modulus: Int8 = -1
        static let exponent: Int8 = -2
    }

    init(consuming input: inout ArraySlice<UInt8>) throws(PublicKeyFault) {
        let (value, rest): (CBORValue, ArraySlice<UInt8>)
        do { (value, rest) = try CBORDecoder.decodePrefix(of: input, within: .ceremony) } catch {
            throw .malformed(MalformedCBOR(error))
        }
        guard case .map(let map) = value else { throw .notAMap }
        guard let algorithm = map[Label.algorithm]?.integer else { throw .algorithmMissing }
        bytes = Array(input[..<rest.startIndex])
        input = rest
        (parameters, self.algorithm) = (map, algorithm)
    }

    /// "… MUST contain the "alg" parameter and MUST NOT contain any other OPTIONAL parameters" (Web Authentication
    /// Level 3, section 6.5.1).
    ///
    /// - Parameter count: of all parameters.
    func requireParameters(_ count: Int, keyType: Int8, curve: Int8? = nil) throws(PublicKeyFault) {
        guard parameters.entries.count == count, parameters[Label.keyType] == CBORValue(keyType) else {
            throw .parameters
        }
        guard let curve else { return }
        guard parameters[Label.curve] == CBORValue(curve) else { throw .parameters }
    }

    /// - Parameter count: of the bytes; nil: any.
    func bytes(_ label: Int8, count: Int? = nil) throws(PublicKeyFault) -> [UInt8] {
        guard let bytes = parameters[label]?.bytes, count == nil || bytes.count == count else { throw .parameters }
        return bytes
    }
}

/// Why a credential's public key isn't accepted.
public enum PublicKeyFault: Error, Hashable, Sendable {
    /// Not strict CBOR.
    case malformed(MalformedCBOR)
    /// CBOR, but not a map.
    case notAMap
    /// Bytes follow the key.
    case trailingBytes
    /// There is no `alg`, or it isn't an integer.
    case algorithmMissing
    /// `alg` is none of ``CredentialAlgorithm``.
    case algorithmNotSupported(Int64)
    /// Key type, curve or coordinates aren't those of the algorithm, or there is another parameter.
    case parameters
    /// The coordinates aren't those of a point on the curve.
    case notOnCurve
    /// The point has a small order: signatures by it are easily made for any text.
    case smallOrder
    /// The modulus has another number of bits than ``WebAuthnLimits`` allows, or leading zeros.
    case modulus(bits: Int)
    /// The public exponent is even, 1, has leading zeros, or is longer than ``WebAuthnLimits/maximumExponentBytes``.
    case exponent
}
