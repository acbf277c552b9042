import Crypto
import StrictJSON
import WireText

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Whether a proof needs a nonce of the server.
public enum NonceRule: Sendable {
    /// None is needed, and a nonce in the proof is ignored.
    case ignored
    /// `accepts` tells whether a nonce is valid at a time.
    case required(accepts: @Sendable (_ nonce: String, _ time: Date) -> Bool)
    /// One of these is needed. It shows the ``ReplayLife`` that they are bound to.
    case demanded(ServerNonces)
    /// None is needed. One of these shows the ``ReplayLife`` that they are bound to; any other is ignored.
    case recognised(ServerNonces)

    /// A nonce of `nonces` is needed.
    public static func required(_ nonces: ServerNonces) -> NonceRule { .demanded(nonces) }
}

/// Verifies DPoP proofs: the checks of RFC 9449 section 4.3 with its numbers, and those of section 11. It reads no
/// clock and does no I/O.
///
/// Only ES256 is accepted. Cheap checks come first, then the signature, and the replay store last: a proof that is
/// refused for another reason can be sent again.
public struct DPoPVerifier: Sendable {
    /// `typ` of a proof (RFC 9449 section 4.2).
    public static let type = "dpop+jwt"
    /// Seconds.
    public static let defaultWindow = 30.0

    let window: Double
    private let nonces: NonceRule

    /// - Parameters:
    ///   - nonces: whether a nonce is needed.
    ///   - window: seconds by which `iat` may be earlier or later than now.
    public init(nonces: NonceRule = .ignored, window: Double = defaultWindow) {
        (self.nonces, self.window) = (nonces, window)
    }

    /// - Parameters:
    ///   - time: now.
    ///   - replays: called last, and only for a proof that passed all other checks.
    /// - Throws: the first failed check.
    public func verify(
        _ request: ProofRequest, at time: Date, spending replays: some ReplayStore
    ) throws(ProofRefusal) -> VerifiedProof {
        try check(request, at: time).spend(in: replays, at: time)
    }

    /// The same with a replay store that answers later.
    public func verify(
        _ request: ProofRequest, at time: Date, spending replays: some AsyncReplayStore
    ) async throws(ProofRefusal) -> VerifiedProof {
        try await check(request, at: time).spend(in: replays, at: time)
    }

    /// All checks but the replay store's. The caller must spend the proof before it acts on the request.
    ///
    /// - Throws: the first way found in which the request isn't proven.
    public func check(_ request: ProofRequest, at time: Date) throws(ProofRefusal) -> UnspentProof {
        if let token = request.token, token.key == nil { throw .tokenNotBound }
        let jws = try parse(try singleProof(request))
        let claims = try claims(jws)
        let uri = try verifyRequest(claims, is: request)
        let life = try verifyNonce(claims, at: time)
        try verifyTime(claims, at: time)
        try verifyTokenHash(claims, request.token)
        let key = try publicKey(jws)
        try verifyKey(key, request.token)
        guard jws.isSigned(by: key.key) else { throw .signatureMismatch }
        let issuedAt = Date(timeIntervalSince1970: claims.issuedAt)
        let verified = VerifiedProof(
            key: key, method: claims.method, uri: uri, issuedAt: issuedAt, nonce: claims.nonce,
            isForToken: request.token != nil)
        let use = ProofUse(
            key: key.thumbprint, uri: uri, id: claims.id, issuedAt: issuedAt, window: window, life: life)
        return UnspentProof(verified: verified, use: use)
    }
}

// RFC 9449 section 4.3, in its words and with its numbers.
extension DPoPVerifier {
    /// 1. "There is not more than one DPoP HTTP request header field."
    private func singleProof(_ request: ProofRequest) throws(ProofRefusal) -> String {
        guard let proof = request.proofs.first else { throw request.token == nil ? .missing : .tokenWithoutProof }
        guard request.proofs.count == 1 else { throw .severalFields }
        return proof
    }

    /// 2. "The DPoP HTTP request header field value is a single and well-formed JWT."
    /// 4. "The typ JOSE Header Parameter has the value dpop+jwt."
    /// 5. "The alg JOSE Header Parameter indicates a registered asymmetric digital signature algorithm, is not none, is
    /// supported by the application, and is acceptable per local policy."
    private func parse(_ proof: String) throws(ProofRefusal) -> CompactJWS {
        do {
            let jws = try CompactJWS(proof)
            try jws.requireES256(types: [Self.type])
            return jws
        } catch { throw .malformed(error) }
    }

