import Admission
import KeyStore
import KeyStorePostgreSQL

/// The feed of a fleet's changes, as this gateway hears it: its revocations go to the sessions, and the rest to what the gateway remembers of the store.
struct FleetFeed: RevocationSource {
    private let store: FleetStore
    private let revocations: PostgreSQLRevocations

    init(_ store: FleetStore) {
        self.store = store
        revocations = PostgreSQLRevocations(of: store.registry)
    }

    func ifChanged() async throws(KeyRegistryError) -> StoreRevocations? {
        let asked = MonotonicTime.now
        let present = try await store.registry.present()
        let (identity, standings) = (store.fleet.identity, store.fleet.standings)
        identity.note(.init(asked: asked, answered: .now, storeTime: present.time))
        store.fleet.learn(present, askedAt: asked)
        guard let news = try await revocations.news() else { return nil }
        do throws(KeyRegistryError) {
            if news.changesTokens { try await store.grants.load() }
            if news.changesBlockList { try await store.blocks.load() }
        } catch {
            // These changes haven't been heard: the next call reads everything.
            await revocations.startOver()
            throw error
        }
        store.note(unreadableSigningKeys: news.unreadableSigningKeys)
        if news.keys == nil { standings.forgetAll() }
        standings.heard(news.keys ?? [], at: asked)
        return news.revocations
    }
}
