/// The window that is in force in a store, and since when. Stores follow this rule in their own language.
///
/// What a store remembers of the counters below a key's highest is good only in the epoch in which it was written; in
/// another one all of them count as used. So a window that is switched on or widened opens nothing that lies before,
/// also below counters that haven't risen since. A narrower window begins no epoch: what its gateways use is closed at
/// each rise, and others may still have the wider one.
///
/// In a fleet the last gateway that started, or changed its window, decides about the size. Where their windows differ
/// for long, epochs begin more often than needed, which refuses counters and admits none.
package struct WindowInForce: Hashable, Sendable {
    package private(set) var size = CounterWindow.strict.size
    package private(set) var epoch: Int64 = 0

    package init() {}

    package mutating func put(_ window: CounterWindow) {
        if window.size > size { epoch += 1 }
        size = window.size
    }
}

/// Where it is recorded which window is in force.
package protocol CounterWindowStore: Sendable {
    /// Before a gateway uses this window for the first time, at its start and at a reload that changes it; durable when
    /// it returns. Blocks.
    func putInForce(_ window: CounterWindow) throws(KeyRegistryError)
}
