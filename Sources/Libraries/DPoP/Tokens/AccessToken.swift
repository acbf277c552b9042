import StrictJSON
import WireText

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// An access token of this issuer that was valid when it was verified. Only ``AccessTokenVerifier`` can make one.
///
/// It proves nothing about its sender: that needs a ``VerifiedProof`` for it.
public struct VerifiedAccessToken: Hashable, Sendable {
    public let claims: AccessTokenClaims
    /// The `kid` of the key that signed it: its sessions end when that key is revoked.
    public let keyID: String
    /// As it was presented.
    let presented: PresentedToken
}

extension AccessTokenClaims {
    /// Writes the token (RFC 9068): a JWS with `typ` `at+jwt`, signed with ES256.
    public func sign(with key: SigningKey) throws(SigningFailure) -> String {
        var header = JSONWriter()
        header.member("typ", AccessTokenVerifier.type)
        header.member("alg", "ES256")
        header.member("kid", key.keyID)
        return try CompactJWS.sign(header: header.object, payload: json, by: key.key)
    }
}

/// Verifies access tokens as RFC 9068 section 4 says. It reads no clock, keeps no state and does no I/O: any server
/// that has the issuer's JWK set can do it offline.
public struct AccessTokenVerifier: Sendable {
    /// `typ` of an access token (RFC 9068 section 2.1).
    public static let type = "at+jwt"

    private let issuer: String
    private let audience: String
    private let keys: JWKSet
    private let clockTolerance: Double

    /// - Parameters:
    ///   - issuer: what `iss` must be.
    ///   - audience: what `aud` must name.
    ///   - keys: the keys that may have signed; replace the verifier when they change.
    ///   - clockTolerance: seconds by which this server's clock may differ from the issuer's. 0 where it is the same
    ///     clock.
    public init(issuer: String, audience: String, keys: JWKSet, clockTolerance: Double = 0) {
        (self.issuer, self.audience, self.keys, self.clockTolerance) = (issuer, audience, keys, clockTolerance)
    }

    /// - Throws: the first failed check.
    public func verify(_ token: PresentedToken, at time: Date) throws(AccessTokenRefusal) -> VerifiedAccessToken {
        let jws: CompactJWS
        do {
            jws = try CompactJWS(token.text)
            try jws.requireES256(types: [Self.type, "application/\(Self.type)"])
        } catch { throw .malformed(error) }
        let key = try signer(of: jws)
        let object: JSONObject
        do { object = try jws.claims() } catch { throw .malformed(error) }
        let claims = try AccessTokenClaims(object)
        guard claims.issuer.hasSameBytes(as: issuer) else { throw .wrongIssuer }
        guard claims.audience.contains(where: audience.hasSameBytes) else { throw .wrongAudience }
        try verifyTime(claims, object, at: time)
        return VerifiedAccessToken(claims: claims, keyID: key.thumbprint.text, presented: token)
    }

    private func signer(of jws: CompactJWS) throws(AccessTokenRefusal) -> PublicJWK {
        guard let kid = jws.header["kid"]?.string, let key = keys.key(kid) else { throw .unknownKey }
        guard jws.isSigned(by: key.key) else { throw .signatureMismatch }
        return key
    }

    private func verifyTime(
        _ claims: AccessTokenClaims, _ object: JSONObject, at time: Date
    ) throws(AccessTokenRefusal) {
        guard time < claims.expiresAt + clockTolerance else { throw .expired }
        guard claims.issuedAt <= time + clockTolerance else { throw .notYetValid }
        if let notBefore = object["nbf"] {
            guard let seconds = notBefore.numericDate, seconds <= time.timeIntervalSince1970 + clockTolerance else {
                throw .notYetValid
            }
        }
    }
}
