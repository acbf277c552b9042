import KeyStore
import KeyStoreSQLite
import KeyStoreTestKit
import Testing

/// The contract of every store of signing keys.
@Suite("A store of signing keys")
struct SigningKeyStoreTests {
    private let directory: TemporaryDirectory
    private let sqlite: SQLiteKeyDatabase
    private let fleet: FleetDatabase

    init() async throws {
        directory = try TemporaryDirectory()
        sqlite = try SQLiteKeyDatabase(path: directory.file("keys.sqlite"))
        fleet = try await FleetDatabase()
    }

    private var stores: [any SigningKeyStore] { [MemorySigningKeyStore(), sqlite, fleet.registry] }

    private func key(_ number: Int64) -> StoredSigningKey {
        StoredSigningKey(
            id: "key-\(number)", secret: [UInt8](repeating: UInt8(number), count: 32), publishedAt: number,
            signsFrom: number * 2)
    }

    @Test func `is empty at first, and replaces its keys as a whole`() throws {
        for store in stores {
            let empty = try store.signingKeys()
            #expect(empty == StoredSigningKeys())
            let two = StoredSigningKeys(keys: [key(2), key(1)])
            #expect(try store.replaceSigningKeys(empty, with: two))
            #expect(try store.signingKeys() == two)
            let revoked = StoredSigningKeys.Revoked(id: "key-1", revokedAt: 7)
            let next = StoredSigningKeys(keys: [key(2)], revoked: [revoked])
            #expect(try store.replaceSigningKeys(two, with: next))
            #expect(try store.signingKeys() == next)
        }
    }

    @Test func `changes nothing for a caller that has read other keys`() throws {
        for store in stores {
            let one = StoredSigningKeys(keys: [key(1)])
            #expect(try store.replaceSigningKeys(StoredSigningKeys(), with: one))
            #expect(try !store.replaceSigningKeys(StoredSigningKeys(), with: StoredSigningKeys(keys: [key(2)])))
            #expect(try store.signingKeys() == one)
        }
    }

    @Test func `keeps one secret for each name, from its first use`() throws {
        for store in stores {
            #expect(try store.secret(named: "a", creating: [1, 2]) == [1, 2])
            #expect(try store.secret(named: "a", creating: [3]) == [1, 2])
            #expect(try store.secret(named: "b", creating: [3]) == [3])
        }
    }

    @Test func `keeps everything in its file, whose changes a watcher sees`() throws {
        let registry = try SQLiteKeyRegistry(path: directory.file("keys.sqlite"))
        let revocations = try SQLiteRevocations(of: registry)
        let keys = StoredSigningKeys(keys: [key(1)], revoked: [.init(id: "old", revokedAt: 1)])
        #expect(try sqlite.replaceSigningKeys(StoredSigningKeys(), with: keys))
        _ = try sqlite.secret(named: "a", creating: [1, 2])
        let other = try SQLiteKeyDatabase(path: directory.file("keys.sqlite"), creating: false)
        #expect(try other.signingKeys() == keys)
        #expect(try other.secret(named: "a", creating: []) == [1, 2])
        withExtendedLifetime(revocations) {}
    }
}
