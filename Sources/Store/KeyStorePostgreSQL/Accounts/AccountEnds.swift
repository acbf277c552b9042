import KeyStore
import PostgreSQL

extension EndedSubject.Kind {
    /// In the feed.
    var change: StoreChanges.Kind {
        switch self {
        case .account: .account
        case .passkey: .passkey
        case .departure: .departure
        case .family: .family
        }
    }
}

extension EndedSubject {
    /// Of its first two columns.
    init(_ row: SQLRow) throws(DatabaseError) {
        guard let kind = Kind(rawValue: try row.integer(0)) else { throw .malformed }
        self.init(kind, try row.bytes(1))
    }
}

extension PostgreSQLKeyRegistry {
    /// What has ended within so many milliseconds, by the clock of the store, page by page.
    func ended(
        within milliseconds: Int64, after last: EndedSubject?
    ) async throws(KeyRegistryError) -> [EndedSubject] {
        let values: [SQLValue] = [
            .integer(last?.kind.rawValue ?? 0), .bytes(last?.bytes ?? []), .integer(milliseconds),
        ]
        return try await answer(.ended, values) { rows throws(DatabaseError) in
            try rows.map { row throws(DatabaseError) in try EndedSubject(row) }
        }
    }

    /// - Parameter subjects: at most as many as the feed tells at once.
    func ended(
        among subjects: [[UInt8]], _ kind: EndedSubject.Kind
    ) async throws(KeyRegistryError) -> [EndedSubject] {
        let values: [SQLValue] = [.integer(kind.rawValue), .array(of: .bytes, subjects.map { .bytes($0) })]
        return try await answer(.endedAmong, values) { rows throws(DatabaseError) in
            try rows.map { row throws(DatabaseError) in try EndedSubject(row) }
        }
    }
}

extension SQLStatement {
    private static let endedAtOnce = 10_000

    fileprivate static let ended = SQLStatement(
        "ended", maximumRows: endedAtOnce,
        """
        SELECT kind, subject FROM portcullis.account_end
        WHERE kind IN (1, 2, 3, 4) AND (kind, subject) > ($1::int8, $2::bytea)
            AND ended_at >= portcullis.milliseconds(clock_timestamp()) - $3::int8
        ORDER BY kind, subject LIMIT \(endedAtOnce)
        """)
    fileprivate static let endedAmong = SQLStatement(
        "ended_among", maximumRows: endedAtOnce,
        "SELECT kind, subject FROM portcullis.account_end WHERE kind = $1::int8 AND subject = ANY ($2::bytea[])")
}
