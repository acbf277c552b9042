import Crypto
package import StrictJSON
import WireText

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Why a JWK isn't accepted.
public enum JWKError: Error, Hashable, Sendable {
    /// Not a strict JSON object.
    case malformedJSON(JSONFault)
    /// It has a private member (RFC 7518 section 6: `d`, `p`, `q`, `dp`, `dq`, `qi`, `oth`, `k`): the sender has
    /// disclosed the key.
    case privateMember
    /// `kty` isn't `EC`.
    case keyType
    /// `crv` isn't `P-256`.
    case curve
    /// `x` or `y` isn't the base64url of exactly 32 bytes (RFC 7518 section 6.2.1.2).
    case coordinate
    /// The coordinates aren't those of a point on the curve.
    case notOnCurve
    /// `use` isn't `sig`, or `alg` isn't `ES256`.
    case otherUse
}

/// A public key on P-256 as a JWK (RFC 7517, RFC 7518 section 6.2). The point is on the curve: there is no other value
/// of this type.
public struct PublicJWK: Hashable, Sendable {
    /// base64url of 32 bytes, 43 characters each.
    public let x, y: String
    /// RFC 7638.
    public let thumbprint: JWKThumbprint
    let key: P256.Signing.PublicKey

    static let coordinateBytes = 32
    private static let privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"]

    /// - Parameters:
    ///   - x: base64url of 32 bytes without padding.
    ///   - y: as `x`.
    public init(x: String, y: String) throws(JWKError) {
        guard x.utf8.count == JWKThumbprint.textLength, y.utf8.count == JWKThumbprint.textLength,
            let first = Base64URL.decode(x), let second = Base64URL.decode(y)
        else { throw .coordinate }
        do { key = try P256.Signing.PublicKey(rawRepresentation: first + second) } catch { throw .notOnCurve }
        (self.x, self.y) = (x, y)
        thumbprint = JWKThumbprint(hashing: Self.canonicalJSON(x: x, y: y))
    }

    /// - Parameter json: a JWK, ``JOSELimits/maximumBytes`` at most. Members that aren't known are ignored (RFC 7517
    ///   section 4).
    public init(json: [UInt8]) throws(JWKError) {
        let object: JSONObject
        do { object = try JSONReader.readObject(json) } catch { throw .malformedJSON(error) }
        try self.init(object)
    }

    package init(_ object: JSONObject) throws(JWKError) {
        for name in Self.privateMembers { guard object[name] == nil else { throw .privateMember } }
        guard object["kty"]?.string?.hasSameBytes(as: "EC") == true else { throw .keyType }
        guard object["crv"]?.string?.hasSameBytes(as: "P-256") == true else { throw .curve }
        try Self.requireSigning(object)
        guard let x = object["x"]?.string, let y = object["y"]?.string else { throw .coordinate }
        try self.init(x: x, y: y)
    }

    init(_ key: P256.Signing.PublicKey) {
        let bytes = Array(key.rawRepresentation)
        self.key = key
        x = Base64URL.encode(bytes.prefix(Self.coordinateBytes))
        y = Base64URL.encode(bytes.dropFirst(Self.coordinateBytes))
        thumbprint = JWKThumbprint(hashing: Self.canonicalJSON(x: x, y: y))
    }

    /// The required members alone, in lexicographic order and without white space (RFC 7638 section 3): the bytes that
    /// ``thumbprint`` is the SHA-256 of.
    public var canonicalJSON: [UInt8] { Self.canonicalJSON(x: x, y: y) }

    /// The uncompressed X9.63 form: 65 bytes.
    public var x963: [UInt8] { Array(key.x963Representation) }

    public static func == (one: Self, other: Self) -> Bool { one.thumbprint == other.thumbprint }

    public func hash(into hasher: inout Hasher) { hasher.combine(thumbprint) }

    /// Both members are optional (RFC 7517 sections 4.2 and 4.4).
    private static func requireSigning(_ object: JSONObject) throws(JWKError) {
        if let use = object["use"] { guard use.string?.hasSameBytes(as: "sig") == true else { throw .otherUse } }
        if let algorithm = object["alg"] {
            guard algorithm.string?.hasSameBytes(as: "ES256") == true else { throw .otherUse }
        }
    }

    private static func canonicalJSON(x: String, y: String) -> [UInt8] {
        Array(#"{"crv":"P-256","kty":"EC","x":""#.utf8) + x.utf8 + Array(#"","y":""#.utf8) + y.utf8 + Array("\"}".utf8)
    }
}
