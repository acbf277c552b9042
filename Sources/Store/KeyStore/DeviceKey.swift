/// A registered App Attest key, with the facts that its attestation proved and its history since.
///
/// A record contains no secrets: the private key never leaves the device.
package struct DeviceKey: Hashable, Sendable {
    package let id: KeyID
    /// X9.62 uncompressed point on P-256, 65 bytes.
    package var publicKeyX963: [UInt8]
    /// `TEAMID.bundle.identifier`: the only app that this key may be used for.
    package var app: String
    /// The raw value of the attestation's environment.
    package var environment: String
    /// SHA-256 of the trust root that the attestation led to, 32 bytes.
    package var trustRoot: [UInt8]
    /// The highest assertion counter admitted so far. It only rises.
    package var counter: UInt32
    /// Apple's receipt for its fraud service, as received: opaque and not verified here.
    package var receipt: [UInt8]
    /// The validation category of iOS 27 and later; nil when the attestation carried none.
    package var validationCategory: UInt32?
    /// The bundle version of iOS 27 and later; nil when the attestation carried none.
    package var bundleVersion: String?
    /// The first registration, in Unix milliseconds. A later one doesn't change it.
    package var registeredAt: Int64
    /// The last admitted assertion, in Unix milliseconds; nil when there has been none.
    package var lastUsedAt: Int64?
    /// Set while the key is revoked, in Unix milliseconds.
    package var revokedAt: Int64?
    /// The operator's reason; nil unless the key is revoked.
    package var revocationReason: String?

    package init(
        id: KeyID, publicKeyX963: [UInt8], app: String, environment: String, trustRoot: [UInt8], counter: UInt32,
        receipt: [UInt8], validationCategory: UInt32?, bundleVersion: String?, registeredAt: Int64,
        lastUsedAt: Int64? = nil, revokedAt: Int64? = nil, revocationReason: String? = nil
    ) {
        self.id = id
        self.publicKeyX963 = publicKeyX963
        self.app = app
        self.environment = environment
        self.trustRoot = trustRoot
        self.counter = counter
        self.receipt = receipt
        self.validationCategory = validationCategory
        self.bundleVersion = bundleVersion
        self.registeredAt = registeredAt
        self.lastUsedAt = lastUsedAt
        self.revokedAt = revokedAt
        self.revocationReason = revocationReason
    }

    /// No device's counter is higher: an assertion raises it by one, and so many are one every 50 ms, day and night,
    /// for more than three years. A record that says so would lock its device out for ever, or nearly.
    package static let largestCounter: UInt32 = 0x7FFF_FFFF

    package var isRevoked: Bool { revokedAt != nil }

    /// Its erasure has begun, and hasn't ended.
    package var isBeingErased: Bool { isRevoked && revocationReason == Self.erasingReason }

    /// Nothing but its identifier and its revocation is left.
    package var isErased: Bool { publicKeyX963.isEmpty }

    /// `revocationReason` of a key whose erasure has begun. It isn't a revocation of the operator's, so it ends with
    /// the erasure.
    package static let erasingReason = "(its erasure has begun)"
    /// `revocationReason` of a key of which nothing else is left.
    package static let erasedReason = "(erased)"

    /// When it was last used or, if it never was, registered.
    package var lastSeenAt: Int64 { max(registeredAt, lastUsedAt ?? registeredAt) }

    /// Whether it may be forgotten because nobody uses it. A revoked key never is: it has to stay refused.
    package func isIdle(since time: Int64) -> Bool { !isRevoked && lastSeenAt < time }

    /// This record updated with `newer`, a verified attestation of the same key.
    ///
    /// All registries share this rule. The facts proved by the attestation are replaced; the key's history is kept: its
    /// counter never decreases, and its first registration, last use and revocation stay.
    package func reenrolled(as newer: DeviceKey) -> DeviceKey {
        var merged = newer
        merged.counter = max(counter, newer.counter)
        merged.registeredAt = registeredAt
        merged.lastUsedAt = lastUsedAt
        merged.revokedAt = revokedAt
        merged.revocationReason = revocationReason
        return merged
    }
}
