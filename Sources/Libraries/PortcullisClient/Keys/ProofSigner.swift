import Foundation

/// Signs DPoP proofs (RFC 9449 section 4.2) with the device key.
struct ProofSigner: Sendable {
    /// A public key is 0x04, x and y.
    private static let pointBytes = 65

    private let key: any DeviceKey
    /// The public key in the order of RFC 7638 section 3, whose SHA-256 is its thumbprint.
    let canonicalJWK: [UInt8]

    init(_ key: any DeviceKey) throws {
        let point = Array(key.publicKey)
        guard point.count == Self.pointBytes, point[0] == 4 else { throw GateError.deviceKey("not a key on P-256") }
        self.key = key
        canonicalJWK = JSONText.object {
            $0.add("crv", "P-256")
            $0.add("kty", "EC")
            $0.add("x", BinaryText.base64URL(point[1...32]))
            $0.add("y", BinaryText.base64URL(point[33...64]))
        }
    }

    var thumbprint: [UInt8] { Digest.sha256(canonicalJWK) }

    /// The content of a proof.
    struct Claims: Sendable {
        let method: String
        /// Its query isn't part of the proof.
        let url: String
        /// Seconds since 1970.
        let time: Int
        /// Unique for each proof.
        let identifier: String
        let nonce: String?
        /// For `ath`, with a request that carries a token.
        let accessToken: String?
    }

    func proof(_ claims: Claims) throws -> String {
        let header = JSONText.object {
            $0.add("alg", "ES256")
            $0.add("typ", "dpop+jwt")
            $0.add("jwk", json: canonicalJWK)
        }
        let payload = JSONText.object {
            $0.add("htm", claims.method)
            $0.add("htu", claims.url.withoutQuery)
            $0.add("iat", claims.time)
            $0.add("jti", claims.identifier)
            if let token = claims.accessToken {
                $0.add("ath", BinaryText.base64URL(Digest.sha256(Array(token.utf8))))
            }
            if let nonce = claims.nonce { $0.add("nonce", nonce) }
        }
        let input = "\(BinaryText.base64URL(header)).\(BinaryText.base64URL(payload))"
        do {
            return "\(input).\(BinaryText.base64URL(try key.sign(Data(input.utf8))))"
        } catch {
            throw GateError.deviceKey("\(error)")
        }
    }

    /// What Apple signs in this dialect: it covers the challenge and the device key.
    func clientDataHash(challenge: [UInt8]) -> [UInt8] { Digest.sha256(challenge + thumbprint) }
}

extension String {
    /// A URL without query and fragment.
    var withoutQuery: String {
        String(decoding: utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }, as: UTF8.self)
    }

    /// Scheme, host and port of a URL. A WebSocket has the origin of its upgrade.
    var origin: String {
        var slashes = 0
        let head = withoutQuery.utf8.prefix {
            slashes += $0 == UInt8(ascii: "/") ? 1 : 0
            return slashes < 3
        }
        let text = String(decoding: head.map(\.lowercasedASCII), as: UTF8.self)
        return text.beginsSame(as: "ws") ? "http" + String(decoding: text.utf8.dropFirst(2), as: UTF8.self) : text
    }
}
