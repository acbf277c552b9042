import WireText

/// A development token with its places, on its way to another store.
package struct TransferredToken: Equatable, Sendable {
    package struct Place: Hashable, Sendable {
        /// The thumbprint of the device's key, 32 bytes.
        package let device: [UInt8]
        package let firstUsedAt: Int64
        package let lastUsedAt: Int64

        package init(device: [UInt8], firstUsedAt: Int64, lastUsedAt: Int64) {
            (self.device, self.firstUsedAt, self.lastUsedAt) = (device, firstUsedAt, lastUsedAt)
        }
    }

    package let token: DevelopmentToken
    package let places: [Place]

    package init(token: DevelopmentToken, places: [Place]) { (self.token, self.places) = (token, places) }
}

/// A store whose whole content can be read. For tools: the calls block.
package protocol ReadableStore {
    /// As in `KeyRegistry`.
    func transferableKeys(after: KeyID?, limit: Int) throws(KeyRegistryError) -> [DeviceKey]
    func transferableTokens() throws(KeyRegistryError) -> [TransferredToken]
    func transferableSigningKeys() throws(KeyRegistryError) -> StoredSigningKeys
    /// In the order of their names.
    func transferableSecrets() throws(KeyRegistryError) -> [NamedSecret]
    /// As in `AccountStore`.
    func transferableAccounts(after: AccountID?, limit: Int) throws(KeyRegistryError) -> [Account]
    /// Accounts and passkeys that were removed, in any order that stays: accounts first.
    func transferableRemovals(after: AccountRemoval?, limit: Int) throws(KeyRegistryError) -> [AccountRemoval]
}

/// A store that can be completed by the content of another one. Each `complete` is one durable transaction.
///
/// Copying completes a store and takes nothing away: no counter falls, no revocation is lifted. Copying the same
/// content again changes nothing.
package protocol TransferableStore: ReadableStore {
    /// Adds keys; known ones are completed as by ``DeviceKey/completed(by:)``.
    ///
    /// - Parameter keys: at most ``StoreTransfer/batch``.
    func complete(keys: [DeviceKey]) throws(KeyRegistryError)
    /// Adds a token and its places; a known one gets the earlier revocation of the two, or the only one.
    func complete(token: TransferredToken) throws(KeyRegistryError)
    /// Adds what is missing, as ``StoredSigningKeys/completed(by:)``.
    func complete(signingKeys: StoredSigningKeys) throws(KeyRegistryError)
    /// Adds a secret whose name has none.
    func complete(secret: NamedSecret) throws(KeyRegistryError)
    /// Removes what is there of them. Not one transaction: each of them is one.
    ///
    /// - Parameter removals: at most ``StoreTransfer/batch``.
    func complete(removals: [AccountRemoval]) throws(KeyRegistryError)
    /// Adds accounts; known ones are completed as by ``Account/completed(by:)``. One that was removed here stays so.
    ///
    /// - Parameter accounts: at most ``AccountLimits/largestPage``.
    func complete(accounts: [Account]) throws(KeyRegistryError)
}

/// A secret of `SigningKeyStore.secret(named:creating:)`.
package struct NamedSecret: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    package let name: String
    package let value: [UInt8]

    package init(name: String, value: [UInt8]) { (self.name, self.value) = (name, value) }

    package var description: String { "(secret \(name))" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension DeviceKey {
    /// This record, completed by that of the same key in another store. All stores share this rule.
    ///
    /// What the attestation proved stays; the counter is the higher one, and a revocation in either store counts.
    package func completed(by other: DeviceKey) -> DeviceKey {
        // Nothing of an erased key comes back.
        guard !isErased else { return self }
        var completed = self
        completed.counter = max(counter, other.counter)
        if !other.isErased { completed.registeredAt = min(registeredAt, other.registeredAt) }
        completed.lastUsedAt = [lastUsedAt, other.lastUsedAt].compactMap(\.self).max()
        if revokedAt == nil {
            completed.revokedAt = other.revokedAt
            completed.revocationReason = other.revocationReason
        }
        return completed
    }
}

extension StoredSigningKeys {
    /// These keys and those of another store. A key that is revoked in either is revoked.
    package func completed(by other: StoredSigningKeys) -> StoredSigningKeys {
        let gone = revoked + other.revoked.filter { !revoked.map(\.id).containsBytes(of: $0.id) }
        let all = keys + other.keys.filter { !keys.map(\.id).containsBytes(of: $0.id) }
        let names = Set(gone.map { ByteText($0.id) })
        return StoredSigningKeys(keys: all.filter { !names.contains(ByteText($0.id)) }, revoked: gone)
    }
}

/// Copies all content of one store into another.
package struct StoreTransfer: Sendable, Equatable {
    /// Keys of one transaction.
    package static let batch = 500

    package private(set) var keys = 0
    package private(set) var revokedKeys = 0
    package private(set) var tokens = 0
    package private(set) var signingKeys = 0
    package private(set) var accounts = 0

    package init() {}

    /// Blocks. After an error it can be run again: it continues where nothing is missing.
    ///
    /// - Parameter progress: called with the number of keys so far after each batch.
    package mutating func copy(
        from source: some ReadableStore, to target: some TransferableStore, progress: (Int) -> Void
    ) throws(KeyRegistryError) {
        var last: KeyID?
        while true {
            let batch = try source.transferableKeys(after: last, limit: Self.batch)
            guard let end = batch.last else { break }
            try target.complete(keys: batch)
            keys += batch.count
            revokedKeys += batch.count(where: \.isRevoked)
            last = end.id
            progress(keys)
        }
        for token in try source.transferableTokens() {
            try target.complete(token: token)
            tokens += 1
        }
        let stored = try source.transferableSigningKeys()
        if stored != StoredSigningKeys() { try target.complete(signingKeys: stored) }
        signingKeys = stored.keys.count
        for secret in try source.transferableSecrets() { try target.complete(secret: secret) }
        try copyAccounts(from: source, to: target)
    }

    /// After the keys, since devices are accounts' only if they are registered.
    private mutating func copyAccounts(
        from source: some ReadableStore, to target: some TransferableStore
    ) throws(KeyRegistryError) {
        var removal: AccountRemoval?
        while true {
            let batch = try source.transferableRemovals(after: removal, limit: Self.batch)
            guard let end = batch.last else { break }
            try target.complete(removals: batch)
            removal = end
        }
        var last: AccountID?
        while true {
            let batch = try source.transferableAccounts(after: last, limit: AccountLimits.largestPage)
            guard let end = batch.last else { break }
            try target.complete(accounts: batch)
            accounts += batch.count
            last = end.id
        }
    }
}
