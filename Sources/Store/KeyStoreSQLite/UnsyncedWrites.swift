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

    /// Of the WAL.
    private let path: String
    private let writes = Atomic<Int>(0)

    init(inWAL path: String) { self.path = path }

    /// Since the last flush; at least those that the disk doesn't have.
    var count: Int { writes.load(ordering: .relaxed) }

    func add(_ count: Int = 1) { writes.add(count, ordering: .relaxed) }

    /// - Returns: how many flushes it took.
    @discardableResult
    func flush() -> Int {
        var flushes = 0
        while count > Self.maximum, flushes < Self.maximumFlushes {
            writes.store(0, ordering: .relaxed)
            synchronize()
            flushes += 1
        }
        return flushes
    }

    /// SQLite's locks are on other files, so closing this one releases none. A fault of the disk is met again by the
    /// commit, which reports it.
    private func synchronize() {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        defer { close(file) }
        fdatasync(file)
    }
}
