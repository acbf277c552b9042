/// What has changed in a fleet's store between two readings of its feed.
package struct StoreNews: Sendable {
    /// Keys, and accounts, that are named one by one, while news wait to be told.
    package static let maximumKeys = 10_000

    /// Keys that were changed, removed or registered again; nil: any may have been, because changes were missed or
    /// there are too many.
    package private(set) var keys: Set<KeyID>? = []
    /// Accounts whose passkeys or refresh tokens' families have changed, and those that were closed or removed; nil as
    /// for keys.
    package private(set) var accounts: Set<AccountID>? = []
    package private(set) var changesTokens = false
    package private(set) var changesBlockList = false
    /// Nil if nothing has changed.
    package private(set) var revocations: StoreRevocations?
    /// Encrypted with a key that this gateway hasn't, or damaged: what they have signed isn't accepted here.
    package private(set) var unreadableSigningKeys = 0

    package init(keys: Set<KeyID>? = []) { self.keys = keys }

    // MARK: By the feed

    package mutating func noteKey(_ key: KeyID) {
        keys?.insert(key)
        limitKeys()
    }

    package mutating func noteAccount(_ account: AccountID) {
        accounts?.insert(account)
        limitKeys()
    }

    package mutating func noteTokens() { changesTokens = true }
    package mutating func noteBlockList() { changesBlockList = true }

    /// Changes were missed.
    package mutating func noteEverything() {
        (keys, accounts) = (nil, nil)
        changesTokens = true
        changesBlockList = true
    }

    /// All of them, as they are now.
    package mutating func noteRevocations(_ revocations: StoreRevocations, unreadableSigningKeys: Int) {
        self.revocations = revocations
        self.unreadableSigningKeys = unreadableSigningKeys
    }

    // MARK: By its reader

    /// Adds what came later.
    package mutating func add(_ later: StoreNews) {
        if let more = later.keys { keys?.formUnion(more) } else { keys = nil }
        if let more = later.accounts { accounts?.formUnion(more) } else { accounts = nil }
        limitKeys()
        changesTokens = changesTokens || later.changesTokens
        changesBlockList = changesBlockList || later.changesBlockList
        guard let latest = later.revocations else { return }
        revocations = latest
        unreadableSigningKeys = later.unreadableSigningKeys
    }

    /// The caller has read the tokens, or the block list, since.
    package mutating func hasReadTokens() { changesTokens = false }
    package mutating func hasReadBlockList() { changesBlockList = false }

    private mutating func limitKeys() {
        if let count = keys?.count, count > Self.maximumKeys { keys = nil }
        if let count = accounts?.count, count > Self.maximumKeys { accounts = nil }
    }
}
