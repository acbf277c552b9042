import StrictJSON

/// The claims of a proof, each of its type and length. Nothing is compared yet.
struct ProofClaims {
    /// Bytes of a `jti`. An UUID has 36.
    static let maximumIDBytes = 256
    /// Bytes of a `nonce`.
    static let maximumNonceBytes = 256

    let id, method, uri: String
    /// Seconds since 1970.
    let issuedAt: Double
    let tokenHash, nonce: String?
    let expires, notBefore: Double?

    init(_ object: JSONObject) throws(ProofRefusal) {
        func text(_ claim: ProofClaim) throws(ProofRefusal) -> String? {
            guard let value = object[claim.rawValue] else { return nil }
            guard let text = value.string else { throw .claim(claim) }
            return text
        }
        func time(_ claim: ProofClaim) throws(ProofRefusal) -> Double? {
            guard let value = object[claim.rawValue] else { return nil }
            guard let time = value.numericDate else { throw .claim(claim) }
            return time
        }
        guard let id = try text(.jti), (1...Self.maximumIDBytes).contains(id.utf8.count) else { throw .claim(.jti) }
        guard let method = try text(.htm) else { throw .claim(.htm) }
        guard let uri = try text(.htu) else { throw .claim(.htu) }
        guard let issuedAt = try time(.iat) else { throw .claim(.iat) }
        (self.id, self.method, self.uri, self.issuedAt) = (id, method, uri, issuedAt)
        tokenHash = try text(.ath)
        nonce = try text(.nonce)
        guard nonce?.utf8.count ?? 0 <= Self.maximumNonceBytes else { throw .claim(.nonce) }
        expires = try time(.exp)
        notBefore = try time(.nbf)
    }
}
