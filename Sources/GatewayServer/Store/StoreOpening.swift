import Glibc
package import KeyStore
import KeyStorePostgreSQL
import KeyStoreSQLite
import PostgreSQL
package import Settings

/// Opens the store of the settings for an operator's command. From there on no command needs to know which one it is.
///
/// A command creates no store: only the gateway does, so a command can't work on one that no gateway reads.
extension StoreLocation {
    /// Blocks, at most as long as the database may take to be reached.
    package func open() throws(StoreOpeningError) -> any AdministrableStore {
        switch self {
        case .file(let path): try Self.open(path)
        case .database(let configuration): try Self.open(configuration)
        }
    }

    private static func open(_ path: String) throws(StoreOpeningError) -> any AdministrableStore {
        guard access(path, F_OK) == 0 || errno != ENOENT else { throw .missing(path: path) }
        do throws(KeyRegistryError) {
            return try SQLiteKeyRegistry(path: path, creating: false)
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

    /// For a missing file.
    static let hint =
        "the gateway makes it when it starts. --env-file names the gateway's settings, --store the file itself."
}
