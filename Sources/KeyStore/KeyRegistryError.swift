/// Why a registry couldn't answer. No case says anything about the requested key.
package enum KeyRegistryError: Error, Hashable, Sendable {
    /// The store, or its lock, wasn't free within the busy limit: try again later.
    case busy
    /// Too many calls are already waiting for the store: try again later.
    case queueFull
    /// The store can't be used: a full or read-only disk, a damaged file, another program's file. The text is for the operator; it names
    /// files and causes, and never contains record data.
    case unavailable(String)
}

extension KeyRegistryError {
    /// Without a subject, for texts that name one.
    package var cause: String {
        if case .unavailable(let detail) = self { detail } else { "it is busy" }
    }
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
