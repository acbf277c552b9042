import Dispatch
import FoundationEssentials
import GRDB
import Glibc
package import KeyStore
import Synchronization

/// The result of a checkpoint.
package struct SQLiteCheckpoint: Hashable, Sendable {
    /// Frames (pages) that are only in the WAL, because a reader still needs older ones. The next checkpoint moves
    /// them.
    package let remainingFrames: Int
    /// Size of the WAL afterwards, in bytes.
    package let walBytes: Int
    /// The WAL was truncated to zero bytes.
    package let truncated: Bool
}

extension SQLiteKeyDatabase {
    /// Moves the content of the WAL into the database file. Waits for the disk: never call it on a reactor, or on a
    /// thread that work with a deadline waits for.
    ///
    /// The server calls it every few seconds. Without these calls the WAL grows by one page per admitted assertion. A
    /// PASSIVE checkpoint does the work and takes no lock that a reader or writer needs. Only a WAL larger than
    /// `Limits.walTruncationBytes`, or `walIdleBytes` if nobody writes, is then truncated, in steps; each holds the
    /// write lock briefly, with almost nothing left to write.
    ///
    /// The first write after a complete checkpoint restarts the WAL, and SQLite makes that write wait for the disk. So
    /// it is done here, unless the WAL was truncated. A reactor waits only if it commits at exactly that moment. A WAL
    /// larger than `walIdleBytes` has writers who leave no such moment: it is restarted under the lock.
    ///
    /// - throws: `.busy` if another process is checkpointing, which does the same work.
    @discardableResult
    package func checkpoint() throws(KeyRegistryError) -> SQLiteCheckpoint {
        let moved = try checkpoints.use { database -> (version: Int64?, remaining: Int)? in
            // Read before the checkpoint, so that the next one handles what is written in between.
            let version = try Int64.fetchOne(database, sql: "PRAGMA data_version")
            guard version == nil || version != begunAnew.withLock({ $0 }) else { return nil }
            let frames = try database.checkpoint(.passive)
            return (version, max(0, frames.walFrameCount - frames.checkpointedFrameCount))
        }
        let most = moved == nil ? min(limits.walIdleBytes, limits.walTruncationBytes) : limits.walTruncationBytes
        if moved?.remaining ?? 0 == 0, walBytes > most {
            let truncated = try truncate()
            return SQLiteCheckpoint(remainingFrames: 0, walBytes: walBytes, truncated: truncated)
        }
        if let moved, moved.remaining == 0, walBytes > 0, try restart() { begunAnew.withLock { $0 = moved.version } }
        return SQLiteCheckpoint(remainingFrames: moved?.remaining ?? 0, walBytes: walBytes, truncated: false)
    }

    /// The next commits overwrite the WAL. False if others prevented it; a later checkpoint tries again.
    private func restart() throws(KeyRegistryError) -> Bool {
        guard walBytes > limits.walIdleBytes else { return try beginAnew() }
        do {
            try prepareToLock()
            try checkpoints.use { _ = try $0.checkpoint(.restart) }
        } catch .busy {
            return false
        }
        return try beginAnew()
    }

    /// Current size of the WAL, in bytes; 0 if there is none.
    package var walBytes: Int {
        var status = stat()
        return stat(path + "-wal", &status) == 0 ? Int(status.st_size) : 0
    }

    /// Rewrites one page with its existing content. False if another writer held the lock; its write has restarted the
    /// WAL instead.
    private func beginAnew() throws(KeyRegistryError) -> Bool {
        do {
            try checkpoints.use { try $0.execute(sql: Self.rewriting) }
            return true
        } catch .busy {
            return false
        }
    }

    private static let rewriting = "PRAGMA application_id = \(SQLiteSchema.applicationID)"
    /// Of one truncation.
    private static let maximumSteps = 64

    /// The system takes tens of milliseconds to free a long file, and the write lock is held meanwhile: so only a short
    /// one is freed at once.
    ///
    /// - parameter end: no step begins after it.
    /// - returns: false if a reader or writer prevented it; a later checkpoint tries again.
    func truncate(until end: DispatchTime = .distantFuture) throws(KeyRegistryError) -> Bool {
        do {
            for _ in 0..<Self.maximumSteps where walBytes > limits.walStepBytes {
                let before = walBytes
                try shorten()
                guard walBytes < before, .now() < end else { return false }
            }
            guard walBytes <= limits.walStepBytes else { return false }
            try prepareToLock()
            try checkpoints.use { _ = try $0.checkpoint(.truncate) }
            return true
        } catch .busy {
            return false
        }
    }

    /// Begins the WAL anew, and cuts `Limits.walStepBytes` off its end. Nothing is cut off if another writer begins it
    /// in between: its connection has no limit.
    func shorten() throws(KeyRegistryError) {
        try prepareToLock()
        let bytes = max(0, walBytes - limits.walStepBytes)
        try checkpoints.use { _ = try $0.checkpoint(.restart) }
        try checkpoints.use { database in
            // SQLite heeds it in the commit that begins a WAL.
            try database.execute(sql: "PRAGMA journal_size_limit = \(bytes)")
            defer { try? database.execute(sql: "PRAGMA journal_size_limit = -1") }
            try database.execute(sql: Self.rewriting)
        }
    }

    /// Steps that followed at once on each other would be one for counters, also for those of another process, which
    /// aren't known here. Then moves most of what is left without the lock.
    private func prepareToLock() throws(KeyRegistryError) {
        usleep(1_000)
        letCountersGoFirst()
        try checkpoints.use { _ = try $0.checkpoint(.passive) }
    }
}
