import Foundation
import GRDB
import Glibc
import KeyStore
import Testing

@testable import KeyStoreSQLite

@Suite("A copy of the store")
struct SQLiteBackupTests {
    private let directory: TemporaryDirectory
    private let path: String
    private let target: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.file("keys.sqlite")
        target = directory.file("copy.sqlite")
    }

    private func files() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { !$0.hasPrefix("keys.sqlite") }
            .sorted()
    }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func `has what the store has, is for its owner only and leaves nothing beside it`() throws {
        let store = try SQLiteKeyDatabase(path: path)
        for byte in UInt8(1)...20 { _ = try store.enrol(.sample(byte, counter: UInt32(byte))) }
        _ = try store.revoke(.sample(3), reason: "lost", at: 5)
        _ = try store.issue(.sample())
        let copy = try SQLiteBackup(of: path, to: target, replacing: false)
        #expect(copy.keys == 20 && copy.bytes > 20 * 5_000)
        #expect(try files() == ["copy.sqlite"] && mode(target) == 0o600)
        let restored = try SQLiteKeyDatabase(path: target, creating: false)
        #expect(try restored.keys(after: nil, limit: 99) == store.keys(after: nil, limit: 99))
        #expect(try restored.developmentTokens() == store.developmentTokens())
        #expect(try restored.key(.sample(3))?.isRevoked == true)
    }

    @Test func `has accounts with their passkeys and devices, and what has ended of them`() async throws {
        let store = try SQLiteKeyRegistry(path: path)
        for byte in 1...UInt8(2) { _ = try await store.begin(.sample(byte), maximum: 9) }
        try await store.enrol(devices: [7])
        _ = try await store.join(.sample(7), to: .sample(1))
        _ = try await store.forget(.sample(2), at: .now)
        _ = try SQLiteBackup(of: path, to: target, replacing: false)
        let copy = try SQLiteKeyRegistry(path: target, creating: false)
        #expect(try await copy.accounts(after: nil, limit: 9) == store.accounts(after: nil, limit: 9))
        #expect(try await copy.account(.sample(1))?.devices.count == 1)
        #expect(try await SQLiteRevocations(of: copy).ifChanged()?.accounts == [.sample(2)])
    }

    @Test func `can be made when nobody has the store open, and of the store of an older program`() throws {
        do { _ = try SQLiteKeyDatabase(path: path).enrol(.sample()) }
        do { try DatabaseQueue(path: path).inDatabase { try $0.execute(sql: "DROP TABLE development_token") } }
        #expect(try SQLiteBackup(of: path, to: target, replacing: false).keys == 1)
        #expect(SQLiteStoreCheck(path: target).isGood)
    }

    @Test func `is made while another process holds the write lock`() throws {
        let store = try SQLiteKeyDatabase(path: path)
        _ = try store.enrol(.sample())
        try DatabaseQueue(path: path).inDatabase { database in
            try database.beginTransaction(.immediate)
            try database.execute(sql: "UPDATE device_key SET counter = 99")
            _ = try SQLiteBackup(of: path, to: target, replacing: false)
            try database.rollback()
        }
        #expect(try SQLiteKeyDatabase(path: target, creating: false).key(.sample(1)) == .sample())
    }

    @Test func `delays no writer, and is one moment of the store`() throws {
        let store = try SQLiteKeyDatabase(path: path)
        for byte in UInt8(1)...200 { _ = try store.enrol(.sample(byte)) }
        // Two counters that are always raised one after the other: a copy has both, or the first alone.
        let results = onThreads(2) { [path, target] thread in
            if thread == 0 {
                for counter in UInt32(1)...500 {
                    for byte in UInt8(1)...2 {
                        guard try store.advanceCounter(of: .sample(byte), to: counter, at: 1) == .advanced else {
                            return false
                        }
                    }
                }
                return true
            }
            for _ in 0..<5 {
                _ = try SQLiteBackup(of: path, to: target, replacing: true)
                let copy = try SQLiteKeyDatabase(path: target, creating: false)
                let counters = try (UInt8(1)...2).compactMap { try copy.standing(of: .sample($0))?.counter }
                guard counters.count == 2, (0...1).contains(counters[0] - counters[1]) else { return false }
            }
            return true
        }
        #expect(try results.map { try $0.get() } == [true, true])
    }

    @Test func `replaces a file only where that is asked for`() throws {
        _ = try SQLiteKeyDatabase(path: path).enrol(.sample())
        try Data("precious".utf8).write(to: URL(fileURLWithPath: target))
        #expect(throws: SQLiteBackupError.exists) { try SQLiteBackup(of: path, to: target, replacing: false) }
        #expect(try Data(contentsOf: URL(fileURLWithPath: target)) == Data("precious".utf8))
        _ = try SQLiteBackup(of: path, to: target, replacing: true)
        #expect(try mode(target) == 0o600 && files() == ["copy.sqlite"])
        #expect(SQLiteStoreCheck(path: target).isGood)
    }

    @Test(arguments: ["", "-wal", "-shm"])
    func `never replaces the store or a file that belongs to it`(suffix: String) throws {
        let store = try SQLiteKeyDatabase(path: path)
        _ = try store.enrol(.sample())
        let alias = directory.file("alias")
        try FileManager.default.linkItem(atPath: path + suffix, toPath: alias)
        for name in [path + suffix, alias] {
            #expect(throws: SQLiteBackupError.isTheStore) { try SQLiteBackup(of: path, to: name, replacing: true) }
        }
        #expect(try store.key(.sample(1)) == .sample())
    }

    @Test func `isn't made of a damaged store, of another program's file or of a newer store`() throws {
        do {
            let store = try SQLiteKeyDatabase(path: path)
            for byte in UInt8(1)...200 { _ = try store.enrol(.sample(byte)) }
        }
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        var damaged = whole
        damaged.replaceSubrange(8192..., with: Data(repeating: 0xFF, count: damaged.count - 8192))
        var newer = whole
        newer[63] = 2  // user_version, of which this is the last byte: SQLite's file format, section 1.3.
        var foreign = whole
        foreign[71] = 7  // application_id
        for content in [damaged, newer, foreign, Data("no database, but a diary".utf8)] {
            try content.write(to: URL(fileURLWithPath: path))
            #expect(throws: SQLiteBackupError.self) { try SQLiteBackup(of: path, to: target, replacing: false) }
            #expect(try files() == [])
            #expect(!SQLiteStoreCheck(path: path).isGood)
        }
        try whole.write(to: URL(fileURLWithPath: path))
        #expect(try SQLiteBackup(of: path, to: target, replacing: false).keys == 200)
    }

    /// They could put a file of their own in the place of the copy that is being written.
    @Test func `isn't made in a directory that others may write, unless it is sticky`() throws {
        _ = try SQLiteKeyDatabase(path: path).enrol(.sample())
        let shared = directory.file("shared")
        try FileManager.default.createDirectory(atPath: shared, withIntermediateDirectories: false)
        for (mode, isAccepted) in [(0o770, false), (0o707, false), (0o1777, true), (0o755, true)] {
            #expect(chmod(shared, mode_t(mode)) == 0)
            let copy = { try SQLiteBackup(of: path, to: shared + "/copy-\(mode)", replacing: false).keys }
            if isAccepted { #expect(try copy() == 1) } else { #expect(throws: SQLiteBackupError.self) { try copy() } }
        }
    }

    @Test func `isn't made where no file can be made`() throws {
        _ = try SQLiteKeyDatabase(path: path).enrol(.sample())
        for name in ["/proc/copy.sqlite", directory.file("missing/copy"), directory.path] {
            #expect(throws: SQLiteBackupError.self) { try SQLiteBackup(of: path, to: name, replacing: true) }
        }
        #expect(throws: SQLiteBackupError.self) {
            try SQLiteBackup(of: directory.file("missing.sqlite"), to: target, replacing: false)
        }
        #expect(try files() == [])
    }
}
