/// Why a registry couldn't answer. No case says anything about the requested key.
package enum KeyRegistryError: Error, Hashable, Sendable {
    /// The store, or its lock, wasn't free within the busy limit: try again later.
    case busy
    /// Another session of a shared database holds a lock, and hasn't freed it in time: an operator's transaction, for
    /// instance. Try again later.
    case locked
    /// Too many calls are already waiting for the store: try again later.
    case queueFull
    /// The store can't be used: a full or read-only disk, a damaged file, another program's file. The text is for the
    /// operator; it names files and causes, and never contains record data.
    case unavailable(String)
}

extension KeyRegistryError {
    /// Without a subject, for texts that name one.
    package var cause: String {
        switch self {
        case .unavailable(let detail): detail
        case .locked: Self.lockedDetail
        case .busy, .queueFull: "it is busy"
        }
    }
}

extension KeyRegistryError: CustomStringConvertible {
    private static let lockedDetail =
        "it is busy: another session of the database holds a lock, and hasn't freed it in time; pg_locks names it"

    package var description: String {
        switch self {
        case .busy: "The key store is busy: it was not free in time."
        case .locked: "The key store can't be used now: \(Self.lockedDetail)."
        case .queueFull: "The key store is busy: too many calls wait for it."
        case .unavailable(let detail): "The key store is unavailable: \(detail)"
        }
    }
}
