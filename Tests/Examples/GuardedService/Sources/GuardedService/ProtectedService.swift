import DPoP
import Foundation

struct ProtectedService {
    let tokens: AccessTokenVerifier
    let proofs = DPoPVerifier()
    let replays = MemoryReplayStore()

    /// - Parameter keys: the body of `/.well-known/jwks.json`.
    init?(keys: [UInt8], issuer: String, audience: String) {
        guard let keys = JWKSet(json: keys) else { return nil }
        tokens = AccessTokenVerifier(issuer: issuer, audience: audience, keys: keys, clockTolerance: 60)
    }

    /// - Parameters:
    ///   - url: as the client sees it.
    ///   - authorization: the values of all `Authorization` fields.
    ///   - dpop: the values of all `DPoP` fields.
    /// - Returns: nil without a token. Every other fault is thrown.
    func sender(method: String, url: String, authorization: [String], dpop: [String]) throws -> AccessTokenClaims? {
        guard let presented = try PresentedToken.read(authorization: authorization) else { return nil }
        let token = try tokens.verify(presented, at: Date())
        let request = ProofRequest(proofs: dpop, method: method, url: url, token: BoundToken(token))
        _ = try proofs.verify(request, at: Date(), spending: replays)
        return token.claims
    }
}
