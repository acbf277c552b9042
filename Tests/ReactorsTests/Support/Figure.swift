import Synchronization

/// A limit that a test changes, as a reload does.
final class Figure: Sendable {
    private let value: Mutex<Int>

    init(_ value: Int) { self.value = Mutex(value) }

    var now: Int { value.withLock { $0 } }

    func replace(with new: Int) { value.withLock { $0 = new } }
}
