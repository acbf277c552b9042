import GRDB
import KeyStore

/// Whether a file has exactly the tables and triggers of a store, before anything in it is read: whoever made it could
/// have made a view of endless data.
enum SQLiteSchemaForm {
    private static let tables =
        [
            "device_key", "receipt", "signing_key", "secret", "development_token", "development_device",
            "kept_ticket", "revision", "counter_window",
        ] + AccountSchema.tables + RefreshSchema.tables
    /// Stores of the first programs lack the others.
    private static let required = 2
    private static let triggers = SQLiteRevisions.triggers.map(\.name)
    private static let ticketIndexes = KeptTicketTable.indexes.map(\.0)
    private static let accountIndexes = (AccountSchema.indexes + RefreshSchema.indexes).map {
        "name = '\($0.0)' AND tbl_name = '\($0.1)'"
    }

    /// Kind, and the name in a bounded length, of what isn't a store's.
    private static let foreigners = """
        SELECT type || ' ' || substr(name, 1, 64) FROM sqlite_schema
        WHERE NOT (type = 'table' AND (name IN (\(tables.map { "'\($0)'" }.joined(separator: ", ")))
                OR name GLOB 'sqlite_stat[1-4]'))
            AND NOT (type = 'trigger' AND name IN (\(triggers.map { "'\($0)'" }.joined(separator: ", "))))
            AND NOT (type = 'index' AND (sql IS NULL OR name = 'device_key_revoked' AND tbl_name = 'device_key'
                OR name IN (\(ticketIndexes.map { "'\($0)'" }.joined(separator: ", "))) AND tbl_name = 'kept_ticket'
                OR \(accountIndexes.joined(separator: " OR "))))
        LIMIT 1
        """

    /// Kind, storage, strictness, and each column with its type, whether it may be null, its place in the key, and
    /// whether it is computed.
    private static let form = """
        SELECT type || ' ' || wr || ' ' || strict || ': ' || (
            SELECT group_concat(name || ' ' || type || ' ' || "notnull" || ' ' || pk || ' ' || hidden, ', ')
            FROM pragma_table_xinfo(?1))
        FROM pragma_table_list WHERE schema = 'main' AND name = ?1
        """

    /// The text of a trigger, if it isn't longer than one of a store's.
    private static let text = """
        SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND name = ?1 AND length(sql) < 1000
        """

    /// Throws unless the file has the tables and triggers of a store, and nothing else.
    static func check(_ database: Database) throws {
        if let foreigner = try String.fetchOne(database, sql: foreigners) {
            throw KeyRegistryError.unavailable("it has what no key store has: the \(foreigner)")
        }
        let expected = try expected.get()
        for (index, table) in tables.enumerated() {
            let found = try String.fetchOne(database, sql: form, arguments: [table])
            if found == nil, index >= required { continue }
            guard let found, expected.tables[index].contains(where: { found.utf8.elementsEqual($0.utf8) }) else {
                throw KeyRegistryError.unavailable("its \(table) is not the table that a key store has")
            }
        }
        for (trigger, known) in zip(triggers, expected.triggers) where try has(trigger, of: "trigger", database) {
            guard let found = try String.fetchOne(database, sql: text, arguments: [trigger]),
                found.utf8.elementsEqual(known.utf8)
            else { throw KeyRegistryError.unavailable("its \(trigger) is not the trigger that a key store has") }
        }
    }

    static func has(_ name: String, of type: String = "table", _ database: Database) throws -> Bool {
        try Bool.fetchOne(
            database, sql: "SELECT count(*) FROM sqlite_schema WHERE type = ? AND name = ?", arguments: [type, name])
            ?? false
    }

    /// As this program makes them, and of the first tables also as programs before counter windows, and before the
    /// window in force, have made them.
    private static let expected = Result { () throws -> (tables: [[String]], triggers: [String]) in
        try DatabaseQueue().writeWithoutTransaction { database in
            let forms = { try tables.map { try String.fetchOne(database, sql: form, arguments: [$0]) } }
            try SQLiteSchema.create(in: database)
            let first = try forms()
            try SQLiteSchema.addWindow(in: database)
            let second = try forms()
            try SQLiteSchema.createAdditions(in: database)
            let last = try forms()
            return (
                tables.indices.map { index in [first, second, last].compactMap { $0[index] } },
                try triggers.map { try String.fetchOne(database, sql: text, arguments: [$0]) ?? "" }
            )
        }
    }
}
