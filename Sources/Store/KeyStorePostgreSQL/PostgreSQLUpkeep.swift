package import KeyStore
import PostgreSQL

/// The store of a fleet, with what decides which gateway does its housekeeping.
extension PostgreSQLKeyRegistry: FleetStorage {
    package func makeFeed() -> any StoreFeed { PostgreSQLRevocations(of: self) }

    /// The driver's breaker is open.
    package var isPaused: Bool { figures.isOpen }
    package var waitingCalls: Int { figures.statements }

    package func beginUpkeep(pause milliseconds: Int) async throws(KeyRegistryError) -> Bool {
        try await answer(.beginUpkeep, [.integer(Int64(milliseconds))]) { rows throws(DatabaseError) in
            try rows.only().boolean(0)
        }
    }
}

extension SQLStatement {
    fileprivate static let beginUpkeep = SQLStatement("begin_upkeep", "SELECT portcullis.begin_upkeep($1::int8)")
}
