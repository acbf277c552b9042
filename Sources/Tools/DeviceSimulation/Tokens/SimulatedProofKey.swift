import Crypto
package import FoundationEssentials

/// The device key of the token dialect: a key in the Secure Enclave that signs DPoP proofs. It isn't the App Attest
/// key, which signs only assertions.
///
/// It is written without the target `DPoP`, so that a mistake there doesn't appear on both sides.
package struct SimulatedProofKey: Sendable {
    private let key: P256.Signing.PrivateKey
    package let jwk: SimulatedJWK

    package init() { self.init(P256.Signing.PrivateKey()) }

    /// - Parameter rawRepresentation: 32 bytes.
    package init(rawRepresentation: Data) throws {
        self.init(try P256.Signing.PrivateKey(rawRepresentation: rawRepresentation))
    }

    private init(_ key: P256.Signing.PrivateKey) {
        self.key = key
        let point = key.publicKey.rawRepresentation
        jwk = SimulatedJWK(x: point.prefix(32).base64URL, y: point.dropFirst(32).base64URL)
    }

    package var rawRepresentation: Data { key.rawRepresentation }

    /// A proof as the value of a `DPoP` field (RFC 9449 section 4.2).
    package func sign(_ proof: SimulatedProof) throws -> String {
        let header = try Self.encode(SimulatedProof.Header(jwk: jwk)).base64URL
        let input = try header + "." + Self.encode(proof.claims).base64URL
        return try input + "." + key.signature(for: Data(input.utf8)).rawRepresentation.base64URL
    }

    /// Slashes are escaped, as clients' encoders do.
    private static func encode(_ value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return try encoder.encode(value)
    }
}

/// A public key on P-256 as clients send it (RFC 7517).
package struct SimulatedJWK: Hashable, Sendable, Codable {
    package var kty = "EC"
    package var crv = "P-256"
    /// base64url.
    package var x, y: String

    package init(x: String, y: String) { (self.x, self.y) = (x, y) }

    /// The required members in the order of RFC 7638 section 3.
    package var canonicalJSON: [UInt8] {
        Array(#"{"crv":"\#(crv)","kty":"\#(kty)","x":"\#(x)","y":"\#(y)"}"#.utf8)
    }
}

/// The content of a proof.
package struct SimulatedProof: Sendable {
    package var method: String
    /// The whole URL, its query included.
    package var url: String
    package var time: Date
    /// `jti`: unique for each proof.
    package var id: String
    /// The server's nonce, if it has sent one.
    package var nonce: String?
    /// At a resource: for `ath`. nil leaves it out.
    package var accessToken: String?

    package init(
        method: String, url: String, time: Date, id: String, nonce: String? = nil, accessToken: String? = nil
    ) {
        (self.method, self.url, self.time, self.id) = (method, url, time, id)
        (self.nonce, self.accessToken) = (nonce, accessToken)
    }

    fileprivate struct Header: Encodable {
        let alg = "ES256"
        let jwk: SimulatedJWK
        let typ = "dpop+jwt"
    }

    fileprivate struct Claims: Encodable {
        let ath: String?
        let htm, htu: String
        let iat: Int
        let jti: String
        let nonce: String?
    }

    fileprivate var claims: Claims {
        Claims(
            ath: accessToken.map { Data(SHA256.hash(data: Data($0.utf8))).base64URL }, htm: method, htu: url,
            iat: Int(time.timeIntervalSince1970), jti: id, nonce: nonce)
    }
}

extension Data {
    /// Without padding (RFC 7515 section 2).
    package var base64URL: String {
        let symbols = base64EncodedData().lazy.filter { $0 != UInt8(ascii: "=") }
        return String(decoding: symbols.map(Self.urlSymbol), as: UTF8.self)
    }

    /// - Returns: nil for anything but base64url; padding is accepted.
    package init?(base64URL text: String) {
        guard !text.utf8.contains(where: "+/".utf8.contains) else { return nil }
        let symbols = text.utf8.filter { $0 != UInt8(ascii: "=") }.map(Self.plainSymbol)
        let padding = [UInt8](repeating: UInt8(ascii: "="), count: (4 - symbols.count % 4) % 4)
        self.init(base64Encoded: Data(symbols + padding))
    }

    private static func urlSymbol(_ symbol: UInt8) -> UInt8 {
        switch symbol {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        default: symbol
        }
    }

    private static func plainSymbol(_ symbol: UInt8) -> UInt8 {
        switch symbol {
        case UInt8(ascii: "-"): UInt8(ascii: "+")
        case UInt8(ascii: "_"): UInt8(ascii: "/")
        default: symbol
        }
    }
}
