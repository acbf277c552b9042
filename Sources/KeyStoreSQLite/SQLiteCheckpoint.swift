import FoundationEssentials
import GRDB
import Glibc
package import KeyStore

/// What a checkpoint did.
package struct SQLiteCheckpoint: Hashable, Sendable {
    /// Frames (pages) that stand in the WAL alone, because a reader still needs the older ones. The next checkpoint takes them.
    package let remainingFrames: Int
    /// Size of the WAL afterwards, in bytes.
    package let walBytes: Int
    /// The WAL was cut back to nothing.
    package let truncated: Bool
}

extension SQLiteKeyRegistry {
    /// Moves what the WAL has gathered into the database file. Waits for the disk: never call it on a reactor.
    ///
    /// The server calls it on a background thread every few seconds. Where it is never called the WAL grows by one page per
    /// admitted assertion. The work is done by a PASSIVE checkpoint, which takes no lock that a reader or writer could need;
    /// only a WAL over `Limits.walTruncationBytes` is then truncated, which holds the write lock for a moment, with next to nothing
    /// left to write.
    ///
    /// - throws: `.busy` when another process checkpoints just now, which does the work as well.
    @discardableResult
    package func checkpoint() throws(KeyRegistryError) -> SQLiteCheckpoint {
        let remaining = try checkpoints.use { database in
            let frames = try database.checkpoint(.passive)
            return max(0, frames.walFrameCount - frames.checkpointedFrameCount)
        }
        guard remaining == 0, walBytes > limits.walTruncationBytes else {
            return SQLiteCheckpoint(remainingFrames: remaining, walBytes: walBytes, truncated: false)
        }
        let truncated = try truncate()
        return SQLiteCheckpoint(remainingFrames: 0, walBytes: walBytes, truncated: truncated)
    }

    /// Size of the WAL now, in bytes; 0 where there is none.
    package var walBytes: Int {
        var status = stat()
        return stat(path + "-wal", &status) == 0 ? Int(status.st_size) : 0
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
