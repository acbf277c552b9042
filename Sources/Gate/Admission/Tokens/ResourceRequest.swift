package import DPoP
package import KeyStore

/// A request for a resource with an access token and its proof, as received. Nothing in it is verified.
package struct ResourceRequest: Sendable {
    /// As in the request line of the client.
    package var method: String
    /// As the client sees it: scheme and host are those outside of any proxy. The query and the fragment don't matter.
    package var url: String
    /// The values of all `Authorization` fields.
    package var authorization: [String]
    /// The values of all `DPoP` fields.
    package var proofs: [String]
    package var moment: Moment
    /// Of a request to another host than the gateway's, which `url` can't say.
    package var foreignHost: ForeignHost?

    package init(
        method: String, url: String, authorization: [String], proofs: [String], moment: Moment,
        foreignHost: ForeignHost? = nil
    ) {
        self.foreignHost = foreignHost
        self.method = method
        self.url = url
        self.authorization = authorization
        self.proofs = proofs
        self.moment = moment
    }
}

/// A request whose sender holds the key of a valid access token. Only ``ResourceVerifier`` makes one.
package struct VerifiedResourceRequest: Sendable {
    /// Under ``AccessTokenMethod/name`` or ``AccessTokenMethod/developmentName``.
    package let identity: Identity
    package let claims: AccessTokenClaims
    /// Kept for later checks.
    package let proof: AccessTokenProof
    /// nil for an attested device.
    package let grant: DevelopmentGrant?
    /// For `DPoP-Nonce` in the answer; nil if the client needs no new one.
    package let freshNonce: String?
}
