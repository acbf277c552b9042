import Glibc
package import KeyStore
import KeyStorePostgreSQL
import KeyStoreSQLite
import PostgreSQL
package import Settings

/// Opens the store of the settings for an operator's command. From there on no command needs to know which one it is.
extension StoreLocation {
    /// Blocks, at most as long as the database may take to be reached.
    ///
    /// - Parameter creating: whether a missing file is created. The tables of a database never are.
    package func open(creating: Bool = false) throws(StoreOpeningError) -> any AdministrableStore {
        switch self {
        case .file(let path): try Self.open(path, creating: creating)
        case .database(let configuration): try Self.open(configuration)
        }
    }

    private static func open(_ path: String, creating: Bool) throws(StoreOpeningError) -> any AdministrableStore {
        guard creating || access(path, F_OK) == 0 || errno != ENOENT else { throw .missing(path: path) }
        do throws(KeyRegistryError) {
            return try SQLiteKeyRegistry(path: path, creating: creating)
        } catch {
            throw .file(error)
        }
    }

    /// The first connection only asks: the driver, which has a deadline for everything, can't say why it has no connection.
    private static func open(
        _ configuration: FleetStoreConfiguration
    ) throws(StoreOpeningError) -> any AdministrableStore {
        guard let sealing = SealedSecrets(keys: configuration.secretKeys) else { throw .database(.secretKeys) }
        var options = configuration.sessionOptions
        // Nothing is awaited, and little happens at once.
        (options.channel, options.connections) = (nil, 2)
        let session: PostgreSQLSession
        do throws(DatabaseError) {
            session = try PostgreSQLSession(options, within: options.longestMilliseconds)
        } catch {
            throw .database(.database("\(configuration)", "\(error)"))
        }
        do throws(PostgreSQLSchemaError) { try PostgreSQLSchema.current.check(session) } catch {
            throw .database(.database("\(configuration)", "\(error)"))
        }
        return PostgreSQLKeyRegistry(PostgreSQLDriver(options), sealing: sealing)
    }
}

package enum StoreOpeningError: Error {
    /// The gateway hasn't run yet, or the path is wrong.
    case missing(path: String)
    case file(KeyRegistryError)
    case database(FleetStoreError)
}
