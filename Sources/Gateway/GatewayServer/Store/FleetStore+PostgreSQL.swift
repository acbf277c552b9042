import BlockingWork
import KeyStore
import KeyStorePostgreSQL
import Logging
import Observability
import PostgreSQL
import Relay
import Settings

extension FleetStore {
    /// With a PostgreSQL database. Returns when it has answered, or throws.
    ///
    /// - Parameters:
    ///   - member: the id of the process that this one replaces.
    ///   - folder: where the witness of the database's past is kept; nil: a restart forgets it.
    convenience init(
        _ configuration: FleetStoreConfiguration, _ observer: StoreObserver, member: String? = nil,
        folder: String? = nil, logger: Logger
    ) throws(GatewayError) {
        let name = "\(configuration)"
        let (alarm, beats) = (Alarm(), WitnessBeats())
        guard let sealing = SealedSecrets(keys: configuration.secretKeys) else {
            throw .fleetStore(name, FleetStoreConfiguration.unusableSecretKeys)
        }
        try Self.checkSchema(configuration)
        let driver = PostgreSQLDriver(configuration.driverOptions) { event in
            switch event {
            case .notified: alarm.ring()
            case .reachable:
                logger.notice("the database answers")
                // It may be an older copy.
                beats.hasten()
                alarm.ring()
            case .unreachable(let reason):
                logger.error("the database can't be reached", metadata: [LogKeys.error: "\(reason)"])
            }
        }
        let witness = RefreshWitnessKeeper(in: folder) { problem in
            logger.warning("witness of the database's past: \(problem)")
        }
        do throws(KeyRegistryError) {
            try self.init(
                PostgreSQLKeyRegistry(driver, sealing: sealing, witness: witness, observer: observer),
                upkeep: PostgreSQLKeyRegistry(
                    PostgreSQLDriver(configuration.upkeepOptions), sealing: sealing, observer: observer),
                name: name, alarm: alarm, witnessBeats: beats, member: member,
                kinds: [ConfiguredMethod].all.blockListKinds, signers: Cores.count, logger: logger)
        } catch {
            throw .fleetStore(name, error.cause)
        }
    }

    private static func checkSchema(_ configuration: FleetStoreConfiguration) throws(GatewayError) {
        let session: PostgreSQLConnection
        let options = configuration.sessionOptions
        do throws(DatabaseError) {
            session = try PostgreSQLConnection(options, within: options.longestMilliseconds)
        } catch {
            throw .fleetStore("\(configuration)", "\(error)")
        }
        do throws(PostgreSQLSchemaError) { try PostgreSQLSchema.current.check(session) } catch {
            throw .fleetStore("\(configuration)", "\(error)")
        }
    }
}

extension FleetStoreConfiguration {
    fileprivate var upkeepOptions: DriverOptions {
        var options = driverOptions
        options.connections = 1
        // Those of the gate hear the announcements.
        options.channel = nil
        return options
    }
}
