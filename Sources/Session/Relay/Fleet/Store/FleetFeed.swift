import Admission
package import KeyStore

/// The feed of a fleet's changes, as this gateway hears it: its revocations go to the sessions, and the rest to what
/// the gateway remembers of the store.
///
/// What couldn't be loaded stays in `unheard`, and the next call goes on with it.
package actor FleetFeed {
    private let store: FleetStore
    private let feed: any StoreFeed
    private var unheard = StoreNews()
    private var isBusy = false

    package init(_ store: FleetStore) {
        self.store = store
        feed = store.registry.makeFeed()
    }

    package nonisolated var longestPause: Duration { feed.longestPause }

    package func ifChanged() async throws(KeyRegistryError) -> StoreRevocations? {
        // Calls don't overlap: an answer has what was unheard at its end.
        guard !isBusy else { return nil }
        isBusy = true
        defer { isBusy = false }
        let asked = MonotonicTime.now
        let (fleet, standings) = (store.fleet, store.fleet.standings)
        let news = try await feed.news { present in
            fleet.identity.note(.init(asked: asked, answered: .now, storeTime: present.time))
            fleet.learn(present, askedAt: asked)
        }
        guard let news else { return nil }
        unheard.add(news)
        try await loadChanges()
        let heard = unheard
        unheard = StoreNews()
        await feed.told()
        if heard.revocations != nil { store.note(unreadableSigningKeys: heard.unreadableSigningKeys) }
        if heard.keys == nil { standings.forgetAll() }
        standings.heard(heard.keys ?? [], at: asked)
        if heard.accounts == nil { store.knownAccounts.forgetAll() }
        store.knownAccounts.heard(heard.accounts ?? [], at: asked)
        return heard.revocations
    }

    private func loadChanges() async throws(KeyRegistryError) {
        if unheard.changesTokens {
            try await store.grants.load()
            unheard.hasReadTokens()
        }
        if unheard.changesBlockList {
            try await store.blocks.load()
            unheard.hasReadBlockList()
        }
    }
}
