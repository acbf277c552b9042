package import KeyStore
package import PostgreSQL

/// The gateways of the fleet, in the store that they share.
extension PostgreSQLKeyRegistry: SharedMembership {
    package typealias Membership = GatewayMembership

    package func beat(
        _ member: Membership, uptime: Int64, _ report: GatewayMember.Report, madeAt: Int64? = nil
    ) async throws(KeyRegistryError) -> GatewayMembers {
        let values: [SQLValue] = [
            .text(member.id), .text(member.name), .text(member.version), .integer(PostgreSQLSchema.current.version),
            .integer(uptime), .integer(report.state.rawValue), .integer(report.sessions), .integer(report.connections),
            .optional(report.lag), .optional(report.address), .integer(GatewayMembers.deadAfter),
            .integer(GatewayMembers.forgottenAfter), .integer(Int64(GatewayMembers.maximum)),
            report.announced.map { .bytes($0.bytes) } ?? .null, .optional(madeAt),
        ]
        return try await answer(.beat, values, within: nil) { rows throws(DatabaseError) in
            guard let first = rows.first else { throw .malformed }
            return GatewayMembers(
                try rows.map { row throws(DatabaseError) in try GatewayMember(row) },
                readAt: try first.integer(11), began: try first.integer(12),
                incarnation: try first.optionalIncarnation(14))
        }
    }

    package func leave(_ member: Membership, within milliseconds: Int) async throws(KeyRegistryError) {
        let answered: Result<Void, KeyRegistryError>
        do throws(KeyRegistryError) {
            answered = .success(try await answer(.leave, [.text(member.id)], within: milliseconds) { _ in })
        } catch {
            answered = .failure(error)
        }
        // It is the last that a gateway does, whether the others hear of it or not.
        await witness.keepAtLast()
        try answered.get()
    }
}

/// The database of a fleet and its gateways, as a tool sees them.
package struct FleetOverview: Hashable, Sendable {
    package let members: GatewayMembers
    package let server: String
    package let isPrimary: Bool
    /// Nil if the server has lost it and no gateway has noticed yet.
    package let incarnation: [UInt8]?
    package let schema, oldestProgram: Int64
    package let connections, maximumConnections: Int64

    package init(
        members: GatewayMembers, server: String, isPrimary: Bool, incarnation: [UInt8]?, schema: Int64,
        oldestProgram: Int64, connections: Int64, maximumConnections: Int64
    ) {
        self.members = members
        self.server = server
        self.isPrimary = isPrimary
        self.incarnation = incarnation
        self.schema = schema
        self.oldestProgram = oldestProgram
        self.connections = connections
        self.maximumConnections = maximumConnections
    }

    /// Reads it; blocks. A standby has no gateways: it can't read their table.
    package init(_ session: PostgreSQLConnection) throws(DatabaseError) {
        let server = try session.run(.server, []).only()
        isPrimary = try server.boolean(1)
        self.server = try server.text(0)
        (connections, maximumConnections) = (try server.integer(2), try server.integer(3))
        (schema, oldestProgram) = (try server.integer(4), try server.integer(5))
        let time = try server.integer(6)
        guard isPrimary else {
            incarnation = nil
            members = GatewayMembers([], readAt: time, began: 0)
            return
        }
        let rows = try session.run(.members, [.integer(Int64(GatewayMembers.maximum))])
        members = GatewayMembers(
            try rows.map { row throws(DatabaseError) in try GatewayMember(row) },
            readAt: try rows.first?.integer(11) ?? time, began: try rows.first?.integer(12) ?? 0)
        let home = try session.run("SELECT incarnation FROM portcullis.home", [])
        incarnation = try home.first?.bytes(0)
    }
}

extension GatewayMember {
    fileprivate init(_ row: SQLRow) throws(DatabaseError) {
        // A newer program may have more states: such a gateway doesn't plainly serve.
        let state = State(rawValue: try row.integer(4)) ?? .draining
        self.init(
            id: try row.text(0), name: try row.text(1), version: try row.text(2), schema: try row.integer(3),
            started: try row.integer(9), heartbeat: try row.integer(10),
            report: Report(
                state: state, sessions: try row.integer(5), connections: try row.integer(6),
                lag: try row.optionalInteger(7), address: try row.optionalText(8),
                announced: try row.optionalIncarnation(13)))
    }
}

extension SQLRow {
    fileprivate func optionalIncarnation(_ column: Int) throws(DatabaseError) -> StoreIncarnation? {
        try isNull(column) ? nil : try incarnation(column)
    }
}

extension SQLStatement {
    private static let columns =
        "id, name, version, schema, state, sessions, connections, lag, address, started, heartbeat, read_at, began, announced, incarnation"

    fileprivate static let beat = SQLStatement(
        "beat", maximumRows: GatewayMembers.maximum,
        """
        SELECT \(columns) FROM portcullis.beat($1::text, $2::text, $3::text, $4::int8, $5::int8, $6::int8, $7::int8,
            $8::int8, $9::int8, $10::text, $11::int8, $12::int8, $13::int8, $14::bytea, $15::int8)
        """)
    fileprivate static let leave = SQLStatement("leave", "SELECT portcullis.leave($1::text)")
    fileprivate static let members = SQLStatement(
        "members", maximumRows: GatewayMembers.maximum, "SELECT \(columns) FROM portcullis.members($1::int8)")
    /// Also on a standby. Who isn't a superuser doesn't see the other roles' rows of `pg_stat_activity`, but all may
    /// count connections.
    fileprivate static let server = SQLStatement(
        "server",
        """
        SELECT current_setting('server_version'), NOT pg_is_in_recovery(),
            (SELECT sum(d.numbackends)::int8 FROM pg_stat_database d),
            current_setting('max_connections')::int8, s.version, s.oldest,
            (extract(epoch FROM clock_timestamp()) * 1000)::int8
        FROM portcullis.schema s
        """)
}
