import Dispatch
package import KeyStore

/// Is told how long the store's calls take, and which of them fail. It is called on the thread of the call and must not wait.
package struct StoreObserver: Sendable {
    /// The sets of connections, which are used for different things.
    package enum Operation: Sendable, Hashable, CaseIterable {
        /// A decision on a reactor: the standing of a key and the step of its counter.
        case gate
        case read
        case administer
        case checkpoint
    }

    private let ended: @Sendable (Operation, _ nanoseconds: UInt64, KeyRegistryError?) -> Void

    /// - Parameter ended: is told of each call, with the waits for a connection and for SQLite's lock; the error is nil after a success.
    package init(_ ended: @escaping @Sendable (Operation, _ nanoseconds: UInt64, KeyRegistryError?) -> Void) {
        self.ended = ended
    }

    func watching(_ operation: Operation) -> StoreWatch {
        StoreWatch { [ended] nanoseconds, error in ended(operation, nanoseconds, error) }
    }
}

/// Times the calls of one set of connections.
struct StoreWatch: Sendable {
    fileprivate let ended: @Sendable (_ nanoseconds: UInt64, KeyRegistryError?) -> Void

    func time<Result>(_ call: () throws(KeyRegistryError) -> Result) throws(KeyRegistryError) -> Result {
        let start = DispatchTime.now().uptimeNanoseconds
        do throws(KeyRegistryError) {
            let result = try call()
            ended(DispatchTime.now().uptimeNanoseconds - start, nil)
            return result
        } catch {
            ended(DispatchTime.now().uptimeNanoseconds - start, error)
            throw error
        }
    }
}
