#if canImport(Darwin)
    import Foundation

    /// A value that one thread at a time can reach. The standard library's `Mutex` needs iOS 18 and macOS 15.
    ///
    /// - Note: `@unchecked Sendable` because the value is used inside the lock alone.
    final class Locked<Value>: @unchecked Sendable {
        private let lock = NSLock()
        private var value: Value

        init(_ value: Value) {
            self.value = value
        }

        func withLock<Result, Failure: Error>(
            _ body: (inout Value) throws(Failure) -> Result
        ) throws(Failure) -> Result {
            lock.lock()
            defer { lock.unlock() }
            return try body(&value)
        }
    }
#else
    import Synchronization

    /// A value that one thread at a time can reach.
    typealias Locked = Mutex
#endif
