/// The permission that a development token grants. It contains no secret.
package struct DevelopmentGrant: Hashable, Sendable {
    /// Identifies the token in access tokens, logs and the audit log: 1 to 64 characters of `A–Z a–z 0–9 _ -`, unique,
    /// stable, not secret.
    package let id: String
    /// The operator's name for it.
    package let name: String
    /// The only routes that it admits to; nil: all.
    package let routes: Set<String>?

    package init(id: String, name: String, routes: Set<String>? = nil) {
        (self.id, self.name, self.routes) = (id, name, routes)
    }
}

/// Why a development token isn't accepted.
package enum DevelopmentTokenRefusal: Hashable, Sendable {
    case unknown
    case expired
    case revoked
    /// The maximum number of devices has used it, and this one hasn't.
    case deviceLimit
}

/// The outcome of redeeming a development token.
package enum GrantStatus: Hashable, Sendable {
    case granted(DevelopmentGrant)
    case refused(DevelopmentTokenRefusal)
}

/// The development tokens of a gateway: the asynchronous part. A call may wait for a disk, a lock or another machine.
package protocol DevelopmentTokenRegistry: Sendable {
    /// Verifies a token that a device presents, in constant time, and counts the device against the token's limit.
    /// Atomic: two devices can't both take the last place. The count is durable when it returns.
    ///
    /// - Parameters:
    ///   - token: as presented; any text.
    ///   - device: the thumbprint of the device's key, 32 bytes.
    ///   - time: Unix milliseconds.
    func redeem(
        _ token: String, by device: [UInt8], at time: Int64
    ) async throws(KeyRegistryError) -> GrantStatus
}

/// The synchronous part, for reactors: it answers at once, as ``ImmediateKeyRegistry`` does.
package protocol ImmediateDevelopmentTokenRegistry: Sendable {
    /// Whether a token that was redeemed earlier may still be used: not revoked, not expired. The device limit isn't
    /// checked again.
    ///
    /// - Parameter id: ``DevelopmentGrant/id``.
    func status(ofGrant id: String, at time: Int64) throws(KeyRegistryError) -> GrantStatus
}
