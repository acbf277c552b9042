import Foundation

/// A value under a lock. iOS 15 has neither `Mutex` nor `OSAllocatedUnfairLock`.
///
/// Unchecked, because the compiler can't see that the lock protects the value.
final class Locked<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) { self.value = value }

    func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}
