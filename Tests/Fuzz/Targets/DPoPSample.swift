import DPoP
import FoundationEssentials

/// The public halves of a device's key and of a signing key. The private halves were discarded. What they signed is
/// in the corpus.
enum DPoPSample {
    static let time = Date(timeIntervalSince1970: 1_900_000_000)
    static let issuer = "https://gate.example"
    static let deviceKey = key(
        x: "Nmb2VFsi6F1QYz7tC8dF8a3Dm5bqgh9bV18s2SWRCRs", y: "pcfDkJvZ3LxtiS34fanZc3F-9MmHX9LrSkVjVGbD3qA")
    static let signingKey = key(
        x: "0EGDwOUdIYYp0D2Jy9vE2bHALMw1pKTHvs1sFPudfbg", y: "TligQNkJ5_a6xtv34E7I9fJY8RDSRpNpn73wjVqZXkE")
    static let tokenVerifier = AccessTokenVerifier(issuer: issuer, audience: issuer, keys: JWKSet([signingKey]))

    static func proofRequest(_ proof: String) -> ProofRequest {
        ProofRequest(proofs: [proof], method: "POST", url: "https://gate.example/token")
    }

    private static func key(x: String, y: String) -> PublicJWK {
        guard let key = try? PublicJWK(x: x, y: y) else { fatalError("it is a point of the curve") }
        return key
    }
}
