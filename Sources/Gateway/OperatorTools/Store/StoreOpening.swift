import GatewayServer
import Glibc
import KeyStore
import KeyStorePostgreSQL
import KeyStoreSQLite
import PostgreSQL
import Settings

/// Opens the store of the settings for an operator's command. From there on no command needs to know which one it is.
///
/// A command creates no store: only the gateway does, so a command can't work on one that no gateway reads.
extension StoreLocation {
    /// Blocks, at most as long as the database may take to be reached.
    ///
    /// - Parameters:
    ///   - nothing: what to say if there is no file, such as `no keys yet`.
    ///   - unusable: what to say if the file can't be used.
    func open(
        without nothing: String, unusable: (String) -> OperatorError = OperatorError.store
    ) throws(OperatorError) -> any AdministrableStore {
        switch self {
        case .database(let configuration): return try Self.open(configuration)
        case .file(let path):
            guard access(path, F_OK) == 0 || errno != ENOENT else { throw .noStore(nothing, path: path) }
            do throws(KeyRegistryError) {
                return try SQLiteKeyRegistry(path: path, creating: false)
            } catch {
                throw unusable("\(error)")
            }
        }
    }

    /// The first connection only asks: the driver, which has a deadline for everything, can't say why it has no
    /// connection.
    private static func open(
        _ configuration: FleetStoreConfiguration
    ) throws(OperatorError) -> any AdministrableStore {
        guard let sealing = SealedSecrets(keys: configuration.secretKeys) else { throw .secretKeys }
        var options = configuration.sessionOptions
        // Nothing is awaited, and little happens at once.
        (options.channel, options.connections) = (nil, 2)
        let session: PostgreSQLConnection
        do throws(DatabaseError) {
            session = try PostgreSQLConnection(options, within: options.longestMilliseconds)
        } catch {
            throw .database("\(configuration)", "\(error)")
        }
        do throws(PostgreSQLSchemaError) { try PostgreSQLSchema.current.check(session) } catch {
            throw .database("\(configuration)", "\(error)")
        }
        return PostgreSQLKeyRegistry(PostgreSQLDriver(options), sealing: sealing)
    }
}
