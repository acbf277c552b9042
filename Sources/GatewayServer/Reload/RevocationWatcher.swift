import KeyStore
import KeyStoreSQLite
import Logging
import Observability

/// Looks for keys that were revoked, by whichever process, so that their sessions feel it. Off the reactors.
struct RevocationWatcher {
    let revocations: SQLiteRevocations
    let logger: Logger
    /// Gets keys that were not revoked at the last look.
    let revoked: @Sendable (Set<KeyID>) -> Void

    static let interval: Duration = .milliseconds(500)

    /// Until it is cancelled.
    ///
    /// The first look finds all that were ever revoked: who came in before it is closed as well.
    func run() async {
        var known: Set<KeyID> = []
        while !Task.isCancelled {
            look(&known)
            try? await Task.sleep(for: Self.interval)
        }
    }

    /// A store that can't be read now is read next time: nothing is lost, since sets are compared.
    func look(_ known: inout Set<KeyID>) {
        do throws(KeyRegistryError) {
            guard let keys = try revocations.ifChanged() else { return }
            let new = keys.subtracting(known)
            known = keys
            if !new.isEmpty { revoked(new) }
        } catch {
            logger.warning("revocations can't be looked up", metadata: [LogKeys.error: "\(error)"])
        }
    }
}
