import WireText

/// A stored signing key. All times in Unix milliseconds.
package struct StoredSigningKey: Hashable, Sendable {
    /// The `kid`.
    package let id: String
    /// Secret: the private scalar.
    package let secret: [UInt8]
    package let publishedAt: Int64
    package let signsFrom: Int64

    package init(id: String, secret: [UInt8], publishedAt: Int64, signsFrom: Int64) {
        (self.id, self.secret, self.publishedAt, self.signsFrom) = (id, secret, publishedAt, signsFrom)
    }
}

extension StoredSigningKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "(signing key \(id))" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The signing keys of a store: those in use, and the names of revoked ones, whose secrets were deleted.
package struct StoredSigningKeys: Hashable, Sendable {
    package struct Revoked: Hashable, Sendable {
        package let id: String
        package let revokedAt: Int64

        package init(id: String, revokedAt: Int64) { (self.id, self.revokedAt) = (id, revokedAt) }
    }

    package var keys: [StoredSigningKey]
    package var revoked: [Revoked]

    package init(keys: [StoredSigningKey] = [], revoked: [Revoked] = []) {
        self.keys = keys.sorted { ($0.signsFrom, ByteText($0.id)) < ($1.signsFrom, ByteText($1.id)) }
        self.revoked = revoked.sorted { ($0.revokedAt, ByteText($0.id)) < ($1.revokedAt, ByteText($1.id)) }
    }
}

/// Stores the keys that sign access tokens, and the secret of server nonces. All processes that share a store use the
/// same ones.
///
/// A call may wait for a disk, a lock or another machine on the caller's thread: never call it on a reactor or in
/// Swift's pool. Writes are durable when it returns.
package protocol SigningKeyStore: Sendable {
    func signingKeys() throws(KeyRegistryError) -> StoredSigningKeys

    /// Writes `keys` if the store still has `expected` (compare-and-set), atomic also between processes.
    ///
    /// - Returns: false if the store has other keys by now: read them, and decide again.
    func replaceSigningKeys(
        _ expected: StoredSigningKeys, with keys: StoredSigningKeys
    ) throws(KeyRegistryError) -> Bool

    /// The secret of this name. Its first use stores `fresh`; all processes then get the same one.
    func secret(named name: String, creating fresh: [UInt8]) throws(KeyRegistryError) -> [UInt8]
}
