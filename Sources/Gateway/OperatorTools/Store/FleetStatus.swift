import KeyStore
package import KeyStorePostgreSQL
import Observability
import PostgreSQL
import Settings
import WireText

extension FleetStoreAdministration {
    /// The gateways and their database.
    package func status() throws(OperatorError) -> FleetStatus {
        let session = try sessionForStatus()
        do throws(DatabaseError) {
            return FleetStatus(try FleetOverview(session), database: "\(configuration)")
        } catch .refused(let state, _) where state.kind == .schema {
            throw .database("\(configuration)", "\(PostgreSQLSchemaError.other(.missing))")
        } catch {
            throw .database("\(configuration)", "\(error)")
        }
    }

    /// With a standby if there is nothing else: then that is what is wrong.
    private func sessionForStatus() throws(OperatorError) -> PostgreSQLConnection {
        do throws(OperatorError) {
            return try connect()
        } catch {
            guard let session = try? connect(attributes: "any") else { throw error }
            return session
        }
    }
}

/// What `portcullis fleet status` prints.
package struct FleetStatus: Sendable {
    /// A gateway that has heard nothing of the store's changes for longer doesn't trust what it remembers.
    static let longestLag: Int64 = 2_000

    package let overview: FleetOverview
    /// For the operator.
    package let database: String

    package init(_ overview: FleetOverview, database: String) {
        self.overview = overview
        self.database = database
    }

    private var members: GatewayMembers { overview.members }

    /// By name.
    private var sorted: [GatewayMember] { members.members.sorted { ($0.name, $0.id) < ($1.name, $1.id) } }

    private func age(_ member: GatewayMember) -> Int64 { max(0, members.readAt - member.heartbeat) }

    private func state(_ member: GatewayMember) -> String {
        members.isAlive(member, at: members.readAt) ? "\(member.report.state)" : "dead"
    }

    /// Nothing has to be done.
    package var isGood: Bool { problems.isEmpty }

    /// What an operator should look at.
    package var problems: [String] {
        let alive = members.alive(at: members.readAt)
        var problems = sorted.filter { !alive.contains($0) }.map {
            "\($0.name) is dead: no heartbeat for \(age($0) / 1_000) s"
        }
        problems += sorted.filter { alive.contains($0) && ($0.report.lag ?? .max) > Self.longestLag }.map { member in
            let lag = member.report.lag.map { "for \($0) ms" } ?? "yet"
            return "\(member.name) hasn't heard of the database's changes \(lag)"
        }
        if !overview.isPrimary { problems.append("the database is a standby") }
        if !alive.contains(where: { $0.report.state == .serving }) { problems.append("no gateway serves") }
        return problems
    }

    // MARK: Text

    private static let headings = [
        "GATEWAY", "STATE", "SESSIONS", "CONNECTIONS", "LAG", "HEARTBEAT", "UP", "VERSION", "SCHEMA", "ADDRESS", "ID",
    ]

    package var text: String {
        let table = TextColumns.text([Self.headings] + sorted.map(cells))
        return ([table, databaseLine] + problems.map { "attention: \(SessionText.plain($0))" }).joined(separator: "\n")
    }

    private func cells(_ member: GatewayMember) -> [String] {
        let report = member.report
        return [
            SessionText.shortened(member.name, 40), state(member), "\(report.sessions)", "\(report.connections)",
            report.lag.map { "\($0)ms" } ?? "-", "\(age(member))ms",
            SessionText.duration(UInt64(clamping: members.readAt - member.started)), SessionText.plain(member.version),
            "\(member.schema)", SessionText.plain(report.address ?? "-"), SessionText.shortened(member.id, 8),
        ]
    }

    private var databaseLine: String {
        "database: \(SessionText.plain(database)), PostgreSQL \(SessionText.plain(overview.server)), \(role)"
            + ", incarnation \(incarnation ?? "-"), schema \(overview.schema) for programs from"
            + " \(overview.oldestProgram), \(overview.connections) of \(overview.maximumConnections) connections"
    }

    private var role: String { overview.isPrimary ? "primary" : "standby" }
    private var incarnation: String? { overview.incarnation.map { Hexadecimal.encode(Array($0.prefix(4))) } }

    // MARK: JSON

    /// One object in one line.
    package var json: String {
        var writer = JSONWriter()
        writer.member("good", isGood)
        writer.member("problems", problems)
        writer.member("gateways", json: sorted.map(object))
        writer.member("database", json: databaseObject)
        return String(decoding: writer.object, as: UTF8.self)
    }

    private func object(_ member: GatewayMember) -> [UInt8] {
        let report = member.report
        var writer = JSONWriter()
        writer.member("id", member.id)
        writer.member("name", member.name)
        writer.member("state", state(member))
        writer.member("version", member.version)
        writer.member("schema", member.schema)
        writer.member("sessions", report.sessions)
        writer.member("connections", report.connections)
        if let lag = report.lag { writer.member("lagMs", lag) }
        writer.member("heartbeatAgeMs", age(member))
        writer.member("uptimeMs", max(0, members.readAt - member.started))
        if let address = report.address { writer.member("address", address) }
        return writer.object
    }

    private var databaseObject: [UInt8] {
        var writer = JSONWriter()
        writer.member("name", database)
        writer.member("serverVersion", overview.server)
        writer.member("role", role)
        if let incarnation { writer.member("incarnation", incarnation) }
        writer.member("schema", overview.schema)
        writer.member("oldestProgram", overview.oldestProgram)
        writer.member("connections", overview.connections)
        writer.member("maximumConnections", overview.maximumConnections)
        return writer.object
    }
}
