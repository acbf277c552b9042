import GRDB
import KeyStore

extension KeyRegistryError {
    /// Converts an error thrown by GRDB. The text contains SQLite's message, but no SQL, no arguments and no record
    /// data.
    init(_ error: any Error) {
        switch error {
        case let error as KeyRegistryError: self = error
        case let error as DatabaseError: self.init(error)
        default: self = .unavailable("\(type(of: error))")
        }
    }

    private init(_ error: DatabaseError) {
        switch error.resultCode {
        case .SQLITE_BUSY, .SQLITE_LOCKED: self = .busy
        case .SQLITE_FULL: self = .unavailable("the disk is full")
        case .SQLITE_NOTADB: self = .unavailable("the file is not a database")
        case .SQLITE_CORRUPT: self = .unavailable("the database file is damaged")
        default:
            self = .unavailable("\(error.message ?? "no message") (SQLite \(error.extendedResultCode.rawValue))")
        }
    }
}
