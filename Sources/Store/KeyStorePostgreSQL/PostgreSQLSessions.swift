package import KeyStore
import PostgreSQL

extension PostgreSQLKeyRegistry: SharedSessionDirectory {
    package func note(
        _ changes: SessionChanges, of gateway: String,
        then: @escaping @Sendable (Result<Void, KeyRegistryError>) -> Void
    ) {
        answer(
            .noteSessions, [.text(gateway), Self.array(changes.began), Self.array(changes.ended)],
            within: Self.patience, { _ in }, then: then)
    }

    private static func array(_ marks: [SessionMark]) -> SQLValue {
        .array(of: .bytes, marks.map { .bytes($0.bytes) })
    }

    package func find(
        _ mark: SessionMark, then: @escaping @Sendable (Result<SessionTrace, KeyRegistryError>) -> Void
    ) {
        answer(
            .findSession, [.bytes(mark.bytes), .integer(SessionTrace.lateAfter)],
            { rows throws(DatabaseError) in try SessionTrace(rows) }, then: then)
    }

    package func forgetSessions(of gateway: String) async throws(KeyRegistryError) {
        while try await answer(
            .forgetSessions, [.text(gateway), .integer(GatewayMembers.deadAfter)],
            { rows throws(DatabaseError) in
                try rows.only().integer(0)
            }) > 0
        {}
    }

    /// Sessions of gateways that the store has forgotten, a part at a time: nobody may have seen their end.
    package func forgetLostSessions() async throws(KeyRegistryError) { try await answer(.forgetLostSessions) { _ in } }
}

extension SessionTrace {
    /// One row for each gateway in doubt; at least one.
    fileprivate init(_ rows: SQLRows) throws(DatabaseError) {
        guard let first = rows.first else { throw .malformed }
        var holder: Holder?
        if let id = try first.optionalText(0) {
            holder = Holder(id: id, address: try first.optionalText(1), silence: try first.optionalInteger(2))
        }
        let doubtful = try rows.map { row throws(DatabaseError) in try row.optionalText(4) }
        self.init(holder: holder, lived: try first.integer(3), doubtful: doubtful.compactMap(\.self))
    }
}

extension SQLStatement {
    fileprivate static let noteSessions = SQLStatement(
        "note_sessions", "SELECT portcullis.note_sessions($1::text, $2::bytea[], $3::bytea[])")
    fileprivate static let findSession = SQLStatement(
        "find_session", maximumRows: GatewayMembers.maximum,
        """
        SELECT f.holder, f.address, f.silence, f.lived, d.id
        FROM portcullis.find_session($1::bytea, $2::int8) f LEFT JOIN LATERAL unnest(f.doubtful) AS d (id) ON true
        """)
    /// A part at a time: a gateway may have had very many. Other gateways may be deleting the same ones. Once it has
    /// come back they are its own again.
    fileprivate static let forgetSessions = SQLStatement(
        "forget_sessions",
        """
        WITH gone AS (
            DELETE FROM portcullis.session s WHERE s.mark IN
                (SELECT o.mark FROM portcullis.session o
                WHERE o.gateway = $1::text AND NOT EXISTS (
                    SELECT 1 FROM portcullis.gateway g
                    WHERE g.id = $1::text AND g.heartbeat >= clock_timestamp() - $2::int8 * interval '1 millisecond')
                LIMIT 10000 FOR UPDATE SKIP LOCKED)
            RETURNING 1)
        SELECT count(*) FROM gone
        """)
    fileprivate static let forgetLostSessions = SQLStatement(
        "forget_lost_sessions", "SELECT portcullis.forget_lost_sessions(10000)")
}
