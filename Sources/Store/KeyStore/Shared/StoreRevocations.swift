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
    /// Devices that were removed from their accounts, and haven't joined them again.
    package var departures: Set<DeviceDeparture> = []
    package var signingKeys = StoredSigningKeys()

    package init(keys: Set<KeyID> = []) { self.keys = keys }
}

/// A device that its account's owner has removed: its sessions as the account end.
package struct DeviceDeparture: Hashable, Sendable {
    package let key: KeyID
    package let account: AccountID

    package init(of key: KeyID, from account: AccountID) { (self.key, self.account) = (key, account) }

    /// - Returns: nil for any other number of bytes than those of a key and an account.
    package init?(bytes: [UInt8]) {
        guard let key = KeyID(bytes: Array(bytes.prefix(KeyID.length))),
            let account = AccountID(bytes: Array(bytes.dropFirst(KeyID.length)))
        else { return nil }
        self.init(of: key, from: account)
    }

    /// The key, and then the account.
    package var bytes: [UInt8] { key.bytes + account.bytes }
}

/// Where a gateway learns what other processes have changed in its store: made for polling.
package protocol RevocationSource: Sendable {
    /// All current revocations; nil if the store hasn't changed since the last answer. What couldn't be answered
    /// because of an error is in the next answer.
    func ifChanged() async throws(KeyRegistryError) -> StoreRevocations?

    /// How long a gateway pauses between two calls at most.
    var longestPause: Duration { get }
}

extension RevocationSource {
    package var longestPause: Duration { .milliseconds(500) }
}
