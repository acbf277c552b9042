import GRDB
import KeyStore
import KeyStoreSQLite
import Testing

@Suite("A store's file of release 0.2.0")
struct SQLiteFormerFileTests {
    private let directory: TemporaryDirectory
    private let path: String
    private let key = DeviceKey.sample(counter: 20)

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.file("keys.sqlite")
        // Counter 18 was used.
        try SQLiteFormerFile.make(at: path, with: key, window: 0b10)
    }

    private func use(_ counter: UInt32) throws -> CounterUse {
        CounterUse(counter, in: try #require(CounterWindow(size: 32)), admitsLower: true)
    }

    @Test func `keeps its keys, whose lower counters count as used until the highest rises`() throws {
        for _ in 0..<2 {
            let store = try SQLiteKeyDatabase(path: path, limits: .patient, creating: false)
            try store.putInForce(try #require(CounterWindow(size: 32)), after: nil)
            #expect(try store.key(key.id) == key)
            for counter in UInt32(1)...20 {
                #expect(try store.use(use(counter), of: key.id, at: 1) == .notHigher(stored: 20))
            }
        }
        let store = try SQLiteKeyDatabase(path: path, limits: .patient, creating: false)
        #expect(try store.use(use(25), of: key.id, at: 2) == .advanced)
        for counter in UInt32(21)...24 {
            #expect(try store.use(use(counter), of: key.id, at: 3) == .advanced)
            #expect(try store.use(use(counter), of: key.id, at: 4) == .notHigher(stored: 25))
        }
        for counter in UInt32(1)...20 {
            #expect(try store.use(use(counter), of: key.id, at: 5) == .notHigher(stored: 25))
        }
    }

    /// Before a gateway has opened it, and after.
    @Test func `is read for an import`() throws {
        #expect(try SQLiteStoreReader(path: path).transferableKeys(after: nil, limit: 9) == [key])
        _ = try SQLiteKeyDatabase(path: path, creating: false)
        #expect(try SQLiteStoreReader(path: path).transferableKeys(after: nil, limit: 9) == [key])
    }

    @Test func `has the tables of a new file once it is opened`() throws {
        func forms(_ path: String) throws -> [String] {
            _ = try SQLiteKeyDatabase(path: path)
            return try DatabaseQueue(path: path).read {
                try String.fetchAll(
                    $0,
                    sql: """
                        SELECT s.type || ' ' || s.name || ' ' || ifnull((
                            SELECT group_concat(c.name || ' ' || c.type || ' ' || c."notnull" || ' ' || c.pk)
                            FROM pragma_table_xinfo(s.name) c), '')
                        FROM sqlite_schema s ORDER BY 1
                        """)
            }
        }
        #expect(try forms(path) == forms(directory.file("new.sqlite")))
    }
}
