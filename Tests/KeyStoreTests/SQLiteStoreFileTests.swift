import Foundation
import GRDB
import KeyStore
import KeyStoreSQLite
import Testing

@Suite("The file of the SQLite store")
struct SQLiteStoreFileTests {
    /// True if opening throws `.unavailable` with a text that contains `word`.
    private func isUnusable(_ path: String, creating: Bool = true, saying word: String) -> Bool {
        do {
            _ = try SQLiteKeyDatabase(path: path, limits: .impatient, creating: creating)
            return false
        } catch .unavailable(let detail) {
            return detail.contains(word)
        } catch {
            return false
        }
    }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    private func isUnavailable(_ error: any Error) -> Bool {
        if case KeyRegistryError.unavailable = error { true } else { false }
    }

    @Test func `is readable by its owner alone, as are the files beside it`() throws {
        let directory = try TemporaryDirectory()
        let registry = try SQLiteKeyDatabase(path: directory.file("keys.sqlite"))
        _ = try registry.enrol(.sample())
        for name in ["keys.sqlite", "keys.sqlite-wal", "keys.sqlite-shm"] {
            #expect(try mode(directory.file(name)) == 0o600)
        }
    }

    @Test func `isn't used when others could have written it`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("keys.sqlite")
        _ = try SQLiteKeyDatabase(path: path)
        for (mode, usable) in [(0o620, false), (0o602, false), (0o644, true), (0o600, true)] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            #expect(isUnusable(path, saying: "chmod 600") == !usable)
        }
    }

    @Test func `needs a writable directory`() throws {
        let directory = try TemporaryDirectory()
        #expect(isUnusable(directory.file("missing/keys.sqlite"), saying: "missing/ can't be used"))
        try Data().write(to: URL(fileURLWithPath: directory.file("plain")))
        #expect(isUnusable(directory.file("plain/keys.sqlite"), saying: "plain/ can't be used"))
        #expect(isUnusable(directory.path, saying: "is not a regular file"))
        // Not even root can create a file there.
        #expect(isUnusable("/proc/portcullis.sqlite", saying: "/proc/"))
    }

    @Test func `isn't created for a tool that only reads`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("keys.sqlite")
        #expect(isUnusable(path, creating: false, saying: "can't be used"))
        #expect(!FileManager.default.fileExists(atPath: path))
        try Data().write(to: URL(fileURLWithPath: path))
        #expect(isUnusable(path, creating: false, saying: "the file is empty"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)).isEmpty)
        _ = try SQLiteKeyDatabase(path: path)
        #expect(throws: Never.self) { try SQLiteKeyDatabase(path: path, creating: false) }
    }

    @Test func `is refused and left unchanged when it is no database`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("keys.sqlite")
        let garbage = Data("This is a diary and no database.\n".utf8) + Data(repeating: 0x20, count: 5000)
        try garbage.write(to: URL(fileURLWithPath: path))
        #expect(isUnusable(path, saying: "not a database"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == garbage)
    }

    @Test func `is refused and left unchanged when it is another program's database`() throws {
        let directory = try TemporaryDirectory()
        for (name, sql) in [
            ("tables", "CREATE TABLE t (x)"), ("id", "PRAGMA application_id = 7"),
            ("version", "PRAGMA user_version = 1"),
        ] {
            let path = directory.file(name)
            do { try DatabaseQueue(path: path).inDatabase { try $0.execute(sql: sql) } }
            let before = try Data(contentsOf: URL(fileURLWithPath: path))
            #expect(isUnusable(path, saying: "another program"))
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
        }
    }

    @Test(arguments: [2, 1000, 0, -1])
    func `is refused when a newer program made its schema`(version: Int) throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("keys.sqlite")
        _ = try SQLiteKeyDatabase(path: path)
        do { try DatabaseQueue(path: path).inDatabase { try $0.execute(sql: "PRAGMA user_version = \(version)") } }
        #expect(isUnusable(path, saying: "version \(version)"))
    }

    @Test func `gets the new tables of a newer program and keeps its keys`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("keys.sqlite")
        let key = DeviceKey.sample(counter: 7)
        do {
            let registry = try SQLiteKeyDatabase(path: path)
            _ = try registry.enrol(key)
        }
        do {
            try DatabaseQueue(path: path).inDatabase {
                try $0.execute(
                    sql: "DROP TABLE development_token; DROP TABLE development_device")
            }
        }
        for _ in 0..<2 {
            let registry = try SQLiteKeyDatabase(path: path, creating: false)
            #expect(try registry.key(key.id) == key)
            #expect(try registry.developmentTokens().count <= 1)
            _ = try registry.issue(.sample())
            #expect(try registry.developmentTokens() == [.sample()])
        }
    }

    @Test func `is refused when its tables aren't ours`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("keys.sqlite")
        _ = try SQLiteKeyDatabase(path: path)
        do {
            try DatabaseQueue(path: path).inDatabase {
                for trigger in try String.fetchAll($0, sql: "SELECT name FROM sqlite_schema WHERE type = 'trigger'") {
                    try $0.execute(sql: "DROP TRIGGER \(trigger)")
                }
                try $0.execute(sql: "DROP INDEX device_key_revoked; ALTER TABLE device_key DROP COLUMN revoked_at")
            }
        }
        #expect(isUnusable(path, saying: "revoked_at"))
    }

    @Test func `answers unavailable when its pages are damaged`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("keys.sqlite")
        do {
            let registry = try SQLiteKeyDatabase(path: path)
            for byte in UInt8(0)..<200 { _ = try registry.enrol(.sample(byte)) }
        }
        // The first page of each table and index; what is in them stays known. Without the history of refresh tokens a
        // file isn't opened at all, so it is damaged last.
        let roots = try DatabaseQueue(path: path).read {
            try Int.fetchAll(
                $0, sql: "SELECT rootpage FROM sqlite_schema WHERE rootpage > 0 AND tbl_name NOT GLOB 'refresh_*'")
        }
        let others = try DatabaseQueue(path: path).read {
            try Int.fetchAll(
                $0, sql: "SELECT rootpage FROM sqlite_schema WHERE rootpage > 0 AND tbl_name GLOB 'refresh_*'")
        }
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        for page in roots {
            bytes.replaceSubrange((page - 1) * 4_096..<page * 4_096, with: Data(repeating: 0xFF, count: 4_096))
        }
        try bytes.write(to: URL(fileURLWithPath: path))
        let registry = try SQLiteKeyDatabase(path: path)
        #expect { try registry.key(.sample(1)) } throws: { isUnavailable($0) }
        #expect { try registry.standing(of: .sample(1)) } throws: { isUnavailable($0) }
        #expect { try registry.keys(after: nil, limit: 500) } throws: { isUnavailable($0) }
        #expect { try registry.enrol(.sample(1)) } throws: { isUnavailable($0) }
        #expect { try registry.advanceCounter(of: .sample(1), to: 1, at: 1) } throws: { isUnavailable($0) }
        #expect { try registry.forget(.sample(1)) } throws: { isUnavailable($0) }
        for page in others {
            bytes.replaceSubrange((page - 1) * 4_096..<page * 4_096, with: Data(repeating: 0xFF, count: 4_096))
        }
        let worse = directory.file("worse.sqlite")
        try bytes.write(to: URL(fileURLWithPath: worse))
        #expect { try SQLiteKeyDatabase(path: worse) } throws: { isUnavailable($0) }
    }

    @Test(arguments: [
        "UPDATE device_key SET counter = 4294967296", "UPDATE device_key SET counter = -1",
        "UPDATE device_key SET key_id = x'01'", "UPDATE device_key SET validation_category = -1",
        "DELETE FROM receipt",
    ])
    func `answers unavailable when a record isn't a valid key`(sql: String) throws {
        let directory = try TemporaryDirectory()
        let registry = try SQLiteKeyDatabase(path: directory.file("keys.sqlite"))
        _ = try registry.enrol(.sample())
        try DatabaseQueue(path: registry.path).inDatabase {
            try $0.execute(sql: "PRAGMA ignore_check_constraints = ON; \(sql)")
        }
        #expect { try registry.keys(after: nil, limit: 5) } throws: { isUnavailable($0) }
    }

    @Test(arguments: [
        "counter = 4294967296", "counter = -1", "counter = 'one'", "public_key = 'text'", "app = x'41'",
        "environment = x'41'", "trust_root = 7",
    ])
    func `answers unavailable when a key's state is invalid`(assignment: String) throws {
        let directory = try TemporaryDirectory()
        let registry = try SQLiteKeyDatabase(path: directory.file("keys.sqlite"))
        _ = try registry.enrol(.sample())
        // A table that isn't strict, as a result of damage.
        try DatabaseQueue(path: registry.path).inDatabase {
            try $0.execute(
                sql: """
                    ALTER TABLE device_key RENAME TO strict_one;
                    CREATE TABLE device_key AS SELECT * FROM strict_one;
                    UPDATE device_key SET \(assignment);
                    """)
        }
        #expect { try registry.standing(of: .sample(1)) } throws: { isUnavailable($0) }
    }

    @Test func `reports a key's state without its receipt`() throws {
        let directory = try TemporaryDirectory()
        let registry = try SQLiteKeyDatabase(path: directory.file("keys.sqlite"))
        _ = try registry.enrol(.sample())
        try DatabaseQueue(path: registry.path).inDatabase { try $0.execute(sql: "DELETE FROM receipt") }
        #expect(try registry.standing(of: .sample(1)) == DeviceKey.sample().standing)
        #expect { try registry.key(.sample(1)) } throws: { isUnavailable($0) }
    }

    @Test func `has exactly the given name, even if SQLite would interpret it`() async throws {
        let directory = try TemporaryDirectory()
        await #expect(processExitsWith: .success) { [path = directory.path as String] in
            // In its own process, because the working directory is global to a process.
            try #require(FileManager.default.changeCurrentDirectoryPath(path))
            for name in [":memory:", "file:x?mode=memory", "plain"] {
                do { _ = try SQLiteKeyDatabase(path: name).enrol(.sample()) }
                #expect(try SQLiteKeyDatabase(path: name, creating: false).key(.sample(1)) == .sample())
                #expect(FileManager.default.fileExists(atPath: path + "/" + name))
            }
        }
    }
}
