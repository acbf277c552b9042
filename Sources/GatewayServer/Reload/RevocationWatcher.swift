import KeyStore
import KeyStoreSQLite
import Logging
import Observability
import Synchronization

/// Looks for keys that were revoked, by whichever process, so that their sessions feel it. Off the reactors.
final class RevocationWatcher: Sendable {
    static let interval: Duration = .milliseconds(500)

    private let revocations: SQLiteRevocations
    private let logger: Logger
    private let revoked: @Sendable (Set<KeyID>) -> Void
    /// {known} At the last look.
    private let known = Mutex<Set<KeyID>>([])

    /// - Parameter revoked: gets all keys that are revoked, whenever something was written: a key may have been restored and revoked
    ///   again since the last look.
    init(_ revocations: SQLiteRevocations, logger: Logger, revoked: @escaping @Sendable (Set<KeyID>) -> Void) {
        self.revocations = revocations
        self.logger = logger
        self.revoked = revoked
    }

    /// Until it is cancelled.
    func run() async {
        while !Task.isCancelled {
            look()
            try? await Task.sleep(for: Self.interval)
        }
    }

    /// A store that can't be read now is read next time, and nothing is lost.
    func look() {
        do throws(KeyRegistryError) {
            guard let keys = try revocations.ifChanged() else { return }
            known.withLock { $0 = keys }
            if !keys.isEmpty { revoked(keys) }
        } catch {
            logger.warning("revocations can't be looked up", metadata: [LogKeys.error: "\(error)"])
        }
    }

    /// Whether the last look found the key revoked.
    func hasNoticed(_ key: KeyID) -> Bool {
        known.withLock { $0.contains(key) }
    }
}
