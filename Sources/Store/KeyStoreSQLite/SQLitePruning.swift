package import Dispatch
import GRDB
package import KeyStore

extension SQLiteKeyDatabase {
    /// How long a transaction of a pruning deletes keys, in milliseconds: a fraction of what a counter waits for the
    /// lock at most. The commit and its fsync are added, as with a registration.
    static let pruningMilliseconds = 10
    /// Keys of one transaction, so that what it writes is bounded where the disk is fast.
    package static let maximumPruned = 50

    /// Forgets keys that haven't been used since a time. Whether they are idle is decided in the transaction, so a key
    /// that a gateway has just admitted stays.
    ///
    /// - parameter ids: of them at least one is handled, and at most ``maximumPruned``.
    package func prune(
        _ ids: [KeyID], idleSince time: Int64, until deadline: DispatchTime? = nil
    ) throws(KeyRegistryError) -> PrunedBatch {
        try change(until: deadline) { database in
            let end = DispatchTime.now() + .milliseconds(Self.pruningMilliseconds)
            var (forgotten, handled) = (Set<KeyID>(), 0)
            for id in ids.prefix(Self.maximumPruned) {
                if handled > 0, DispatchTime.now() >= end { break }
                handled += 1
                guard try DeviceKeyTable.fetch(id, from: database)?.isIdle(since: time) == true else { continue }
                try DeviceKeyTable.delete(id, from: database)
                _ = try AccountTable.remove(id, of: nil, in: database)
                forgotten.insert(id)
            }
            return PrunedBatch(forgotten: forgotten, handled: handled)
        }
    }
}

extension SQLiteKeyRegistry {
    package func prune(_ ids: [KeyID], idleSince time: Int64) async throws(KeyRegistryError) -> PrunedBatch {
        try await write { database, deadline throws(KeyRegistryError) in
            try database.prune(ids, idleSince: time, until: deadline)
        }
    }
}
