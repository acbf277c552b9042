import Glibc
import Synchronization

/// Writes whose commits haven't waited for the disk.
///
/// A durable commit waits for all of the WAL while it holds SQLite's lock, and counters wait for that lock: many
/// megabytes take longer than they have. So the WAL is flushed before, without the lock, and little is left.
final class UnsyncedWrites: Sendable {
    /// About a megabyte, at one page each. The disk takes longer for a flush than for so little.
    static let maximum = 256
    /// Before one commit. Writes go on meanwhile, and a slow disk never catches up with them.
    static let maximumFlushes = 3
    /// After a flush that took as long, the rest is left to the commit: calls with a deadline wait for it.
    private static let longFlush: Duration = .milliseconds(200)

    /// Of the WAL.
    private let path: String
    /// Another process may have left some, so the first commit flushes.
    private let writes = Atomic<Int>(maximum + 1)
    /// A commit that meets the flush of another thread waits for it: both need the same bytes on the disk.
    private let flushing = Mutex<Void>(())

    init(inWAL path: String) { self.path = path }

    /// Since the last flush; at least those of this process that the disk doesn't have.
    var count: Int { writes.load(ordering: .relaxed) }

    func add(_ count: Int = 1) { writes.add(count, ordering: .relaxed) }

    /// Blocks; never on a reactor.
    ///
    /// - Returns: how many flushes it took.
    @discardableResult
    func flush() -> Int {
        flushing.withLock { _ in
            var flushes = 0
            while count > Self.maximum, flushes < Self.maximumFlushes {
                flushes += 1
                guard flushOnce() else { break }
            }
            return flushes
        }
    }

    /// - Returns: whether another flush may help.
    private func flushOnce() -> Bool {
        let (begun, taken) = (ContinuousClock.now, writes.exchange(0, ordering: .relaxed))
        guard synchronize() else {
            add(taken)
            return false
        }
        return begun.duration(to: .now) < Self.longFlush
    }

    /// SQLite's locks are on other files, so closing this one releases none. A fault of the disk is met again by the
    /// commit, which reports it.
    private func synchronize() -> Bool {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        // A WAL that isn't there has nothing to lose.
        guard file >= 0 else { return errno == ENOENT }
        defer { close(file) }
        return fdatasync(file) == 0
    }
}
