/// The window that is in force in a store, and since when. Stores follow this rule in their own language.
///
/// What a store remembers of the counters below a key's highest is good only in the epoch in which it was written; in
/// another one all of them count as used. So a window that is switched on or widened opens nothing that lies before,
/// also below counters that haven't risen since. A narrower window begins no epoch: what its gateways use is closed at
/// each rise, and others may still have the wider one.
///
/// A reload knows what it widens, and a start only what is recorded. In a fleet the last gateway that started, or
/// changed its window, has recorded its own. When it goes, those that are left record a narrower one: nobody has had
/// the wider one since. Where windows differ for long, epochs begin more often than needed, which refuses counters and
/// admits none.
package struct WindowInForce: Hashable, Sendable {
    package private(set) var size = CounterWindow.strict.size
    package private(set) var epoch: Int64 = 0

    package init() {}

    /// - Parameter former: the gateway's until now; nil: it starts.
    package mutating func put(_ window: CounterWindow, after former: CounterWindow? = nil) {
        if window.size > min(size, former?.size ?? size) { epoch += 1 }
        size = window.size
    }

    package mutating func narrow(to window: CounterWindow) { size = min(size, window.size) }
}

/// Where it is recorded which window is in force.
package protocol CounterWindowStore: Sendable {
    /// Before a gateway uses this window for the first time, at its start and at a reload that changes it; durable when
    /// it returns. Blocks.
    ///
    /// - Parameter former: the gateway's until now; nil: it starts.
    func putInForce(_ window: CounterWindow, after former: CounterWindow?) throws(KeyRegistryError)
}

/// The same in a store that several gateways have in common.
package protocol SharedCounterWindowStore: CounterWindowStore {
    /// By each gateway that is left when another one has gone, with its own window; durable when it returns. Blocks.
    func narrow(to window: CounterWindow) throws(KeyRegistryError)
}
