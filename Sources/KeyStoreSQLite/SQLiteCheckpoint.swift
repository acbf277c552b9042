import FoundationEssentials
import GRDB
import Glibc
package import KeyStore
import Synchronization

/// What a checkpoint did.
package struct SQLiteCheckpoint: Hashable, Sendable {
    /// Frames (pages) that stand in the WAL alone, because a reader still needs the older ones. The next checkpoint takes them.
    package let remainingFrames: Int
    /// Size of the WAL afterwards, in bytes.
    package let walBytes: Int
    /// The WAL was cut back to nothing.
    package let truncated: Bool
}

extension SQLiteKeyDatabase {
    /// Moves what the WAL has gathered into the database file. Waits for the disk: never call it on a reactor, nor on a thread
    /// that something with a deadline waits for.
    ///
    /// The server calls it every few seconds. Where it is never called the WAL grows by one page per
    /// admitted assertion. The work is done by a PASSIVE checkpoint, which takes no lock that a reader or writer could need;
    /// only a WAL over `Limits.walTruncationBytes` is then truncated, which holds the write lock for a moment, with next to nothing
    /// left to write.
    ///
    /// The first write behind a complete checkpoint begins the WAL anew, and SQLite has that one wait for the disk. So it is done
    /// here, unless the WAL was truncated: a reactor waits only if it commits in just that moment.
    ///
    /// - throws: `.busy` when another process checkpoints just now, which does the work as well.
    @discardableResult
    package func checkpoint() throws(KeyRegistryError) -> SQLiteCheckpoint {
        let moved = try checkpoints.use { database -> (version: Int64?, remaining: Int)? in
            // Before the checkpoint: what is written in between is taken by the next one.
            let version = try Int64.fetchOne(database, sql: "PRAGMA data_version")
            guard version == nil || version != begunAnew.withLock({ $0 }) else { return nil }
            let frames = try database.checkpoint(.passive)
            return (version, max(0, frames.walFrameCount - frames.checkpointedFrameCount))
        }
        guard let moved else { return SQLiteCheckpoint(remainingFrames: 0, walBytes: walBytes, truncated: false) }
        guard moved.remaining == 0, walBytes > limits.walTruncationBytes else {
            if moved.remaining == 0, walBytes > 0, try beginAnew() { begunAnew.withLock { $0 = moved.version } }
            return SQLiteCheckpoint(remainingFrames: moved.remaining, walBytes: walBytes, truncated: false)
        }
        let truncated = try truncate()
        return SQLiteCheckpoint(remainingFrames: 0, walBytes: walBytes, truncated: truncated)
    }

    /// Size of the WAL now, in bytes; 0 where there is none.
    package var walBytes: Int {
        var status = stat()
        return stat(path + "-wal", &status) == 0 ? Int(status.st_size) : 0
    }

    /// Writes what stands there already: one page. False when a writer was in the way, which then has begun the WAL.
    private func beginAnew() throws(KeyRegistryError) -> Bool {
        do {
            try checkpoints.use { try $0.execute(sql: "PRAGMA application_id = \(SQLiteSchema.applicationID)") }
            return true
        } catch .busy {
            return false
        }
    }

    /// False when a reader or a writer was in the way: there is always a next time.
    private func truncate() throws(KeyRegistryError) -> Bool {
        do {
            try checkpoints.use { _ = try $0.checkpoint(.truncate) }
            return true
        } catch .busy {
            return false
        }
    }
}
