import KeyStore
package import PostgreSQL

/// The tables and functions of the schema `portcullis`, which all gateways of a fleet share, in versions.
///
/// A migration is a script that runs in one transaction together with the change of the version. An interrupted one has
/// changed nothing. A version names the oldest program version that can still work with it, so that gateways of two
/// neighbouring versions run side by side: the schema is migrated first, and then the gateways are replaced one by one.
package struct PostgreSQLSchema: Sendable {
    struct Migration: Sendable {
        /// The oldest program that works with the result.
        let oldest: Int64
        let script: String
    }

    /// This program's.
    package static let current = PostgreSQLSchema(migrations: [
        .first, .members, .sessions, .blockList, .holdings, .rowLocks, .alive, .tickets, .housekeeping, .nextTickets,
        .counterWindows, .accounts, .refresh, .heartbeats, .windowsInForce,
    ])

    private let migrations: [Migration]

    init(migrations: [Migration]) { self.migrations = migrations }

    package var version: Int64 { Int64(migrations.count) }

    /// The lock of everything that changes the schema. Only the owner can take it, and readers of the table don't wait
    /// for it.
    private static let lock = "LOCK TABLE portcullis.schema IN SHARE ROW EXCLUSIVE MODE"
    /// While there is no table to lock, tools may meet: one creates it, and the others look again.
    private static let meetings = 5

    /// Brings the schema to this program's version, step by step; blocks.
    ///
    /// - Returns: the version before; 0 if there was none.
    package func migrate(_ session: PostgreSQLConnection) throws(PostgreSQLSchemaError) -> Int64 {
        var (first, met) = (Int64?.none, 0)
        while true {
            let found: Versions
            do throws(DatabaseError) {
                found = try advance(session)
            } catch .refused(let state, _) where state.meansThatItExists && first == nil && met < Self.meetings {
                met += 1
                continue
            } catch {
                throw .database(error)
            }
            if let refusal = refusal(found), found.version >= version { throw .other(refusal) }
            first = first ?? found.version
            if found.version >= version { return first ?? found.version }
        }
    }

    /// One step, if there is one.
    ///
    /// - Returns: what was found before.
    private func advance(_ session: PostgreSQLConnection) throws(DatabaseError) -> Versions {
        try session.transaction { () throws(DatabaseError) in
            if try Self.exists(session) { try session.run(Self.lock) }
            let found = try Self.versions(session)
            if found.version < version { try step(from: found.version, session) }
            return found
        }
    }

    private func step(from old: Int64, _ session: PostgreSQLConnection) throws(DatabaseError) {
        let migration = migrations[Int(old)]
        try session.run(migration.script)
        try session.run(
            """
            INSERT INTO portcullis.schema (version, oldest) VALUES ($1::int8, $2::int8)
            ON CONFLICT (singleton) DO UPDATE SET version = $1::int8, oldest = $2::int8
            """, [.integer(old + 1), .integer(migration.oldest)])
    }

    struct Versions: Hashable { let version, oldest: Int64 }

    private static func exists(_ session: PostgreSQLConnection) throws(DatabaseError) -> Bool {
        try session.run("SELECT to_regclass('portcullis.schema') IS NOT NULL", []).only().boolean(0)
    }

    private static func versions(_ session: PostgreSQLConnection) throws(DatabaseError) -> Versions {
        guard try exists(session) else { return Versions(version: 0, oldest: 0) }
        let row = try session.run("SELECT version, oldest FROM portcullis.schema", []).only()
        return Versions(version: try row.integer(0), oldest: try row.integer(1))
    }

    /// Throws unless this program can work with the schema that is there.
    package func check(_ driver: PostgreSQLDriver) async throws(PostgreSQLSchemaError) {
        let found: Versions
        do throws(DatabaseError) {
            let row = try await driver.run(.versions).only()
            found = Versions(version: try row.integer(0), oldest: try row.integer(1))
        } catch .refused(let state, _) where state.kind == .schema {
            found = Versions(version: 0, oldest: 0)
        } catch {
            throw .database(error)
        }
        if let refusal = refusal(found) { throw .other(refusal) }
    }

    /// The same for a tool.
    package func check(_ session: PostgreSQLConnection) throws(PostgreSQLSchemaError) {
        let found = try schemaErrors { () throws(DatabaseError) in try Self.versions(session) }
        if let refusal = refusal(found) { throw .other(refusal) }
    }

    func refusal(_ found: Versions) -> PostgreSQLSchemaError.Difference? {
        if found.version == 0 { return .missing }
        if found.version < version { return .older(found: found.version, needed: version) }
        if found.oldest > version { return .newer(found: found.version, known: version) }
        return nil
    }
}

package enum PostgreSQLSchemaError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Difference: Hashable, Sendable {
        case missing
        case older(found: Int64, needed: Int64)
        case newer(found: Int64, known: Int64)
    }

    case database(DatabaseError)
    case other(Difference)

    package var description: String {
        switch self {
        case .database(let error): "\(error)"
        case .other(.missing): "it has no schema portcullis; `portcullis store migrate` creates it"
        case .other(.older(let found, let needed)):
            "its schema has version \(found), and this program needs \(needed); `portcullis store migrate` upgrades it"
        case .other(.newer(let found, let known)):
            "its schema has version \(found), and this program knows \(known) only: install a newer one"
        }
    }
}

private func schemaErrors<Value>(
    _ body: () throws(DatabaseError) -> Value
) throws(PostgreSQLSchemaError) -> Value {
    do throws(DatabaseError) { return try body() } catch { throw .database(error) }
}

extension SQLStatement {
    fileprivate static let versions = SQLStatement("versions", "SELECT version, oldest FROM portcullis.schema")
}

extension SQLState {
    /// Somebody else has created the schema, a table, a function or another object of this name.
    fileprivate var meansThatItExists: Bool { ["23505", "42P06", "42P07", "42723", "42710"].contains(code) }
}
