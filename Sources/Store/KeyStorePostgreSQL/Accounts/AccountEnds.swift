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

/// With its time by the clock of the store, in milliseconds.
struct DatedEnd {
    let subject: EndedSubject
    let time: Int64
}

extension PostgreSQLKeyRegistry {
    /// What has ended within so many milliseconds, by the clock of the store, page by page in the order of time.
    ///
    /// - Parameter milliseconds: of the first page; the others go on behind the last end.
    func ended(
        within milliseconds: Int64, after last: DatedEnd?
    ) async throws(KeyRegistryError) -> [DatedEnd] {
        let values: [SQLValue] = [
            .integer(last?.subject.kind.rawValue ?? 0), .bytes(last?.subject.bytes ?? []), .integer(milliseconds),
            .optional(last?.time),
        ]
        return try await answer(.ended, values) { rows throws(DatabaseError) in
            try rows.map { row throws(DatabaseError) in
                DatedEnd(subject: try EndedSubject(row), time: try row.integer(2))
            }
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
        SELECT kind, subject, ended_at FROM portcullis.account_end
        WHERE kind IN (1, 2, 3, 4)
            AND ended_at >= coalesce($4::int8, (SELECT portcullis.milliseconds(clock_timestamp())) - $3::int8)
            AND (ended_at, kind, subject) > (coalesce($4::int8, 0), $1::int8, $2::bytea)
        ORDER BY ended_at, kind, subject LIMIT \(endedAtOnce)
        """)
    fileprivate static let endedAmong = SQLStatement(
        "ended_among", maximumRows: endedAtOnce,
        "SELECT kind, subject FROM portcullis.account_end WHERE kind = $1::int8 AND subject = ANY ($2::bytea[])")
}
