import Synchronization

/// The one pointer to a value that a reload replaces as a whole. Who uses the value reads it there, so that nobody has
/// to be told.
///
/// Limits take their figures as closures, which read one of these at each event; a figure that never changes is written
/// as it is.
package final class Current<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    package init(_ value: Value) { self.value = Mutex(value) }

    package var now: Value { value.withLock { $0 } }

    package func replace(with new: Value) { value.withLock { $0 = new } }
}
