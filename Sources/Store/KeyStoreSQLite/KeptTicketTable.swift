import FoundationEssentials
import GRDB
import KeyStore

/// The statements on `kept_ticket`. No function begins a transaction.
///
/// Rows are in the order in which tickets were kept, which tells the newest ones of a session.
enum KeptTicketTable {
    /// The indexes, by name and columns.
    static let indexes = [("kept_ticket_session", "session"), ("kept_ticket_expires", "expires_at")]

    /// Older stores don't have it yet. Older programs work with it: their next tickets end with them.
    static func create(in database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS kept_ticket (
                    number INTEGER NOT NULL PRIMARY KEY,
                    hash BLOB NOT NULL UNIQUE CHECK (length(hash) = \(KeptTicket.hashBytes)),
                    session BLOB NOT NULL CHECK (length(session) = \(SessionMark.byteCount)),
                    holder BLOB NOT NULL CHECK (length(holder) = \(HolderMark.byteCount)),
                    content BLOB NOT NULL,
                    expires_at INTEGER NOT NULL
                ) STRICT;
                """)
        for (name, columns) in indexes {
            try database.execute(sql: "CREATE INDEX IF NOT EXISTS \(name) ON kept_ticket (\(columns))")
        }
    }

    /// Throws if an expected table or column is missing.
    static func checkStatements(_ database: Database) throws { _ = try database.makeStatement(sql: selection) }

    static func count(in database: Database) throws -> Int {
        try Int.fetchOne(database.cachedStatement(sql: "SELECT count(*) FROM kept_ticket")) ?? 0
    }

    static func knows(_ hash: [UInt8], in database: Database) throws -> Bool {
        let statement = try database.cachedStatement(sql: "SELECT 1 FROM kept_ticket WHERE hash = ?")
        return try Row.fetchOne(statement, arguments: [Data(hash)]) != nil
    }

    /// Of a session all but the newest tickets, which stay when one more is kept.
    static func older(of session: SessionMark, in database: Database) throws -> [Int64] {
        let statement = try database.cachedStatement(
            sql: """
                SELECT number FROM kept_ticket WHERE session = ? ORDER BY number DESC
                LIMIT -1 OFFSET \(KeptTicket.perSession - 1)
                """)
        return try Int64.fetchAll(statement, arguments: [Data(session.bytes)])
    }

    static func remove(_ numbers: [Int64], in database: Database) throws {
        let statement = try database.cachedStatement(sql: "DELETE FROM kept_ticket WHERE number = ?")
        for number in numbers { try statement.execute(arguments: [number]) }
    }

    static func insert(_ ticket: KeptTicket, into database: Database) throws {
        try database.cachedStatement(
            sql: "INSERT INTO kept_ticket (hash, session, holder, content, expires_at) VALUES (?, ?, ?, ?, ?)"
        ).execute(arguments: [
            Data(ticket.hash), Data(ticket.session.bytes), Data(ticket.holder.bytes), Data(ticket.content),
            ticket.expires,
        ])
    }

    static func fetch(_ hash: [UInt8], from database: Database) throws -> KeptTicket? {
        let statement = try database.cachedStatement(sql: selection + " WHERE hash = ?")
        return try Row.fetchOne(statement, arguments: [Data(hash)]).map(ticket)
    }

    static func fetch(number: Int64, from database: Database) throws -> KeptTicket? {
        try Row.fetchOne(database, sql: selection + " WHERE number = ?", arguments: [number]).map(ticket)
    }

    /// - Returns: whether there was one with this hash.
    static func use(_ hash: [UInt8], in database: Database) throws -> Bool {
        let statement = try database.cachedStatement(
            sql: "DELETE FROM kept_ticket WHERE session = (SELECT session FROM kept_ticket WHERE hash = ?)")
        try statement.execute(arguments: [Data(hash)])
        return database.changesCount > 0
    }

    /// This one alone.
    static func remove(_ hash: [UInt8], in database: Database) throws {
        try database.cachedStatement(sql: "DELETE FROM kept_ticket WHERE hash = ?").execute(arguments: [Data(hash)])
    }

    static func shorten(ofSession session: SessionMark, to time: Int64, in database: Database) throws {
        try database.cachedStatement(
            sql: "UPDATE kept_ticket SET expires_at = ?1 WHERE session = ?2 AND expires_at > ?1"
        ).execute(arguments: [time, Data(session.bytes)])
    }

    static func has(expiredAt time: Int64, in database: Database) throws -> Bool {
        let statement = try database.cachedStatement(sql: "SELECT 1 FROM kept_ticket WHERE expires_at <= ? LIMIT 1")
        return try Row.fetchOne(statement, arguments: [time]) != nil
    }

    static func forget(expiredAt time: Int64, in database: Database) throws {
        try database.cachedStatement(sql: "DELETE FROM kept_ticket WHERE expires_at <= ?").execute(arguments: [time])
    }

    static func remove(of holders: [HolderMark], in database: Database) throws {
        for holder in holders {
            try database.execute(sql: "DELETE FROM kept_ticket WHERE holder = ?", arguments: [Data(holder.bytes)])
        }
    }

    static func removeAll(in database: Database) throws { try database.execute(sql: "DELETE FROM kept_ticket") }

    private static let selection = "SELECT hash, session, holder, content, expires_at FROM kept_ticket"

    /// Reads a row of `selection`. A value of the wrong type or size means a damaged file.
    private static func ticket(_ row: Row) throws -> KeptTicket {
        guard case .blob(let hash) = (row[0] as DatabaseValue).storage,
            case .blob(let sessionBytes) = (row[1] as DatabaseValue).storage,
            case .blob(let holderBytes) = (row[2] as DatabaseValue).storage,
            case .blob(let content) = (row[3] as DatabaseValue).storage,
            case .int64(let expires) = (row[4] as DatabaseValue).storage,
            let session = SessionMark(bytes: [UInt8](sessionBytes)),
            let holder = HolderMark(bytes: [UInt8](holderBytes)),
            let ticket = KeptTicket(
                hash: [UInt8](hash), session: session, holder: holder, content: [UInt8](content), expires: expires)
        else { throw DeviceKeyTable.damage }
        return ticket
    }
}
