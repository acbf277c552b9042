/// All revocations of a store, and its signing keys, which any process may have changed.
package struct StoreRevocations: Hashable, Sendable {
    /// Devices' keys.
    package var keys: Set<KeyID>
    /// Development tokens, by ``DevelopmentGrant/id``.
    package var grants: Set<String> = []
    /// Accounts that were closed or removed.
    package var accounts: Set<AccountID> = []
    /// Passkeys that were removed from their accounts.
    package var passkeys: Set<PasskeyMark> = []
    /// Families of refresh tokens that were ended.
    package var families: Set<RefreshFamilyID> = []
    package var signingKeys = StoredSigningKeys()

    package init(keys: Set<KeyID> = []) { self.keys = keys }
}

/// Where a gateway learns what other processes have changed in its store: made for polling.
package protocol RevocationSource: Sendable {
    /// All current revocations; nil if the store hasn't changed since the last answer. What couldn't be answered
    /// because of an error is in the next answer.
    func ifChanged() async throws(KeyRegistryError) -> StoreRevocations?
}
