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
