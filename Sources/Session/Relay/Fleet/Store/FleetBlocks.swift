package import Admission
import KeyStore
import Logging
import Observability
import Synchronization

/// The fleet's block list as this gateway has it.
///
/// Entries are checked before they are stored. One that this gateway can't read, because a newer program has stored it,
/// is left out and reported: the others have effect.
package final class FleetBlocks: Sendable {
    package let list = SharedBlockList()
    private let registry: any SharedBlockEntries
    private let kinds: [BlockListKind]
    private let logger: Logger
    private let unreadable = Mutex(0)

    /// Reads the list; blocks.
    ///
    /// - Parameter kinds: of entries that this gateway can read.
    init(
        _ registry: any SharedBlockEntries, kinds: [BlockListKind], logger: Logger
    ) throws(KeyRegistryError) {
        (self.registry, self.kinds) = (registry, kinds)
        self.logger = logger
        replace(try registry.blockedEntriesBlocking())
    }

    /// After a change.
    func load() async throws(KeyRegistryError) { replace(try await registry.blockedEntries()) }

    private func replace(_ entries: [String]) {
        let (found, leftOut) = BlockList.reading(entries, kinds: kinds)
        list.replace(found)
        let isNews = unreadable.withLock { before in
            defer { before = leftOut }
            return leftOut != before
        }
        if isNews, leftOut > 0 {
            logger.error(
                "entries of the fleet's block list can't be read", metadata: [LogKeys.count: "\(leftOut)"])
        }
    }
}
