import Crypto

/// The service that users sign in to ("Relying Party"), and where from.
public struct RelyingParty: Sendable {
    /// The RP ID, a domain: credentials are bound to it.
    public let id: String
    /// The origins of its pages and apps, as clients write them: `https://example.org`, `android:apk-key-hash:…`.
    /// Native apps of Apple's systems send `https://` and the RP ID. They are compared byte by byte; none is implied.
    public let origins: [String]
    /// The origins of pages that may have the relying party's page in a frame. Empty: no ceremony in frames of other
    /// origins.
    public let topOrigins: [String]
    /// SHA-256 of the RP ID.
    let idHash: [UInt8]

    public init(id: String, origins: [String], topOrigins: [String] = []) {
        (self.id, self.origins, self.topOrigins) = (id, origins, topOrigins)
        idHash = Array(SHA256.hash(data: Array(id.utf8)))
    }
}
