import Synchronization
import WireText

/// A block list that all gateways of a fleet have in common, in addition to their own. It is replaced whenever the
/// store's has changed; all gates refer to the same one, so that a change is in effect at once, also for decisions that
/// wait for the store.
package final class SharedBlockList: Sendable {
    private struct State {
        var list = BlockList()
        var isNew = false
    }

    private let state = Mutex(State())

    /// Blocks no client.
    package init() {}

    package var current: BlockList { state.withLock { $0.list } }

    /// One caller at a time, on any thread. Lists are compared outside the lock, for which reactors wait.
    package func replace(_ list: BlockList) {
        guard current != list else { return }
        state.withLock { $0 = State(list: list, isNew: true) }
    }

    /// The list, if it has changed since the last call: sessions of clients on it have to be closed.
    package func takeNew() -> BlockList? {
        state.withLock { state in
            defer { state.isNew = false }
            return state.isNew ? state.list : nil
        }
    }
}

/// A gateway's own block list, and its fleet's.
struct BlockLists: Sendable {
    let own: BlockList
    /// Nil: alone.
    let fleet: SharedBlockList?

    func contains(_ address: IPAddress) -> Bool {
        own.contains(address) || fleet?.current.contains(address) == true
    }

    func contains(_ identity: Identity) -> Bool {
        own.contains(identity) || fleet?.current.contains(identity) == true
    }
}
