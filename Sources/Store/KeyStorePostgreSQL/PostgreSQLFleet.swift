package import KeyStore
import PostgreSQL

/// What the gateways of a fleet have in common beside keys: the store's incarnation and clock, and secrets. The
/// blocking calls are for a start, never for a reactor.
extension PostgreSQLKeyRegistry: SharedSecretStore {
    package func presentBlocking() throws(KeyRegistryError) -> StorePresent {
        try blocking(.present, []) { rows throws(DatabaseError) in try StorePresent(rows.only()) }
    }

    package func present(then: @escaping @Sendable (Result<StorePresent, KeyRegistryError>) -> Void) {
        answer(.present, [], { rows throws(DatabaseError) in try StorePresent(rows.only()) }, then: then)
    }

    /// The secrets whose names begin with `prefix`, by name. Blocks.
    package func secrets(prefix: String) throws(KeyRegistryError) -> [String: [UInt8]] {
        let rows = try blocking(.secretsByPrefix, [.text(prefix)]) { rows throws(DatabaseError) in
            try rows.map { row throws(DatabaseError) in (name: try row.text(0), sealed: try row.bytes(1)) }
        }
        var secrets: [String: [UInt8]] = [:]
        for row in rows { secrets[row.name] = try sealing.open(row.sealed, for: .secret(row.name)) }
        return secrets
    }

    /// Blocks.
    package func removeSecrets(_ names: [String]) throws(KeyRegistryError) {
        guard !names.isEmpty else { return }
        try blocking(.removeSecrets, [.array(of: .text, names.map { .text($0) })]) { _ in }
    }
}

extension StorePresent {
    /// - Parameter row: begins with the columns of `present`.
    init(_ row: SQLRow) throws(DatabaseError) {
        self.init(incarnation: try row.incarnation(0), began: try row.integer(1), time: try row.integer(2))
    }
}

extension SQLStatement {
    private static let maximumSecrets = 100

    /// The function comes first: it makes the row if there is none.
    static let presentTerms = """
        made AS MATERIALIZED (SELECT portcullis.incarnation() AS id),
        present AS MATERIALIZED (
            SELECT m.id AS incarnation, (extract(epoch FROM portcullis.incarnation_began(m.id)) * 1000)::int8 AS began,
                (extract(epoch FROM clock_timestamp()) * 1000)::int8 AS time
            FROM made m)
        """
    fileprivate static let present = SQLStatement(
        "present", "WITH \(presentTerms) SELECT p.incarnation, p.began, p.time FROM present p")
    fileprivate static let secretsByPrefix = SQLStatement(
        "secrets_by_prefix", maximumRows: maximumSecrets,
        "SELECT name, value FROM portcullis.secret WHERE starts_with(name, $1::text) ORDER BY name")
    fileprivate static let removeSecrets = SQLStatement(
        "remove_secrets", isDurable: true, "DELETE FROM portcullis.secret WHERE name = ANY ($1::text[])")
}
