import Foundation
import GRDB
import KeyStore
import Testing

@testable import KeyStoreSQLite

/// The data that survives the end of a store's process. EdgeTests kill the whole gateway.
@Suite("A write to the SQLite store")
struct SQLiteDurabilityTests {
    @Test func `is still there when the store is opened again`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("keys.sqlite")
        do {
            let registry = try SQLiteKeyDatabase(path: path, limits: .patient)
            _ = try registry.enrol(.sample(1))
            _ = try registry.advanceCounter(of: .sample(1), to: 12, at: 34)
        }
        var expected = DeviceKey.sample(1, counter: 12)
        expected.lastUsedAt = 34
        #expect(try SQLiteKeyDatabase(path: path).key(.sample(1)) == expected)
    }

    @Test func `is in the files at once, without the store being closed`() throws {
        let directory = try TemporaryDirectory()
        let registry = try SQLiteKeyDatabase(path: directory.file("keys.sqlite"), limits: .patient)
        _ = try registry.enrol(.sample(1))
        _ = try registry.enrol(.sample(2))
        _ = try registry.advanceCounter(of: .sample(1), to: 12, at: 34)
        _ = try registry.revoke(.sample(2), reason: "lost", at: 56)
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(
                atPath: directory.file("keys.sqlite\(suffix)"), toPath: directory.file("copy.sqlite\(suffix)"))
        }
        let copy = try SQLiteKeyDatabase(path: directory.file("copy.sqlite"))
        #expect(try copy.key(.sample(1))?.counter == 12)
        #expect(try copy.key(.sample(2))?.isRevoked == true)
    }

    @Test func `survives kill -9, and the store continues from there`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("keys.sqlite")
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let registry = try SQLiteKeyDatabase(path: path, limits: .patient)
            for byte in UInt8(1)...50 {
                _ = try registry.enrol(.sample(byte))
                _ = try registry.advanceCounter(of: .sample(byte), to: UInt32(byte) * 10, at: 1)
            }
            _ = try registry.revoke(.sample(50), reason: "lost", at: 2)
            kill(getpid(), SIGKILL)
        }
        let registry = try SQLiteKeyDatabase(path: path, limits: .patient)
        let keys = try registry.keys(after: nil, limit: 100)
        #expect(keys.map(\.counter) == (1...50).map { $0 * 10 })
        #expect(keys.last?.isRevoked == true)
        #expect(try registry.advanceCounter(of: .sample(1), to: 10, at: 3) == .notHigher(stored: 10))
        #expect(try registry.advanceCounter(of: .sample(1), to: 11, at: 3) == .advanced)
    }

    @Test func `is synchronized to disk if it is a registration, and never checkpointed by a commit`() throws {
        let directory = try TemporaryDirectory()
        let registry = try SQLiteKeyDatabase(path: directory.file("keys.sqlite"))
        let full = 2
        let normal = 1
        for (pool, synchronous) in [
            (registry.administration, full), (registry.counters, normal), (registry.checkpoints, normal),
        ] {
            #expect(try pool.use { try Int.fetchOne($0, sql: "PRAGMA synchronous") } == synchronous)
            #expect(try pool.use { try Int.fetchOne($0, sql: "PRAGMA wal_autocheckpoint") } == 0)
        }
        #expect(throws: KeyRegistryError.self) {
            try registry.readers.use { try $0.execute(sql: "DELETE FROM receipt") }
        }
    }

    @Test func `is refused when the disk is full, and reads continue`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("keys.sqlite")
        await #expect(processExitsWith: .success) { [path = path as String] in
            let registry = try SQLiteKeyDatabase(path: path, limits: .patient)
            _ = try registry.enrol(.sample(1))
            // No file of this process may exceed this size: further writes fail as on a full disk.
            signal(SIGXFSZ, SIG_IGN)
            limitFileSize(to: rlim_t(registry.walBytes))
            for _ in 0..<3 {
                #expect { try registry.enrol(.sample(2)) } throws: { error in
                    if case KeyRegistryError.unavailable = error { true } else { false }
                }
                #expect { try registry.advanceCounter(of: .sample(1), to: 5, at: 1) } throws: { error in
                    if case KeyRegistryError.unavailable = error { true } else { false }
                }
            }
            #expect(try registry.key(.sample(1)) == .sample(1))
            #expect(try registry.key(.sample(2)) == nil)
            limitFileSize(to: nil)
            // With free space, the same connections work again.
            #expect(try registry.enrol(.sample(2)) == .enrolled)
            #expect(try registry.advanceCounter(of: .sample(1), to: 5, at: 1) == .advanced)
        }
    }
}

/// Limits the size of files that this process may write, as if the disk were full; nil lifts the limit.
private func limitFileSize(to bytes: rlim_t?) {
    var limit = rlimit()
    precondition(getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
    limit.rlim_cur = bytes ?? limit.rlim_max
    precondition(setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
}
