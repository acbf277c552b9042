package import KeyStore
import Synchronization
import WireText

/// The development tokens of a store that several gateways share, as this gateway knows them: all, because there are
/// few. The feed of the store's changes has them read again, so that the standing of a grant is found without asking
/// the store.
package final class KnownGrants: DevelopmentTokenStore, ImmediateDevelopmentTokenRegistry {
    private struct State {
        var tokens: [ByteText: DevelopmentToken] = [:]
        /// Readings begun, and the one that `tokens` is of: a late answer doesn't replace a later one.
        var begun = 0
        var current = 0
    }

    private let store: any DevelopmentTokenStore
    private let isCurrent: @Sendable () -> Bool
    private let state = Mutex(State())

    /// - Parameter isCurrent: whether the feed has been heard lately enough.
    package init(_ store: any DevelopmentTokenStore, isCurrent: @escaping @Sendable () -> Bool) {
        self.store = store
        self.isCurrent = isCurrent
    }

    /// After a change, and at the start.
    package func load() async throws(KeyRegistryError) {
        let number = state.withLock { state in
            state.begun += 1
            return state.begun
        }
        let tokens = try await store.developmentTokens()
        state.withLock { state in
            guard number > state.current else { return }
            state.current = number
            state.tokens = Dictionary(tokens.map { (ByteText($0.id.text), $0) }) { first, _ in first }
        }
    }

    package func status(ofGrant id: String, at time: Int64) throws(KeyRegistryError) -> GrantStatus {
        guard isCurrent() else {
            throw .unavailable("this gateway doesn't know yet whether the development token is still good")
        }
        return state.withLock { $0.tokens[ByteText(id)]?.status(at: time) } ?? .refused(.unknown)
    }

    /// A token that another gateway has just issued is known here when this returns.
    package func redeem(
        _ hash: DevelopmentTokenHash, by device: [UInt8], at time: Int64
    ) async throws(KeyRegistryError) -> GrantStatus {
        let standing = try await store.redeem(hash, by: device, at: time)
        if case .granted(let grant) = standing, state.withLock({ $0.tokens[ByteText(grant.id)] == nil }) {
            try await load()
        }
        return standing
    }

    // MARK: The store's own

    package func status(
        ofGrant id: String, at time: Int64
    ) async throws(KeyRegistryError) -> GrantStatus { try await store.status(ofGrant: id, at: time) }

    package func issue(_ token: DevelopmentToken) async throws(KeyRegistryError) -> DevelopmentTokenIssue {
        try await store.issue(token)
    }

    package func developmentTokens() async throws(KeyRegistryError) -> [DevelopmentToken] {
        try await store.developmentTokens()
    }

    package func revoke(_ id: DevelopmentTokenID, at time: Int64) async throws(KeyRegistryError) -> Bool {
        try await store.revoke(id, at: time)
    }
}
