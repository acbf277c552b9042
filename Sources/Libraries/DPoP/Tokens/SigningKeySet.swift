#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The durations of a signing key's three stages, in seconds.
public struct SigningKeySchedule: Hashable, Sendable {
    /// How long a new key is published before it signs: at least as long as verifiers keep a JWK set.
    public let publicationLead: Double
    /// The lifetime of an access token. After its last signature a key stays published this long, plus
    /// ``clockTolerance``.
    public let tokenLifetime: Double
    /// The allowed difference between a verifier's clock and the issuer's.
    public let clockTolerance: Double
    /// How long a key signs before the next one does. With infinity there is no automatic rotation.
    public let signingPeriod: Double

    /// A day.
    public static let defaultPublicationLead = 86_400.0
    /// A minute.
    public static let defaultClockTolerance = 60.0
    /// Ninety days.
    public static let defaultSigningPeriod = 7_776_000.0

    /// - Returns: nil if a time is negative or not a number, or the signing period isn't longer than the publication
    ///   lead.
    public init?(
        tokenLifetime: Double, publicationLead: Double = defaultPublicationLead,
        clockTolerance: Double = defaultClockTolerance, signingPeriod: Double = defaultSigningPeriod
    ) {
        guard tokenLifetime >= 0, publicationLead >= 0, clockTolerance >= 0, signingPeriod > publicationLead else {
            return nil
        }
        self.tokenLifetime = tokenLifetime
        self.publicationLead = publicationLead
        self.clockTolerance = clockTolerance
        self.signingPeriod = signingPeriod
    }
}

/// A signing key and its two stored times.
public struct ScheduledKey: Sendable {
    public let key: SigningKey
    /// The time from which it is in the JWK set.
    public let publishedAt: Date
    /// The time from which it signs, until the next key does.
    public let signsFrom: Date

    public init(key: SigningKey, publishedAt: Date, signsFrom: Date) {
        (self.key, self.publishedAt, self.signsFrom) = (key, publishedAt, signsFrom)
    }
}

/// The keys of one issuer, and which of them signs, verifies and is published at a given time.
///
/// A key goes through three stages. It is **published** first, until every verifier that caches the JWK set has it. It
/// **signs**, until the next key does. It is **kept** for the lifetime of the tokens that it has signed. So a rotation
/// invalidates no token. A value: keep it where its owner can replace it.
public struct SigningKeySet: Sendable {
    /// Far more than a rotation needs; a set never grows beyond it.
    public static let maximumKeys = 8

    public let schedule: SigningKeySchedule
    /// In the order in which they sign.
    public private(set) var keys: [ScheduledKey]

    /// - Parameter keys: from a store, in any order.
    /// - Returns: nil if there are more than ``maximumKeys``, or one is repeated.
    public init?(_ keys: [ScheduledKey] = [], schedule: SigningKeySchedule) {
        guard keys.count <= Self.maximumKeys, Set(keys.map(\.key.keyID)).count == keys.count else { return nil }
        self.schedule = schedule
        self.keys = keys.sorted { $0.signsFrom < $1.signsFrom }
    }

    /// The key to sign with; nil if none has reached its time: ``add(_:at:)`` one then.
    public func signer(at time: Date) -> SigningKey? { keys.last { $0.signsFrom <= time }?.key }

    /// The keys that verify tokens, and that the JWK set publishes: those that have signed within a token's lifetime,
    /// sign, or will.
    public func published(at time: Date) -> JWKSet {
        JWKSet(
            keys.indices.filter { keys[$0].publishedAt <= time && !isRetired($0, at: time) }.map {
                keys[$0].key.publicKey
            })
    }

    /// Whether a key should be added: no key signs, or the newest one's signing period has ended or will end within the
    /// publication lead, so the next key takes over in time.
    public func isRotationDue(at time: Date) -> Bool {
        guard signer(at: time) != nil, let newest = keys.last else { return true }
        return newest.signsFrom + (schedule.signingPeriod - schedule.publicationLead) <= time
    }

    /// Adds a key: it is published now and signs after the publication lead, or at once if no other key can sign.
    ///
    /// - Returns: the key with its times, for the store; nil if the set is full, has it already, or has a newer key
    ///   that doesn't sign yet.
    public mutating func add(_ key: SigningKey, at time: Date) -> ScheduledKey? {
        guard keys.count < Self.maximumKeys, !keys.contains(where: { $0.key.keyID == key.keyID }) else { return nil }
        let isFirst = signer(at: time) == nil
        if let newest = keys.last, newest.signsFrom > time, !isFirst { return nil }
        let scheduled = ScheduledKey(
            key: key, publishedAt: time, signsFrom: isFirst ? time : time + schedule.publicationLead)
        keys.append(scheduled)
        keys.sort { $0.signsFrom < $1.signsFrom }
        return scheduled
    }

    /// Removes the keys whose tokens have all expired.
    ///
    /// - Returns: the removed keys, for the store.
    public mutating func removeRetired(at time: Date) -> [SigningKey] {
        let retired = keys.indices.filter { isRetired($0, at: time) }.map { keys[$0].key }
        keys.removeAll { scheduled in retired.contains { $0.keyID == scheduled.key.keyID } }
        return retired
    }

    /// Removes a key that must not be trusted any more: its tokens end with it. If it was the signing key, the key
    /// before it signs again, which verifiers still have; otherwise the next key signs at once; if there is none, add
    /// one. Store ``keys`` afterwards.
    ///
    /// - Returns: the removed keys: this one and the retired ones. Empty if there is no such key.
    public mutating func revoke(_ keyID: String, at time: Date) -> [SigningKey] {
        guard let revoked = keys.first(where: { $0.key.keyID == keyID })?.key else { return [] }
        // A retired key must not sign again: verifiers have dropped it.
        let retired = removeRetired(at: time).filter { $0.keyID != keyID }
        keys.removeAll { $0.key.keyID == keyID }
        if signer(at: time) == nil, let next = keys.first {
            keys[0] = ScheduledKey(key: next.key, publishedAt: min(next.publishedAt, time), signsFrom: time)
        }
        return retired + [revoked]
    }

    /// Whether the last token that the key at `index` can have signed has expired.
    private func isRetired(_ index: Int, at time: Date) -> Bool {
        guard index + 1 < keys.count else { return false }
        return keys[index + 1].signsFrom + (schedule.tokenLifetime + schedule.clockTolerance) < time
    }
}
