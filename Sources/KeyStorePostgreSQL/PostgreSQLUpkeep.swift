package import KeyStore
import PostgreSQL

/// Which gateway of a fleet does its housekeeping.
extension PostgreSQLKeyRegistry {
    /// Whether this gateway is to do it now. Of all gateways that ask, one is told so in each pause.
    ///
    /// - Parameter milliseconds: since the last one was told so, at least.
    package func beginUpkeep(pause milliseconds: Int) async throws(KeyRegistryError) -> Bool {
        try await answer(.beginUpkeep, [.integer(Int64(milliseconds))]) { rows throws(DatabaseError) in
            try rows.only().boolean(0)
        }
    }
}

extension SQLStatement {
    fileprivate static let beginUpkeep = SQLStatement("begin_upkeep", "SELECT portcullis.begin_upkeep($1::int8)")
}
