/// Why a registry couldn't do its work. Neither case says anything about the key that was asked for.
package enum KeyRegistryError: Error, Hashable, Sendable {
    /// The store, or its lock, wasn't free within the busy limit: try again later.
    case busy
    /// Too many calls wait for the store already: try again later.
    case queueFull
    /// The store can't be used: a full or read-only disk, a damaged file, another program's file. The text is for an
    /// operator; it names files and causes, and never holds the contents of a record.
    case unavailable(String)
}

extension KeyRegistryError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .busy: "The key store is busy: it was not free in time."
        case .queueFull: "The key store is busy: too many calls wait for it."
        case .unavailable(let detail): "The key store is unavailable: \(detail)"
        }
    }
}
