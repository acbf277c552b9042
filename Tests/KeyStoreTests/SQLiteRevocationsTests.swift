import GRDB
import KeyStore
import Testing

@testable import KeyStoreSQLite

@Suite("A revocation in the SQLite store")
struct SQLiteRevocationsTests {
    private let directory: TemporaryDirectory
    private let registry: SQLiteKeyDatabase
    private let revocations: SQLiteRevocations

    init() throws {
        directory = try TemporaryDirectory()
        registry = try SQLiteKeyDatabase(path: directory.file("keys.sqlite"), limits: .impatient)
        revocations = try SQLiteRevocations(of: registry)
        for number in 1...3 { _ = try registry.enrol(.sample(UInt8(number))) }
    }

    @Test func `is reported at once, and then only after a write`() throws {
        #expect(try revocations.look()?.keys == [])
        #expect(try revocations.look() == nil)
        _ = try registry.revoke(.sample(2), reason: "lost", at: 1)
        #expect(try revocations.look()?.keys == [.sample(2)])
        #expect(try revocations.look() == nil)
        _ = try registry.revoke(.sample(3), reason: "lost", at: 0)
        _ = try registry.restore(.sample(2))
        #expect(try revocations.look()?.keys == [.sample(3)])
    }

    @Test func `is reported on its own thread as on the caller's`() async throws {
        // The wait for a thread counts, and other tests may have the cores.
        var limits = SQLiteKeyDatabase.Limits()
        limits.administrationBusyMilliseconds = 300_000
        let registry = try SQLiteKeyDatabase(path: directory.file("patient.sqlite"), limits: limits)
        let revocations = try SQLiteRevocations(of: registry)
        for number in 1...3 { _ = try registry.enrol(.sample(UInt8(number))) }
        #expect(try await revocations.ifChanged()?.keys == [])
        _ = try registry.revoke(.sample(2), reason: "lost", at: 1)
        #expect(try await revocations.ifChanged()?.keys == [.sample(2)])
        #expect(try await revocations.ifChanged() == nil)
    }

    @Test func `is reported for development tokens, too`() throws {
        for byte in [1, 2] as [UInt8] { _ = try registry.issue(.sample(byte)) }
        #expect(try revocations.look()?.grants == [])
        #expect(try registry.revoke(DevelopmentToken.sample(2).id, at: 5))
        #expect(try revocations.look()?.grants == [DevelopmentToken.sample(2).grant.id])
    }

    @Test func `is reported after a write of another process`() throws {
        _ = try revocations.look()
        let other = try SQLiteKeyDatabase(path: directory.file("keys.sqlite"), creating: false)
        _ = try other.revoke(.sample(1), reason: "lost", at: -5)
        #expect(try revocations.look()?.keys == [.sample(1)])
    }

    @Test func `is reported while another process holds the write lock`() throws {
        _ = try registry.revoke(.sample(1), reason: "lost", at: 1)
        try DatabaseQueue(path: directory.file("keys.sqlite")).inDatabase { database in
            try database.beginTransaction(.immediate)
            #expect(try revocations.look()?.keys == [.sample(1)])
            try database.rollback()
        }
    }

    /// Nor is anything read then but the marks.
    @Test func `isn't reported when nothing was revoked`() throws {
        _ = try registry.issue(.sample(1))
        _ = try revocations.look()
        #expect(try registry.advanceCounter(of: .sample(1), to: 7, at: 5) == .advanced)
        _ = try registry.enrol(.sample(4))
        _ = try registry.issue(.sample(2))
        _ = try registry.redeem(DevelopmentToken.sample(1).hash, by: KeyID.sample(9).bytes, at: 1_500)
        #expect(try registry.forget(.sample(3)) == .forgotten)
        try damageRevokedKeys()
        #expect(try revocations.look() == nil)
    }

    /// Reading them fails from now on.
    private func damageRevokedKeys() throws {
        let queue = try DatabaseQueue(path: directory.file("keys.sqlite"))
        try queue.write { try $0.execute(sql: "DROP INDEX device_key_revoked") }
    }

