import Crypto
import StrictJSON
import WireText

/// The keys that verify access tokens, as `/.well-known/jwks.json` publishes them (RFC 7517 section 5).
public struct JWKSet: Hashable, Sendable {
    /// The maximum number of keys in a set; a larger set is refused.
    public static let maximumKeys = 16

    /// Their thumbprints differ; each is its key's `kid`.
    public let keys: [PublicJWK]

    /// - Parameter keys: a repeated key is used once.
    public init(_ keys: [PublicJWK]) {
        var known: Set<JWKThumbprint> = []
        self.keys = keys.filter { known.insert($0.thumbprint).inserted }
    }

    /// Reads a JWK set. Keys of other types, curves and uses are ignored, as RFC 7517 section 5 says.
    ///
    /// - Parameter json: at most ``JOSELimits/maximumBytes``, with at most ``maximumKeys``.
    /// - Returns: nil if it isn't a JWK set, has too many keys, or has a key with a private member. A key whose `kid`
    ///   isn't its thumbprint is ignored.
    public init?(json: [UInt8]) {
        guard let object = try? JSONReader.readObject(json), case .array(let elements)? = object["keys"],
            elements.count <= Self.maximumKeys
        else { return nil }
        var keys: [PublicJWK] = []
        for element in elements {
            guard let object = element.object else { return nil }
            do {
                let key = try PublicJWK(object)
                if object["kid"]?.string?.hasSameBytes(as: key.thumbprint.text) == true { keys.append(key) }
            } catch .privateMember {
                return nil
            } catch {}
        }
        self.init(keys)
    }

    /// The set as JSON, each key with `kid` (its thumbprint), `use` and `alg`.
    public var json: [UInt8] {
        var set = JSONWriter()
        set.member("keys", json: keys.map(Self.json))
        return set.object
    }

    /// - Parameter kid: as the header of a token has it.
    func key(_ kid: String) -> PublicJWK? { keys.first { $0.thumbprint.text.hasSameBytes(as: kid) } }

    private static func json(_ key: PublicJWK) -> [UInt8] {
        var writer = JSONWriter()
        writer.member("kty", "EC")
        writer.member("crv", "P-256")
        writer.member("x", key.x)
        writer.member("y", key.y)
        writer.member("kid", key.thumbprint.text)
        writer.member("use", "sig")
        writer.member("alg", "ES256")
        return writer.object
    }
}
