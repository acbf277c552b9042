/// Carries a value that belongs to one reactor's thread through code that runs elsewhere.
///
/// - Note: `@unchecked Sendable` because the value can be read only on its reactor's thread; elsewhere that traps. The last copy must be
///   released on that thread too.
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
