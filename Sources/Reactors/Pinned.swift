/// A value that belongs to one reactor's thread, on its way through code that runs elsewhere.
///
/// - Note: `@unchecked Sendable` because the value can be taken out on its reactor's thread alone: elsewhere it traps. Let the
///   last copy go there too.
package struct Pinned<Value>: @unchecked Sendable {
    private let pinned: Value
    package let reactor: Reactor

    package init(_ value: Value, to reactor: Reactor) {
        pinned = value
        self.reactor = reactor
    }

    package var value: Value {
        reactor.preconditionOnThread()
        return pinned
    }
}

extension Pinned where Value: AnyObject {
    /// Whether both are the same object; from any thread.
    package func isSame(as other: Pinned) -> Bool { pinned === other.pinned }
}
