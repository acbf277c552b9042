package import KeyStore
package import PostgreSQL

/// Checks a fleet's database, also while gateways use it: it only reads.
package struct PostgreSQLStoreCheck {
    /// For each statement, in milliseconds.
    private static let patience = 10_000
    /// PostgreSQL 15.
    private static let oldestServer: Int64 = 150_000

    /// What is known of the way to the database.
    package enum Transport: Sendable {
        /// No other machine is involved.
        case local
        case verified
        /// The settings allow that the server isn't verified.
        case unverified
    }

    package private(set) var findings: [StoreFinding] = []

    /// Blocks. A frozen server ends the check, too.
    package init(
        _ options: DriverOptions, sealing: any SecretSealing, transport: Transport, rules: any RecordRules
    ) {
        var options = options
        // A standby is a finding.
        options.parameters["target_session_attrs"] = "any"
        do throws(DatabaseError) {
            try run(PostgreSQLConnection(options, within: Self.patience), sealing, transport, rules)
        } catch {
            findings.append(
                findings.isEmpty
                    ? .error(
                        .connection, "\(error)",
                        "Look whether the server runs, and compare STORE_URL and the password.")
                    : .error(
                        .server, "\(error)", "Look at the server's log, and at the rights of the role of STORE_URL."))
        }
    }

    private mutating func run(
        _ session: PostgreSQLConnection, _ sealing: any SecretSealing, _ transport: Transport, _ rules: any RecordRules
    ) throws(DatabaseError) {
        findings.append(try Self.connection(session))
        findings.append(try Self.transport(session, transport))
        findings.append(try Self.server(session))
        do throws(PostgreSQLSchemaError) {
            try PostgreSQLSchema.current.check(session)
        } catch .database(let error) {
            throw error
        } catch {
            findings.append(.error(.schema, "\(error)", "Run that command, or the program of the schema's version."))
            return
        }
        findings.append(.good(.schema, "version \(PostgreSQLSchema.current.version)"))
        findings.append(try Self.incarnation(session))
        findings += Self.content(session, sealing, rules)
        findings.append(
            .good(
                .backup,
                "made by pg_basebackup, or by pg_dump --schema=portcullis --no-unlogged-table-data; without the file of"
                    + " STORE_SECRETS_KEY_PATH its secrets can't be read"))
    }

    // MARK: The server

    private static func connection(_ session: PostgreSQLConnection) throws(DatabaseError) -> StoreFinding {
        let row = try session.run(
            """
            SELECT current_setting('server_version_num')::int8, current_setting('server_version'), session_user::text,
                current_database()::text, has_database_privilege('public', current_database(), 'CONNECT')
            """, []
        ).only()
        let text = "PostgreSQL \(try row.text(1)), as \(try row.text(2)) in \(try row.text(3))"
        guard try row.integer(0) >= oldestServer else {
            return .error(.connection, text, "Upgrade the server to version 15 or later.")
        }
        guard try !row.boolean(4) else {
            return .warning(
                .connection, "\(text); every role of the server may connect",
                "Run config/postgresql-roles.sql as the owner of the database.")
        }
        return .good(.connection, text)
    }

    private static func transport(
        _ session: PostgreSQLConnection, _ transport: Transport
    ) throws(DatabaseError) -> StoreFinding {
        let row = try session.run(
            "SELECT ssl, coalesce(version, '') FROM pg_stat_ssl WHERE pid = pg_backend_pid()", []
        ).first
        let version = try row.map { row throws(DatabaseError) in try row.boolean(0) ? try row.text(1) : "" } ?? ""
        let tls = version.isEmpty ? "no TLS" : version
        switch transport {
        case .local: return .good(.transport, "\(tls), on this machine")
        case .verified: return .good(.transport, "\(tls), to a verified server")
        case .unverified:
            return .warning(
                .transport, "\(tls), to a server that nobody has verified",
                "Use sslmode=verify-full, and remove ALLOW_INSECURE_STORE_TLS.")
        }
    }

    /// Whether it can be written, and keeps what it confirms.
    private static func server(_ session: PostgreSQLConnection) throws(DatabaseError) -> StoreFinding {
        let row = try session.run(
            """
            SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::bool,
                (SELECT coalesce(string_agg(n, ', ' ORDER BY n), '')
                    FROM unnest(ARRAY['autovacuum', 'fsync', 'full_page_writes']) n
                    WHERE current_setting(n) = 'off'), current_setting('synchronous_standby_names') <> ''
            """, []
        ).only()
        guard try !row.boolean(0) else {
            return .error(.server, "it only reads: a standby, or read-only", "Name the server that can be written.")
        }
        let off = try row.text(1)
        guard off.isEmpty else {
            return .error(
                .server, "switched off: \(off)", "Switch it on (postgresql.conf), or what is confirmed may be lost.")
        }
        let standby = try row.boolean(2) ? "and on a synchronous standby" : "there is no synchronous standby"
        return .good(.server, "can be written; what it confirms is on its disk, \(standby)")
    }

    // MARK: The content

    private static func incarnation(_ session: PostgreSQLConnection) throws(DatabaseError) -> StoreFinding {
        let row = try session.run("SELECT place = portcullis.home_place(true) FROM portcullis.home", []).first
        let isOwn = try row.map { row throws(DatabaseError) in try row.boolean(0) }
        switch isOwn {
        case true?: return .good(.incarnation, "the database has one")
        case false?: return .good(.incarnation, "it is of another database: the first gateway begins a new one")
        case nil: return .good(.incarnation, "none yet: the first gateway begins one")
        }
    }

    private static func content(
        _ session: PostgreSQLConnection, _ sealing: any SecretSealing, _ rules: any RecordRules
    ) -> [StoreFinding] {
        let content: PostgreSQLTransfer
        do throws(PostgreSQLSchemaError) {
            content = try PostgreSQLTransfer(session, sealing: sealing, reading: true)
        } catch {
            return [.error(.records, "\(error)", "Look at the server's log.")]
        }
        return [secrets(content)] + records(content, rules)
    }

    private static func secrets(_ content: PostgreSQLTransfer) -> StoreFinding {
        do throws(KeyRegistryError) {
            let signers = try content.transferableSigningKeys().keys.count
            let others = try content.transferableSecrets().count
            return .good(.secrets, "all can be read: \(signers) signing keys, \(others) others")
        } catch {
            return .error(
                .secrets, error.cause, "Use the file of STORE_SECRETS_KEY_PATH that the other gateways have.")
        }
    }

    /// Reads every record, as a tool does that doesn't trust the database.
    private static func records(_ content: PostgreSQLTransfer, _ rules: any RecordRules) -> [StoreFinding] {
        let remedy = "Find out who has stored it; remove it, or restore a backup."
        var survey = StoreSurvey(by: rules)
        do throws(KeyRegistryError) {
            try content.survey(into: &survey)
        } catch {
            return survey.findings(remedy).filter { $0.grade == .error }
                + [.error(.records, error.cause, "Look at the server's log; restore a backup if rows are damaged.")]
        }
        return survey.findings(remedy)
    }
}
