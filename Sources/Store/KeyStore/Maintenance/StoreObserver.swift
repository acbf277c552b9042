/// Is told how long the store's calls take, and which of them fail. It is called on the thread of the call or of its
/// answer, and must not wait.
package struct StoreObserver: Sendable {
    /// What the calls are for.
    package enum Operation: Sendable, Hashable, CaseIterable {
        /// A decision about a request: the standing of a key, the step of its counter, and what is used once.
        case gate
        case read
        case administer
        case checkpoint
    }

    /// In nanoseconds, from any moment.
    private let now: @Sendable () -> UInt64
    private let ended: @Sendable (Operation, _ nanoseconds: UInt64, KeyRegistryError?) -> Void

    /// - Parameters:
    ///   - now: a monotonic clock, in nanoseconds.
    ///   - ended: is told of each call, with the waits for a connection, and for a lock or the network; the error is
    ///     nil after a success.
    package init(
        now: @escaping @Sendable () -> UInt64,
        ended: @escaping @Sendable (Operation, _ nanoseconds: UInt64, KeyRegistryError?) -> Void
    ) {
        self.now = now
        self.ended = ended
    }

    package func watching(_ operation: Operation) -> StoreWatch {
        StoreWatch(now: now) { [ended] nanoseconds, error in ended(operation, nanoseconds, error) }
    }
}

/// Times calls of one kind.
package struct StoreWatch: Sendable {
    fileprivate let now: @Sendable () -> UInt64
    fileprivate let ended: @Sendable (_ nanoseconds: UInt64, KeyRegistryError?) -> Void

    package func time<Result>(_ call: () throws(KeyRegistryError) -> Result) throws(KeyRegistryError) -> Result {
        let start = now()
        do throws(KeyRegistryError) {
            let result = try call()
            ended(now() - start, nil)
            return result
        } catch {
            ended(now() - start, error)
            throw error
        }
    }

    /// For a call whose answer comes later: what is returned is called once, with that answer.
    package func timing<Value>(
        _ then: @escaping @Sendable (Result<Value, KeyRegistryError>) -> Void
    ) -> @Sendable (Result<Value, KeyRegistryError>) -> Void {
        let start = now()
        return { [now, ended] result in
            switch result {
            case .success: ended(now() - start, nil)
            case .failure(let error): ended(now() - start, error)
            }
            then(result)
        }
    }
}
