import KeyStore
import KeyStorePostgreSQL
import PostgreSQL
import PostgreSQLTestKit
import Testing

@Suite("The housekeeping of a fleet's store")
struct PostgreSQLUpkeepTests {
    private static let hour = 3_600_000

    private let database: FleetDatabase
    private let gateways: [PostgreSQLKeyRegistry]

    init() async throws {
        let database = try await FleetDatabase()
        self.database = database
        gateways = try (0..<4).map { _ in try database.anotherRegistry() }
    }

    /// How many of many gateways that ask at once are told to do it.
    private func elected(pause: Int = hour) async throws -> Int {
        let gateways = gateways
        return try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<16 { group.addTask { try await gateways[number % 4].beginUpkeep(pause: pause) } }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
    }

    @Test func `is the task of one gateway in each pause`() async throws {
        #expect(try await elected() == 1)
        #expect(try await elected() == 0)
        for began in ["- interval '59 min'", "+ interval '59 min'"] {
            try database.session().run("UPDATE portcullis.upkeep SET began = clock_timestamp() \(began)")
            #expect(try await elected() == 0)
        }
        // The other one: a server's clock that was ahead.
        for began in ["- interval '61 min'", "+ interval '61 min'"] {
            try database.session().run("UPDATE portcullis.upkeep SET began = clock_timestamp() \(began)")
            #expect(try await elected() == 1, "\(began)")
        }
        // As a crash of the server does.
        try database.session().run("TRUNCATE portcullis.upkeep")
        #expect(try await elected() == 1)
    }

    @Test func `keeps nobody waiting who isn't told to do it`() async throws {
        #expect(try await gateways[0].beginUpkeep(pause: Self.hour))
        let session = try database.session()
        try session.run("UPDATE portcullis.upkeep SET began = '-infinity'")
        try session.run("BEGIN")
        #expect(try session.run("SELECT portcullis.begin_upkeep(3600000)", []).only().boolean(0))
        // It is still due for whoever doesn't see the lock.
        #expect(try await !gateways[1].beginUpkeep(pause: Self.hour))
        try session.run("COMMIT")
        #expect(try await !gateways[1].beginUpkeep(pause: Self.hour))
    }

    @Test func `forgets what very many clients had at gateways that aren't members any more`() async throws {
        let member = PostgreSQLKeyRegistry.Membership(id: "g1", name: "g1:6200", version: "1")
        _ = try await gateways[0].beat(member, uptime: 0, .init())
        try database.session().run(
            """
            INSERT INTO portcullis.holding (holder, gateway, sessions, detached)
            SELECT sha256(int4send(n)), 'g' || n % 3, 1, 0 FROM generate_series(1, 18000) n
            """)
        try await gateways[0].forgetHoldings()
        let left = "SELECT count(*), min(gateway), max(gateway) FROM portcullis.holding"
        let row = try database.session().run(left, []).only()
        #expect(try row.integer(0) == 6_000)
        #expect(try row.text(1) == "g1" && row.text(2) == "g1")
    }

    /// Rows of the marks' table that one round reads, when nothing has expired.
    private func readMarks(maximum: Int) throws -> Int64 {
        let session = try database.session()
        return try session.transaction { () throws(DatabaseError) in
            try session.run("SELECT portcullis.forget_marks(0, \(maximum), 5000)")
            let read = """
                SELECT (seq_tup_read + coalesce(idx_tup_fetch, 0))::int8 FROM pg_stat_xact_user_tables
                WHERE relid = 'portcullis.spent'::regclass
                """
            return try session.run(read, []).only().integer(0)
        }
    }

    private func isFull() throws -> Bool {
        try database.session().run("SELECT is_full FROM portcullis.home", []).only().boolean(0)
    }

    @Test func `counts marks only if there may be too many`() async throws {
        _ = try await gateways[0].incarnation()
        // The smallest ones that there can be.
        try database.session().run(
            """
            INSERT INTO portcullis.spent SELECT 1, substr(int4send(n), 4), 900000000000000 FROM generate_series(0, 255) n;
            INSERT INTO portcullis.spent SELECT 2, int4send(n), 900000000000000 FROM generate_series(1, 20000) n
            """)
        try database.session().run("VACUUM ANALYZE portcullis.spent")
        #expect(try readMarks(maximum: 5_000_000) == 0)
        #expect(try !isFull())
        _ = try readMarks(maximum: 20_256)
        #expect(try !isFull())
        _ = try readMarks(maximum: 20_255)
        #expect(try isFull())
    }

    /// Whoever makes a change waits for the row that is locked meanwhile.
    @Test func `forgets changes in parts`() async throws {
        let session = try database.session()
        try session.run(
            "INSERT INTO portcullis.changes (kind, subject) SELECT 1, '' FROM generate_series(1, 125000)")
        func left() throws -> Int64 {
            let row = try session.run(
                "SELECT count(*), min(seq) - (SELECT forgotten_through FROM portcullis.feed) FROM portcullis.changes",
                []
            ).only()
            #expect(try row.integer(1) == 1)
            return try row.integer(0)
        }
        for expected in [115_000, 105_000, 100_000, 100_000] as [Int64] {
            try await gateways[0].forgetChanges()
            #expect(try left() == expected)
        }
    }
}
