import KeyStore
import KeyStoreSQLite
import Logging
import Observability
import Synchronization

/// Polls for keys that any process has revoked, so that their sessions are closed. The store answers on its own thread.
final class RevocationWatcher: Sendable {
    static let interval: Duration = .milliseconds(500)

    private let revocations: SQLiteRevocations
    private let logger: Logger
    private let revoked: @Sendable (Set<KeyID>) async -> Void
    private let state = Mutex(State())

    private struct State {
        /// The revoked keys at the last look.
        var known: Set<KeyID> = []
        /// The last look failed and was logged.
        var isFailing = false
    }

    /// - Parameter revoked: receives all revoked keys after every change of the store: a key may have been restored and revoked again since
    ///   the last look.
    init(
        _ revocations: SQLiteRevocations, logger: Logger, revoked: @escaping @Sendable (Set<KeyID>) async -> Void
    ) {
        self.revocations = revocations
        self.logger = logger
        self.revoked = revoked
    }

    /// Runs until it is cancelled.
    func run() async {
        while !Task.isCancelled {
            if let keys = await look(), !keys.isEmpty { await revoked(keys) }
            try? await Task.sleep(for: Self.interval)
        }
    }

    /// If the store can't be read now, the next look reads it; nothing is lost.
    private func look() async -> Set<KeyID>? {
        do throws(KeyRegistryError) {
            let keys = try await revocations.ifChanged()
            state.withLock { state in
                state.known = keys ?? state.known
                state.isFailing = false
            }
            return keys
        } catch {
            let isNews = state.withLock { state in
                defer { state.isFailing = true }
                return !state.isFailing
            }
            if isNews { logger.error("revocations can't be looked up", metadata: [LogKeys.error: "\(error)"]) }
            return nil
        }
    }

    /// Whether the last look found the key revoked.
    func hasNoticed(_ key: KeyID) -> Bool {
        state.withLock { $0.known.contains(key) }
    }
}
