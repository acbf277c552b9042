import FoundationEssentials
import KeyStore
import KeyStorePostgreSQL
import KeyStoreSQLite
import PostgreSQL
import Testing

/// What other processes hear of families that were ended, and what becomes of families in copies of a store.
@Suite("The end of a family of refresh tokens")
struct RefreshEndTests {
    private func fill(_ store: some AccountStore) async throws {
        _ = try await store.begin(.sample(1), maximum: 10)
        #expect(try await store.begin(.sample()) == .begun)
        #expect(try await store.use(.sample(0, to: 1)).isRotated)
    }

    private func copyFiles(_ names: [String], of path: String, to target: String) throws {
        for name in names {
            try? FileManager.default.removeItem(atPath: target + name)
            try FileManager.default.copyItem(atPath: path + name, toPath: target + name)
        }
    }

    @Test func `is told to those who use the file, by its name`() async throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteKeyRegistry(path: directory.file("keys.sqlite"), limits: .patient)
        let changes = try SQLiteRevocations(of: store)
        try await fill(store)
        _ = try await changes.ifChanged()
        #expect(try await store.use(.sample(1, to: 2)).isRotated)
        #expect(try await changes.ifChanged() == nil)
        #expect(try await store.use(.sample(0, to: 2)) == .reused(.sample(1)))
        #expect(try await changes.ifChanged()?.families == [.sample(1)])
    }

    @Test func `is told to a fleet, by its name and its account's`() async throws {
        let database = try await FleetDatabase()
        let feed = PostgreSQLRevocations(of: try database.anotherRegistry())
        try await fill(database.registry)
        _ = try await feed.news()
        #expect(try await database.registry.use(.sample(0, to: 2, at: 3_000)).repeatedSealed == [1])
        #expect(try await feed.news()?.revocations == nil)
        #expect(try await database.registry.end(.family(.sample(1)), at: 5) == 1)
        let news = try #require(try await feed.news())
        #expect(news.revocations?.families == [.sample(1)] && news.accounts == [.sample(1)])
    }

    @Test func `comes at once for a great many, and is told to a fleet bit by bit`() async throws {
        let database = try await FleetDatabase()
        let store = database.registry
        try await fill(store)
        let count = 3 * RefreshLimits.maximumToldAtOnce
        let columns = "account_id, epoch, beginner_kind, beginner, key, hash, began_at, used_at, expires_at"
        try database.session().run(
            """
            INSERT INTO portcullis.refresh_family (family_id, \(columns))
            SELECT decode(lpad(to_hex(n), 32, '0'), 'hex'), \(columns)
            FROM portcullis.refresh_family, generate_series(1, \(count)) AS n
            """)
        #expect(try await store.end(.all, at: 5) == count + 1)
        #expect(try await store.use(.sample(1, to: 2)) == .unknown)
        #expect(try await store.families(of: .sample(1)).isEmpty)
        var (rest, ended) = (0, 0)
        repeat {
            ended = try await store.expireFamilies(at: 0)
            #expect(ended <= RefreshLimits.maximumExpired)
            rest += ended
        } while ended > 0
        #expect(rest == count + 1 - RefreshLimits.maximumToldAtOnce)
        #expect(try await store.begin(.sample(2)) == .begun)
    }

    @Test func `comes with the revocation of the device that began it`() async throws {
        let directory = try TemporaryDirectory()
        let database = try await FleetDatabase()
        let stores: [any AccountStore & KeyRegistry] = [
            try SQLiteKeyRegistry(path: directory.file("keys.sqlite"), limits: .patient), database.registry,
        ]
        for store in stores {
            _ = try await store.begin(.sample(1), maximum: 10)
            _ = try await store.enrol(.sample(1))
            _ = try await store.join(.sample(1), to: .sample(1))
            #expect(try await store.begin(.sample(beginner: .device(.sample(1)))) == .begun)
            #expect(try await store.revoke(.sample(1), reason: "lost", at: 5))
            #expect(try await store.use(.sample(0, to: 1)) == .unknown)
            #expect(try await store.begin(.sample(2, beginner: .device(.sample(1)))) == .ended)
        }
    }

    @Test func `doesn't come with a restart`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("keys.sqlite")
        try await fill(try SQLiteKeyRegistry(path: path, limits: .patient))
        let again = try SQLiteKeyRegistry(path: path, limits: .patient)
        #expect(try await again.use(.sample(1, to: 2)).isRotated)
        #expect(try await SQLiteKeyRegistry(path: path, limits: .patient).use(.sample(2, to: 3)).isRotated)
    }

    @Test func `comes with an older copy in the place of the file`() async throws {
        let directory = try TemporaryDirectory()
        let (path, copy) = (directory.file("keys.sqlite"), directory.file("copy.sqlite"))
        do {
            let store = try SQLiteKeyRegistry(path: path, limits: .patient)
            try await fill(store)
            try await store.checkpoint()
            try copyFiles([""], of: path, to: copy)
            #expect(try await store.use(.sample(1, to: 2)).isRotated)
        }
        for name in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + name) }
        try copyFiles([""], of: copy, to: path)
        let restored = try SQLiteKeyRegistry(path: path, limits: .patient)
        #expect(try await restored.use(.sample(1, to: 3)) == .unknown)
        #expect(try await restored.families(of: .sample(1)) == [])
        #expect(try await restored.begin(.sample(2)) == .begun)
        #expect(try await SQLiteKeyRegistry(path: path, limits: .patient).use(.sample(0, to: 1, of: 2)).isRotated)
    }

    @Test func `comes with an older copy, also after one that had none`() async throws {
        let directory = try TemporaryDirectory()
        let (path, early, late) = (
            directory.file("keys.sqlite"), directory.file("early.sqlite"), directory.file("late.sqlite")
        )
        func putBack(_ copy: String) throws {
            for name in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + name) }
            try copyFiles([""], of: copy, to: path)
        }
        // Each stays open, so that none removes files of the next one when it is closed.
        let store = try SQLiteKeyRegistry(path: path, limits: .patient)
        _ = try await store.begin(.sample(1), maximum: 10)
        try await store.checkpoint()
        try copyFiles([""], of: path, to: early)
        #expect(try await store.begin(.sample()) == .begun)
        #expect(try await store.use(.sample(0, to: 1)).isRotated)
        try await store.checkpoint()
        try copyFiles([""], of: path, to: late)
        #expect(try await store.use(.sample(1, to: 2)).isRotated)
        try putBack(early)
        let restored = try SQLiteKeyRegistry(path: path, limits: .patient)
        #expect(try await restored.begin(.sample(2)) == .begun)
        let again = try SQLiteKeyRegistry(path: path, limits: .patient)
        #expect(try await again.use(.sample(0, to: 1, of: 2)).isRotated)
        try putBack(late)
        #expect(try await SQLiteKeyRegistry(path: path, limits: .patient).use(.sample(1, to: 3)) == .unknown)
        withExtendedLifetime([store, restored, again]) {}
    }

    @Test func `comes with a copy at another place, and with a backup`() async throws {
        let directory = try TemporaryDirectory()
        let (path, copy, backup) = (
            directory.file("keys.sqlite"), directory.file("copy.sqlite"), directory.file("backup.sqlite")
        )
        let store = try SQLiteKeyRegistry(path: path, limits: .patient)
        try await fill(store)
        try await store.checkpoint()
        try copyFiles([""], of: path, to: copy)
        _ = try SQLiteBackup(of: path, to: backup, replacing: false)
        for other in [copy, backup] {
            let opened = try SQLiteKeyRegistry(path: other, limits: .patient)
            #expect(try await opened.families(of: .sample(1)) == [])
        }
        #expect(try await store.use(.sample(1, to: 2)).isRotated)
    }

    @Test func `doesn't come with a link to the store`() async throws {
        let directory = try TemporaryDirectory()
        let (path, link) = (directory.file("keys.sqlite"), directory.file("link.sqlite"))
        let store = try SQLiteKeyRegistry(path: path, limits: .patient)
        try await fill(store)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        let linked = try SQLiteKeyRegistry(path: link, limits: .patient)
        #expect(try await linked.families(of: .sample(1)).count == 1)
        #expect(try await store.families(of: .sample(1)).count == 1)
    }

    @Test func `comes with another database, row, or timeline that nobody was waited for`() async throws {
        let database = try await FleetDatabase()
        let store = database.registry
        try await fill(store)
        let moves: [(change: String, isKept: Bool)] = [
            ("standbys = 's1'", true), ("timeline = '00000000'", false),
            ("standbys = '*', timeline = '00000000'", false), ("place = '\\x00'", false), ("marked = '\\x00'", false),
        ]
        for (index, move) in moves.enumerated() {
            let number = 10 + index
            #expect(try await store.begin(.sample(number)) == .begun)
            try database.session().run("UPDATE portcullis.refresh_home SET \(move.change)")
            #expect(try await store.use(.sample(0, to: 1, of: number)).isRotated == move.isKept)
            #expect(try await store.standing(ofAccount: .sample(1))?.families.isEmpty == !move.isKept)
        }
        #expect(try await store.expireFamilies(at: 0) > 0)
        #expect(try await store.begin(.sample(20)) == .begun)
        #expect(try await store.use(.sample(0, to: 1, of: 20)).isRotated)
    }

    /// In SQL: `present` is the history's name, and the database has confirmed two beats of `w`.
    private static let witnesses: [(witness: String, isKept: Bool)] = [
        ("'w', 2, 0, 0, ARRAY[present]", true), ("'w', 3, 0, 0, ARRAY[present]", false),
        ("'w', 0, 0, 0, ARRAY['other', present]", false), ("'w', 9, 0, 0, ARRAY['other'::bytea]", true),
        ("'w', 9, 0, 0, ARRAY[]::bytea[]", true), ("'new', 0, 0, 0, ARRAY[present]", true),
        ("'new', 1, 0, 0, ARRAY[present]", false), ("NULL, NULL, NULL, NULL, NULL", true),
        ("'w', 2, portcullis.log_position(), portcullis.server_run(), ARRAY[present]", true),
        ("'w', 2, \(Int64.max), portcullis.server_run(), ARRAY[present]", false),
        ("'w', 2, \(Int64.max), 1, ARRAY['other', present]", false),
        ("'w', 2, \(Int64.max), 1, ARRAY['other'::bytea]", true),
    ]

    @Test(arguments: witnesses)
    func `comes with a gateway that remembers more`(witness: String, isKept: Bool) async throws {
        let database = try await FleetDatabase()
        let session = try database.session()
        try await fill(database.registry)
        let names = ["'w'", "'new'"].map { ($0, "rpad(\($0), \(RefreshFamilyID.length))::bytea") }
        let parameters = names.reduce(witness) { $0.replacing($1.0 + ",", with: $1.1 + ",") }
        try session.run("INSERT INTO portcullis.refresh_witness VALUES (\(names[0].1), 2, 1)")
        let before = try session.run("SELECT portcullis.refresh_epoch()", []).only().integer(0)
        let epoch = "SELECT portcullis.refresh_epoch(\(parameters)) FROM (SELECT history FROM portcullis.refresh_home)"
        let after = try session.run(epoch + " AS h (present)", []).only().integer(0)
        #expect(after == (isKept ? before : before + 1))
        #expect(try await database.registry.families(of: .sample(1)).isEmpty == !isKept)
    }
}
