package import DPoP
package import FoundationEssentials
package import KeyStore

/// Creates, rotates and revokes the signing keys of a store. Every process may do so at any time: each change is a
/// compare-and-set, which is repeated if another process was faster. Not for reactors: the store may wait.
package struct SigningKeyRotation: Sendable {
    /// The number of revoked keys whose names are kept; the oldest are dropped.
    package static let maximumRevoked = 64
    /// Attempts at one change. An attempt fails only if another process has changed the keys meanwhile.
    private static let maximumAttempts = 16

    private let store: any SigningKeyStore
    package let schedule: SigningKeySchedule

    package init(_ store: any SigningKeyStore, schedule: SigningKeySchedule) {
        (self.store, self.schedule) = (store, schedule)
    }

    /// Adds a key if none signs, or if the one that signs is due for rotation.
    ///
    /// - Returns: the keys now in the store.
    package func keepUp(at time: Date) throws(SigningKeyError) -> StoredSigningKeys {
        try change { set, _ in
            guard set.isRotationDue(at: time) else { return }
            _ = set.removeRetired(at: time)
            _ = set.add(SigningKey.make(), at: time)
        }
    }

    /// Publishes another key now, which signs after the publication lead. Existing tokens stay valid.
    package func rotate(at time: Date) throws(SigningKeyError) -> ScheduledKey {
        var added: ScheduledKey?
        _ = try change { set, _ throws(SigningKeyError) in
            _ = set.removeRetired(at: time)
            added = set.add(SigningKey.make(), at: time)
            if added == nil { throw .rotationUnderWay }
        }
        guard let added else { throw .rotationUnderWay }
        return added
    }

    /// Revokes a key: its tokens are refused from now on. Another key replaces it.
    package func revoke(_ keyID: String, at time: Date) throws(SigningKeyError) {
        _ = try change { set, revoked throws(SigningKeyError) in
            guard !set.revoke(keyID, at: time).isEmpty else { throw .unknownKey }
            revoked.append(StoredSigningKeys.Revoked(id: keyID, revokedAt: time.unixMilliseconds))
            revoked = Array(revoked.suffix(Self.maximumRevoked))
            if set.signer(at: time) == nil { _ = set.add(SigningKey.make(), at: time) }
        }
    }

    private func change(
        _ body: (inout SigningKeySet, inout [StoredSigningKeys.Revoked]) throws(SigningKeyError) -> Void
    ) throws(SigningKeyError) -> StoredSigningKeys {
        for _ in 0..<Self.maximumAttempts {
            let old = try stored { () throws(KeyRegistryError) in try store.signingKeys() }
            guard var set = SigningKeySet(old, schedule: schedule) else { throw .damaged }
            var revoked = old.revoked
            try body(&set, &revoked)
            let new = StoredSigningKeys(keys: set.stored, revoked: revoked)
            guard new != old else { return old }
            let isWritten = try stored { () throws(KeyRegistryError) in
                try store.replaceSigningKeys(old, with: new)
            }
            if isWritten { return new }
        }
        throw .store(.busy)
    }

    private func stored<Value>(_ body: () throws(KeyRegistryError) -> Value) throws(SigningKeyError) -> Value {
        do throws(KeyRegistryError) { return try body() } catch { throw .store(error) }
    }
}

/// Why signing keys weren't changed.
package enum SigningKeyError: Error, Hashable, Sendable {
    case store(KeyRegistryError)
    /// The store contains invalid keys.
    case damaged
    /// The newest key doesn't sign yet.
    case rotationUnderWay
    case unknownKey
}

extension SigningKeyError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .store(let error): "\(error)"
        case .damaged: "a signing key in the key store is damaged"
        case .rotationUnderWay: "the newest signing key doesn't sign yet: a rotation is under way"
        case .unknownKey: "no such signing key"
        }
    }
}

extension SigningKey {
    /// A new key from the system's random number generator.
    static func make() -> SigningKey {
        while true {
            if let key = SigningKey(rawRepresentation: RandomBytes.make(byteCount)) { return key }
        }
    }
}

/// The stage of each signing key at a time, for the operator.
package struct SigningKeyStages: Sendable {
    private let signer: String?
    private let published: Set<String>
    private let waiting: Set<String>

    /// - Returns: nil if the stored keys can't be read.
    package init?(_ stored: StoredSigningKeys, schedule: SigningKeySchedule, at time: Date) {
        guard let set = SigningKeySet(stored, schedule: schedule) else { return nil }
        signer = set.signer(at: time)?.keyID
        published = Set(set.published(at: time).keys.map(\.thumbprint.text))
        waiting = Set(set.keys.filter { $0.signsFrom > time }.map(\.key.keyID))
    }

    package func stage(of keyID: String) -> String {
        if keyID == signer { return "signing" }
        if waiting.contains(keyID) { return "published" }
        return published.contains(keyID) ? "kept" : "retired"
    }
}