    @Test func `is read alone when others are as they were`() throws {
        let token = DevelopmentToken.sample(2)
        _ = try registry.issue(token)
        _ = try registry.revoke(.sample(2), reason: "lost", at: 1)
        _ = try revocations.look()
        try damageRevokedKeys()
        let signers = StoredSigningKeys(revoked: [.init(id: "old", revokedAt: 1)])
        #expect(try registry.revoke(token.id, at: 5))
        #expect(try registry.replaceSigningKeys(StoredSigningKeys(), with: signers))
        let found = try #require(try revocations.look())
        #expect(found.keys == [.sample(2)] && found.grants == [token.grant.id] && found.signingKeys == signers)
    }

    /// A program that doesn't know of the marks.
    @Test(arguments: [
        "UPDATE device_key SET revoked_at = NULL", "UPDATE device_key SET revoked_at = 6 WHERE revoked_at = 5",
        "DELETE FROM device_key",
        "INSERT INTO device_key (key_id, public_key, app, environment, trust_root, counter, validation_category,"
            + " bundle_version, registered_at, last_used_at, revoked_at, revocation_reason)"
            + " SELECT zeroblob(32), public_key, app, environment, trust_root, counter, validation_category,"
            + " bundle_version, registered_at, last_used_at, 5, 'x' FROM device_key LIMIT 1",
        "UPDATE development_token SET revoked_at = NULL", "DELETE FROM development_token",
        "INSERT INTO signing_key VALUES ('a', x'01', 1, 1, NULL)", "UPDATE signing_key SET signs_from = 9",
        "DELETE FROM signing_key",
        // It is as before, and was something else meanwhile.
        "UPDATE device_key SET revoked_at = NULL; UPDATE device_key SET revoked_at = 5",
    ])
    func `is reported after every change by another program`(change: String) throws {
        let token = DevelopmentToken.sample(2)
        for number in 1...3 { _ = try registry.revoke(.sample(UInt8(number)), reason: "lost", at: 5) }
        _ = try registry.issue(token)
        _ = try registry.revoke(token.id, at: 5)
        let key = StoredSigningKey(id: "k", secret: [1], publishedAt: 1, signsFrom: 1)
        _ = try registry.replaceSigningKeys(StoredSigningKeys(), with: StoredSigningKeys(keys: [key]))
        _ = try revocations.look()
        try DatabaseQueue(path: directory.file("keys.sqlite")).write { try $0.execute(sql: change) }
        let found = try revocations.look()
        #expect(try found == SQLiteRevocations(of: registry).look())
        #expect(found != nil)
        #expect(try revocations.look() == nil)
    }

    @Test func `has marks, which an older store gets`() throws {
        let (path, queue) = (directory.file("keys.sqlite"), try DatabaseQueue(path: directory.file("keys.sqlite")))
        try queue.write { database in
            for trigger in SQLiteRevisions.triggers { try database.execute(sql: "DROP TRIGGER \(trigger.name)") }
            try database.execute(sql: "DROP TABLE revision")
        }
        let opened = try SQLiteKeyDatabase(path: path, creating: false)
        let revocations = try SQLiteRevocations(of: opened)
        #expect(try revocations.look()?.keys == [])
        _ = try opened.revoke(.sample(2), reason: "lost", at: 1)
        #expect(try revocations.look()?.keys == [.sample(2)])
        // Once: a later program changes no mark by opening the file.
        _ = try SQLiteKeyDatabase(path: path, creating: false)
        #expect(try revocations.look() == nil)
    }

    @Test func `is looked up in an index, which an older store gets`() throws {
        let queue = try DatabaseQueue(path: directory.file("keys.sqlite"))
        try queue.write { try $0.execute(sql: "DROP INDEX device_key_revoked") }
        _ = try SQLiteKeyDatabase(path: directory.file("keys.sqlite"), creating: false)
        let plan = try queue.read { database in
            try Row.fetchAll(
                database,
                sql:
                    "EXPLAIN QUERY PLAN SELECT key_id FROM device_key INDEXED BY device_key_revoked WHERE revoked_at IS NOT NULL"
            ).map { $0["detail"] as String? ?? "" }
        }
        #expect(plan.contains { $0.contains("device_key_revoked") }, "\(plan)")
    }
}
