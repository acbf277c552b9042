import KeyStorePostgreSQL
package import PostgreSQL
package import Settings

/// How the database of a fleet is reached, by gateways and by tools.
extension FleetStoreConfiguration {
    /// For a single connection that somebody waits for: a tool's, or the first of a gateway.
    package var sessionOptions: DriverOptions {
        var options = driverOptions
        options.connectSeconds = 10
        return options
    }

    /// With the announcements of changes.
    package var driverOptions: DriverOptions {
        var options = DriverOptions(parameters: connectionParameters)
        options.connections = Self.connections
        options.statementMilliseconds = timeoutMilliseconds
        options.channel = PostgreSQLKeyRegistry.channel
        return options
    }

    /// Why no secret of the database can be read.
    package static let unusableSecretKeys = "STORE_SECRETS_KEY_PATH has no usable key"
}
