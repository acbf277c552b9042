package import KeyStore
package import PostgreSQL

/// The entries that all gateways of a fleet block, in addition to their own lists. The store takes them as they are:
/// what they mean is the gate's.
package enum FleetBlockList {
    package static let maximumEntryBytes = 256
    package static let maximumReasonBytes = 200

    package struct Entry: Hashable, Sendable {
        package let text: String
        package let reason: String?
        /// Unix milliseconds.
        package let addedAt: Int64
    }

    // MARK: For the operator's tools. The calls block.

    /// - Returns: how many of them are new, or nil, without any change, if there would be more than `maximum`.
    package static func add(
        _ entries: [String], reason: String?, at time: Int64, maximum: Int, in session: PostgreSQLConnection
    ) throws(DatabaseError) -> Int64? {
        let row = try session.run(
            "SELECT portcullis.block($1::text[], $2::text, $3::int8, $4::int8)",
            [array(entries), .optional(reason), .integer(time), .integer(Int64(maximum))]
        ).only()
        let added = try row.integer(0)
        return added < 0 ? nil : added
    }

    /// - Returns: how many of them were there.
    package static func remove(_ entries: [String], in session: PostgreSQLConnection) throws(DatabaseError) -> Int64 {
        try session.run("SELECT portcullis.unblock($1::text[])", [array(entries)]).only().integer(0)
    }

    /// In the order of their texts.
    package static func entries(in session: PostgreSQLConnection) throws(DatabaseError) -> [Entry] {
        try session.run("SELECT entry, reason, added_at FROM portcullis.block ORDER BY entry COLLATE \"C\"", []).map {
            row throws(DatabaseError) in
            Entry(text: try row.text(0), reason: try row.optionalText(1), addedAt: try row.integer(2))
        }
    }

    private static func array(_ entries: [String]) -> SQLValue { .array(of: .text, entries.map { .text($0) }) }
}

extension PostgreSQLKeyRegistry: SharedBlockEntries {
    /// All entries.
    package func blockedEntries() async throws(KeyRegistryError) -> [String] {
        var all: [String] = []
        while true {
            let page = try await answer(.blockedEntries, [.text(all.last ?? "")], Self.texts)
            guard !page.isEmpty else { return all }
            all += page
        }
    }

    /// The same at a start; blocks.
    package func blockedEntriesBlocking() throws(KeyRegistryError) -> [String] {
        var all: [String] = []
        while true {
            let page = try blocking(.blockedEntries, [.text(all.last ?? "")], Self.texts)
            guard !page.isEmpty else { return all }
            all += page
        }
    }

    private static func texts(_ rows: SQLRows) throws(DatabaseError) -> [String] {
        try rows.map { row throws(DatabaseError) in try row.text(0) }
    }
}

extension SQLStatement {
    private static let entriesAtOnce = 5_000

    fileprivate static let blockedEntries = SQLStatement(
        "blocked_entries", maximumRows: entriesAtOnce,
        """
        SELECT entry FROM portcullis.block WHERE entry COLLATE "C" > $1::text COLLATE "C"
        ORDER BY entry COLLATE "C" LIMIT \(entriesAtOnce)
        """)
}
