/// Why a registry couldn't do its work. Neither case says anything about the key that was asked for.
package enum KeyRegistryError: Error, Hashable, Sendable {
    /// The store's lock wasn't free within the busy limit: try again later.
    case busy
    /// The store can't be used: a full or read-only disk, a damaged file, another program's file. The text is for an
    /// operator; it names files and causes, and never holds the contents of a record.
    case unavailable(String)
}

extension KeyRegistryError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .busy: "The key store is busy: its lock was not free in time."
        case .unavailable(let detail): "The key store is unavailable: \(detail)"
        }
    }
}
