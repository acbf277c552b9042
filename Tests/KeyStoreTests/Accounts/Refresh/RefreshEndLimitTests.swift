import GRDB
import KeyStore
import KeyStorePostgreSQL
import PostgreSQL
import Testing

@testable import KeyStoreSQLite

/// Clients end families, so what is kept and read of that is bounded.
@Suite("The ends of families that clients cause")
struct RefreshEndLimitTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func registry() async throws -> SQLiteKeyRegistry {
        let store = try SQLiteKeyRegistry(path: directory.file("keys.sqlite"), limits: .patient)
        for byte in 1...UInt8(2) { _ = try await store.begin(.sample(byte), maximum: 10) }
        return store
    }

    private func run(_ sql: String) throws {
        try DatabaseQueue(path: directory.file("keys.sqlite")).write { try $0.execute(sql: sql) }
    }

    private func count(_ table: String) throws -> Int {
        try DatabaseQueue(path: directory.file("keys.sqlite")).read {
            try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)") ?? -1
        }
    }

    private func end(_ numbers: some Sequence<Int>, of account: UInt8 = 1, in store: some AccountStore) async throws {
        for number in numbers {
            let beginner = RefreshBeginner.passkey(.sample(Int(account)))
            #expect(try await store.begin(.sample(number, account: account, beginner: beginner)) == .begun)
            #expect(try await store.end(.family(.sample(number)), at: 5) == 1)
        }
    }

    // MARK: Kept

    @Test func `are kept up to a maximum of each account, in a file`() async throws {
        let store = try await registry()
        let (few, most) = (RefreshLimits.maximumEnds, RefreshLimits.maximumRecentEnds)
        try await end(1...few, in: store)
        try await end([1_000], of: 2, in: store)
        #expect(try count("account_end") == few + 1)
        try run("UPDATE account_end SET ended_at = ended_at - \(RefreshLimits.recentMilliseconds + 1)")
        try await end([500], in: store)
        #expect(try count("account_end") == few + 1)
        let told = try #require(try SQLiteRevocations(of: store.database).look()).families
        #expect(!told.contains(.sample(1)) || !told.contains(.sample(2)))
        #expect(told.contains(.sample(500)) && told.contains(.sample(1_000)))
        // Of the last ten minutes more are kept, since a gateway may have to read all again.
        try await end(501...501 + few, in: store)
        #expect(try count("account_end") == few + 3)
        try run(
            """
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(most))
            INSERT INTO account_end
            SELECT 4, CAST(a.account_id || printf('%016d', i) AS BLOB), \(SQLiteRevocations.now - 1_000)
            FROM n, (SELECT account_id FROM account ORDER BY account_id LIMIT 1) AS a
            """)
        try await end([700], in: store)
        #expect(try count("account_end") == most + 1)
        #expect(try SQLiteRevocations(of: store.database).look()?.families.contains(.sample(700)) == true)
    }

    @Test func `are kept up to a maximum of each account, in a database`() async throws {
        let database = try await FleetDatabase()
        let store = database.registry
        for byte in 1...UInt8(2) { _ = try await store.begin(.sample(byte), maximum: 10) }
        func kept() throws -> Int64 {
            try database.session().run("SELECT count(*) FROM portcullis.account_end", []).only().integer(0)
        }
        let (few, most) = (RefreshLimits.maximumEnds, RefreshLimits.maximumRecentEnds)
        try await end(1...few, in: store)
        try await end([1_000], of: 2, in: store)
        #expect(try kept() == Int64(few + 1))
        let age = "UPDATE portcullis.account_end SET ended_at = ended_at - \(RefreshLimits.recentMilliseconds + 1)"
        try database.session().run(age)
        let feed = PostgreSQLRevocations(of: try database.anotherRegistry())
        _ = try await feed.news()
        try await end(500..<500 + few, in: store)
        #expect(try kept() == Int64(few + 1))
        // Whoever listens hears of all of them.
        #expect(try await feed.ifChanged()?.families.count == 2 * few + 1)
        // Of the last ten minutes more are kept, since a gateway may have to read all again.
        try await end([600], in: store)
        #expect(try kept() == Int64(few + 2))
        let another = PostgreSQLRevocations(of: try database.anotherRegistry())
        #expect(try await another.ifChanged()?.families.count == few + 2)
        try database.session().run(
            """
            INSERT INTO portcullis.account_end
            SELECT 4, a.account_id || decode(lpad(to_hex(n), 32, '0'), 'hex'),
                portcullis.milliseconds(clock_timestamp()) - 1000
            FROM generate_series(1, \(most)) AS n,
                (SELECT account_id FROM portcullis.account ORDER BY account_id LIMIT 1) AS a
            """)
        try await end([601], in: store)
        #expect(try kept() == Int64(most + 1))
    }

    @Test func `are forgotten in batches, in a file`() async throws {
        let store = try await registry()
        let batch = AccountLimits.maximumExpired
        // An account that is there stays closed.
        try run(
            """
            INSERT INTO account_end SELECT 1, account_id, 0 FROM account LIMIT 1;
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <= \(batch))
            INSERT INTO account_end SELECT 4, CAST(printf('%032d', i) AS BLOB), i FROM n
            """)
        for left in [2, 1, 1] {
            let time = AccountLimits.endKeptMilliseconds + Int64(batch) + 2
            #expect(try await store.expireAccounts(madeBefore: 0, at: time) == 0)
            #expect(try count("account_end") == left)
        }
    }

    @Test func `are forgotten in batches, and not those that another one is forgetting, in a database`() async throws {
        let database = try await FleetDatabase()
        let (store, session) = (database.registry, try database.session())
        _ = try await store.begin(.sample(1), maximum: 10)
        let batch = AccountLimits.maximumExpired
        try session.run(
            """
            INSERT INTO portcullis.account_end SELECT 1, account_id, 0 FROM portcullis.account;
            INSERT INTO portcullis.account_end
            SELECT 4, decode(lpad(to_hex(n), 64, '0'), 'hex'), n FROM generate_series(1, \(batch + 4)) AS n
            """)
        func expire() async throws -> Int64 {
            let time = AccountLimits.endKeptMilliseconds + Int64(batch) + 5
            #expect(try await store.expireAccounts(madeBefore: 0, at: time) == 0)
            return try session.run("SELECT count(*) FROM portcullis.account_end", []).only().integer(0)
        }
        let other = try database.session()
        try other.run("BEGIN; DELETE FROM portcullis.account_end WHERE kind = 4 AND ended_at <= 3")
        #expect(try await expire() == 5)
        try other.run("COMMIT")
        #expect(try await expire() == 1)
    }

    // MARK: Read

    @Test func `are read one by one, and not those of before`() async throws {
        let store = try await registry()
        let revocations = try SQLiteRevocations(of: store.database)
        try await end(1...3, in: store)
        #expect(try revocations.look()?.families == [.sample(1), .sample(2), .sample(3)])
        // Whoever reads them again doesn't find them.
        try run("UPDATE account_end SET ended_at = 0")
        try await end([4], in: store)
        #expect(try revocations.look()?.families == [.sample(1), .sample(2), .sample(3), .sample(4)])
        #expect(try SQLiteRevocations(of: store.database).look()?.families == [.sample(4)])
    }

    @Test func `are as many rows as there are new ones`() async throws {
        let store = try await registry()
        try await end(1...50, in: store)
        let last = try store.database.readers.use { try AccountEndChanges.newest(in: $0) }
        let position = try #require(last)
        try await end([60], in: store)
        let changes = try store.database.readers.use { try AccountEndChanges(after: position, in: $0) }
        #expect(changes?.subjects.count == 1)
        #expect(changes?.subjects.first?.kind == .family)
    }

    @Test func `are read again by those who have missed some`() async throws {
        let store = try await registry()
        let revocations = try SQLiteRevocations(of: store.database)
        try await end([1], in: store)
        #expect(try revocations.look()?.families == [.sample(1)])
        let (more, now) = (AccountEndChanges.maximum, SQLiteRevocations.now)
        func accounts(_ numbers: ClosedRange<Int>) throws {
            try run(
                """
                WITH RECURSIVE n (i) AS (SELECT \(numbers.lowerBound) UNION ALL
                    SELECT i + 1 FROM n WHERE i < \(numbers.upperBound))
                INSERT INTO account_end SELECT 1, CAST(printf('%016d', i) AS BLOB), \(now) FROM n
                """)
        }
        // The last one of before is still there.
        try accounts(1...more - 1)
        #expect(try count("account_end_change") == more)
        #expect(try revocations.look()?.accounts.count == more - 1)
        // And now it isn't.
        try accounts(more...2 * more - 1)
        #expect(try count("account_end_change") == more)
        let all = try #require(try revocations.look())
        #expect(all.accounts.count == 2 * more - 1 && all.families == [.sample(1)])
    }

    /// What has ended is named nowhere in the end.
    @Test func `are no change when they are forgotten, and a change is forgotten after an hour`() async throws {
        let store = try await registry()
        let revocations = try SQLiteRevocations(of: store.database)
        try await end(1...3, in: store)
        #expect(try revocations.look()?.families.count == 3)
        try run("DELETE FROM account_end WHERE kind = 4")
        #expect(try count("account_end_change") == 3)
        #expect(try revocations.look() == nil)
        try run("UPDATE account_end_change SET changed_at = changed_at - 3600001 WHERE seq = 2")
        let now = SQLiteRevocations.now
        _ = try await store.expireAccounts(madeBefore: 0, at: now)
        // The first one is as old: none between others is forgotten.
        #expect(try count("account_end_change") == 3)
        try run("UPDATE account_end_change SET changed_at = changed_at - 3600001 WHERE seq = 1")
        _ = try await store.expireAccounts(madeBefore: 0, at: now)
        #expect(try count("account_end_change") == 1)
        _ = try await store.expireAccounts(madeBefore: 0, at: now + 2 * AccountLimits.endRememberedMilliseconds)
        #expect(try count("account_end_change") == 0)
        #expect(try revocations.look() == nil)
        try await end([4], in: store)
        #expect(try revocations.look()?.families == [.sample(4)])
    }

    @Test func `are read again in an older copy, whose numbers begin again`() async throws {
        let store = try await registry()
        let revocations = try SQLiteRevocations(of: store.database)
        try await end(1...2, in: store)
        #expect(try revocations.look()?.families.count == 2)
        try run("UPDATE account_end_change SET mark = mark + 1; UPDATE account_end SET ended_at = 0")
        try await end([3], in: store)
        #expect(try revocations.look()?.families == [.sample(3)])
    }

    @Test func `are told in parts where all are read again, in a file`() async throws {
        let store = try await registry()
        try run(
            """
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)
            INSERT INTO account_end SELECT 1, CAST(printf('%016d', i) AS BLOB), \(SQLiteRevocations.now) FROM n
            """)
        let revocations = try SQLiteRevocations(of: store.database)
        var (told, answers) = (Set<AccountID>(), 0)
        while let answer = try revocations.look() {
            #expect(answer.accounts.count <= RememberedEnds.maximum + 10_000)
            told.formUnion(answer.accounts)
            answers += 1
        }
        #expect(told.count == 50_000 && answers > 2)
        try await end([1], in: store)
        #expect(try revocations.look()?.families == [.sample(1)])
    }

    /// An operator ends all: at each look there are more changes than are kept.
    @Test func `are all told though changes are missed at every look, in a file`() async throws {
        let store = try await registry()
        func end(_ numbers: ClosedRange<Int>) throws {
            try run(
                """
                WITH RECURSIVE n (i) AS (SELECT \(numbers.lowerBound) UNION ALL SELECT i + 1 FROM n
                    WHERE i < \(numbers.upperBound))
                INSERT INTO account_end SELECT 1, CAST(printf('%016d', i) AS BLOB), \(SQLiteRevocations.now) FROM n
                """)
        }
        try end(1...50_000)
        let revocations = try SQLiteRevocations(of: store.database)
        var told = Set<AccountID>()
        for look in 0..<6 {
            // They are in front of what is read next, and behind it.
            let first = 50_001 + look * 2 * (AccountEndChanges.maximum + 1)
            try end(first...first + AccountEndChanges.maximum)
            told.formUnion(try #require(try revocations.look()).accounts)
        }
        // While that went on, the first 50,000 were told.
        #expect(told.count >= 50_000)
        while let answer = try revocations.look() { told.formUnion(answer.accounts) }
        #expect(told.count == 50_000 + 6 * (AccountEndChanges.maximum + 1))
    }

    @Test func `that can't be read keep nothing else from being told, in a database`() async throws {
        let database = try await FleetDatabase()
        let session = try database.session()
        _ = try await database.registry.enrol(.sample(1))
        _ = try await database.registry.revoke(.sample(1), reason: "lost", at: 1)
        let account = try #require(AccountID(bytes: [UInt8](repeating: 7, count: AccountID.length)))
        try session.run(
            """
            INSERT INTO portcullis.account_end
            VALUES (1, decode(repeat('07', 16), 'hex'), portcullis.milliseconds(clock_timestamp()));
            ALTER TABLE portcullis.account_end RENAME TO hidden
            """)
        let feed = PostgreSQLRevocations(of: database.registry)
        let first = try #require(try await feed.ifChanged())
        #expect(first.keys == [.sample(1)] && first.accounts.isEmpty)
        await #expect(throws: KeyRegistryError.self) { try await feed.ifChanged() }
        try session.run("ALTER TABLE portcullis.hidden RENAME TO account_end")
        #expect(try await feed.ifChanged()?.accounts == [account])
    }

    @Test func `are told in parts where all are read again, in a database`() async throws {
        let database = try await FleetDatabase()
        try database.session().run(
            """
            INSERT INTO portcullis.account_end
            SELECT 1, decode(lpad(to_hex(n), 32, '0'), 'hex'), portcullis.milliseconds(clock_timestamp())
            FROM generate_series(1, 50000) AS n
            """)
        let feed = PostgreSQLRevocations(of: database.registry)
        // Until it is told, no more is read.
        for _ in 0..<3 { _ = try await feed.news() }
        var (told, answers) = (Set<AccountID>(), 0)
        await feed.told()
        while let answer = try await feed.ifChanged() {
            #expect(answer.accounts.count <= RememberedEnds.maximum + 10_000)
            told.formUnion(answer.accounts)
            answers += 1
        }
        #expect(told.count == 50_000 - 20_000 + RememberedEnds.maximum && answers > 1)
    }

    // MARK: Remembered

    @Test func `are remembered up to a maximum, and for an hour`() {
        var (ends, known) = (RememberedEnds(), StoreRevocations())
        func subject(_ number: Int) -> EndedSubject {
            let bytes = (0..<AccountID.length).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
            return EndedSubject(.account, bytes)
        }
        for number in 0..<RememberedEnds.maximum { ends.note(subject(number), at: Int64(number), in: &known) }
        #expect(ends.count == RememberedEnds.maximum && known.accounts.count == RememberedEnds.maximum)
        // Heard again, it is the newest.
        ends.note(subject(0), at: 20_000, in: &known)
        ends.note(subject(-1), at: 20_001, in: &known)
        // All are told first.
        #expect(ends.count == RememberedEnds.maximum + 1 && known.accounts.count == RememberedEnds.maximum + 1)
        ends.forgetOld(at: 20_001, in: &known)
        #expect(ends.count == RememberedEnds.maximum && known.accounts.count == RememberedEnds.maximum)
        let left = [0, 1, -1].map { known.accounts.contains(AccountID(bytes: subject($0).bytes) ?? .sample(0)) }
        #expect(left == [true, false, true])
        ends.forget(subject(0), in: &known)
        #expect(ends.count == RememberedEnds.maximum - 1)
        ends.forgetOld(at: 20_001 + AccountLimits.endRememberedMilliseconds, in: &known)
        #expect(ends.count == 1 && known.accounts.count == 1)
        ends.forgetAll(in: &known)
        #expect(ends.count == 0 && known == StoreRevocations())
    }
}