    /// 3. "All required claims per Section 4.2 are contained in the JWT."
    private func claims(_ jws: CompactJWS) throws(ProofRefusal) -> ProofClaims {
        let object: JSONObject
        do { object = try jws.claims() } catch { throw .malformed(error) }
        return try ProofClaims(object)
    }

    /// 7. "The jwk JOSE Header Parameter does not contain a private key."
    private func publicKey(_ jws: CompactJWS) throws(ProofRefusal) -> PublicJWK {
        guard let jwk = jws.header["jwk"]?.object else { throw .jwkMissing }
        do { return try PublicJWK(jwk) } catch { throw .jwk(error) }
    }

    /// 8. "The htm claim matches the HTTP method of the current request."
    /// 9. "The htu claim matches the HTTP URI value for the HTTP request in which the JWT was received, ignoring any
    /// query and fragment parts."
    private func verifyRequest(_ claims: ProofClaims, is request: ProofRequest) throws(ProofRefusal) -> TargetURI {
        guard claims.method.hasSameBytes(as: request.method) else { throw .methodMismatch }
        // Most clients write the URL as the server sees it; it is then normalised only once.
        guard let uri = TargetURI(claims.uri),
            claims.uri.hasSameBytes(as: request.url) || uri == TargetURI(request.url)
        else { throw .uriMismatch }
        return uri
    }

    /// 10. "If the server provided a nonce value to the client, the nonce claim matches the server-provided nonce
    ///     value."
    ///
    /// - Returns: the life that the nonce shows.
    private func verifyNonce(_ claims: ProofClaims, at time: Date) throws(ProofRefusal) -> [UInt8]? {
        switch nonces {
        case .ignored: return nil
        case .recognised(let nonces):
            guard let nonce = claims.nonce, nonces.accepts(nonce, at: time) else { return nil }
            return nonces.life
        case .demanded(let nonces):
            try require(claims.nonce) { nonces.accepts($0, at: time) }
            return nonces.life
        case .required(let accepts):
            try require(claims.nonce) { accepts($0, time) }
            return nil
        }
    }

    private func require(_ nonce: String?, _ accepts: (String) -> Bool) throws(ProofRefusal) {
        guard let nonce else { throw .nonceMissing }
        guard accepts(nonce) else { throw .nonceUnknown }
    }

    /// 11. "The creation time of the JWT, as determined by either the iat claim or a server managed timestamp via the
    /// nonce claim, is within an acceptable window."
    ///
    /// `exp` and `nbf` aren't claims of a proof, but if present they are checked, with the same tolerance for the
    /// client's clock.
    private func verifyTime(_ claims: ProofClaims, at time: Date) throws(ProofRefusal) {
        let now = time.timeIntervalSince1970
        let skew = claims.issuedAt - now
        guard abs(skew) <= window else { throw .clockSkew(seconds: skew.wholeSeconds) }
        guard claims.expires ?? .infinity > now - window, claims.notBefore ?? 0 <= now + window else {
            throw .outsideItsValidity
        }
    }

    /// 12. "If presented to a protected resource in conjunction with an access token: a. ensure that the value of the
    /// ath claim equals the hash of that access token,"
    ///
    /// Clients that send `Bearer` with a proof have no `ath`; if it is present it must match.
    private func verifyTokenHash(_ claims: ProofClaims, _ token: BoundToken?) throws(ProofRefusal) {
        guard let token else { return }
        guard let hash = claims.tokenHash else {
            guard token.presented.scheme == .bearer else { throw .tokenHashMissing }
            return
        }
        guard hash.hasSameBytes(as: Base64URL.encode(SHA256.hash(data: Array(token.presented.text.utf8)))) else {
            throw .tokenHashMismatch
        }
    }

    /// "b. confirm that the public key to which the access token is bound matches the public key from the DPoP proof."
    private func verifyKey(_ key: PublicJWK, _ token: BoundToken?) throws(ProofRefusal) {
        guard let token else { return }
        guard token.key == key.thumbprint else { throw .keyMismatch }
    }
}
