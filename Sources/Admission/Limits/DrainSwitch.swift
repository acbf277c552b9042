import Synchronization

/// Set once, by the shutdown, and read by every reactor.
package final class DrainSwitch: Sendable {
    private let draining = Atomic(false)

    package init() {}

    package func beginDraining() { draining.store(true, ordering: .releasing) }

    package var isDraining: Bool { draining.load(ordering: .acquiring) }
}
