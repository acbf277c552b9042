package import KeyStore
import PostgreSQL

extension PostgreSQLKeyRegistry: SharedHoldings {
    package func note(_ holdings: [Holding], of gateway: String) async throws(KeyRegistryError) {
        let values: [SQLValue] = [
            .text(gateway), Self.array(holdings.map(\.holder)),
            .array(of: .integer, holdings.map { .integer(Int64($0.sessions)) }),
            .array(of: .integer, holdings.map { .integer(Int64($0.detached)) }),
        ]
        try await answer(.noteHoldings, values) { _ in }
    }

    package func sessionsElsewhere(
        of holders: [HolderMark], than gateway: String
    ) async throws(KeyRegistryError) -> [HolderMark: Int] {
        try await answer(
            .sessionsElsewhere, [Self.array(holders), .text(gateway), .integer(GatewayMembers.deadAfter)],
            // A client may wait for it.
            within: nil, Self.counts)
    }

    package func makeRoom(for holder: HolderMark, at gateway: String) async throws(KeyRegistryError) -> Bool {
        try await answer(.makeRoom, [.bytes(holder.bytes), .text(gateway), .integer(GatewayMembers.deadAfter)]) {
            rows throws(DatabaseError) in try rows.only().boolean(0)
        }
    }

    package func takeEvictions(of gateway: String) async throws(KeyRegistryError) -> [HolderMark: Int] {
        try await answer(.takeEvictions, [.text(gateway)], Self.counts)
    }

    package func forgetHoldings() async throws(KeyRegistryError) {
        while try await answer(.forgetHoldings, [], { rows throws(DatabaseError) in try rows.only().integer(0) }) > 0 {}
    }

    private static func array(_ marks: [HolderMark]) -> SQLValue { .array(of: .bytes, marks.map { .bytes($0.bytes) }) }

    private static func counts(_ rows: SQLRows) throws(DatabaseError) -> [HolderMark: Int] {
        let counts = try rows.map { row throws(DatabaseError) in
            guard let holder = HolderMark(bytes: try row.bytes(0)) else { throw .malformed }
            return (holder, Int(clamping: try row.integer(1)))
        }
        return Dictionary(counts) { first, _ in first }
    }
}

extension SQLStatement {
    private static let holdersAtOnce = 1_000

    fileprivate static let noteHoldings = SQLStatement(
        "note_holdings", "SELECT portcullis.note_holdings($1::text, $2::bytea[], $3::int8[], $4::int8[])")
    fileprivate static let sessionsElsewhere = SQLStatement(
        "sessions_elsewhere", maximumRows: holdersAtOnce,
        """
        SELECT h.holder, sum(h.sessions)::int8 FROM portcullis.holding h JOIN portcullis.gateway g ON g.id = h.gateway
        WHERE h.holder = ANY ($1::bytea[]) AND h.gateway <> $2::text
            AND g.heartbeat >= clock_timestamp() - $3::int8 * interval '1 millisecond'
        GROUP BY h.holder
        """)
    fileprivate static let makeRoom = SQLStatement(
        "make_room", "SELECT portcullis.make_room($1::bytea, $2::text, $3::int8)")
    fileprivate static let takeEvictions = SQLStatement(
        "take_evictions", maximumRows: holdersAtOnce,
        """
        WITH wanted AS (
            SELECT o.holder, o.evict FROM portcullis.holding o
            WHERE o.gateway = $1::text AND o.evict > 0 LIMIT \(holdersAtOnce) FOR UPDATE)
        UPDATE portcullis.holding h SET evict = 0 FROM wanted w WHERE h.gateway = $1::text AND h.holder = w.holder
        RETURNING h.holder, w.evict
        """)
    /// The index gives each gateway once, however many clients it has. A part at a time: it may have had very many.
    fileprivate static let forgetHoldings = SQLStatement(
        "forget_holdings",
        """
        WITH RECURSIVE holder AS (
            SELECT min(h.gateway) AS id FROM portcullis.holding h
            UNION ALL
            SELECT (SELECT min(h.gateway) FROM portcullis.holding h WHERE h.gateway > r.id) FROM holder r
            WHERE r.id IS NOT NULL),
        lost AS (
            SELECT r.id FROM holder r
            WHERE r.id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM portcullis.gateway g WHERE g.id = r.id)),
        gone AS (
            DELETE FROM portcullis.holding h WHERE h.ctid = ANY (ARRAY(
                SELECT o.ctid FROM portcullis.holding o JOIN lost l ON l.id = o.gateway
                LIMIT 5000 FOR UPDATE OF o SKIP LOCKED))
            RETURNING 1)
        SELECT count(*) FROM gone
        """)
}
