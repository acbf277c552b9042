import Foundation
import GRDB
import KeyStore
import Testing

@testable import KeyStoreSQLite

@Suite("The check of a store")
struct SQLiteStoreCheckTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.file("keys.sqlite")
    }

    /// What has to be done, in the check's order.
    private func errors() -> [StoreFinding.Subject] {
        SQLiteStoreCheck(path: path).findings.filter { $0.grade == .error }.map(\.subject)
    }

    private func mode(_ mode: Int, _ path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    @Test func `finds nothing wrong with a store in use, and changes nothing`() throws {
        let store = try SQLiteKeyDatabase(path: path)
        for byte in UInt8(1)...9 { _ = try store.enrol(.sample(byte)) }
        _ = try store.revoke(.sample(2), reason: "lost", at: 1)
        let revocations = try SQLiteRevocations(of: store)
        _ = try revocations.look()
        let check = SQLiteStoreCheck(path: path)
        #expect(check.isGood, "\(check.findings)")
        let subjects: [StoreFinding.Subject] = [
            .directory, .file, .writeAheadLog, .disk, .schema, .integrity, .records,
        ]
        #expect(check.findings.map(\.subject) == subjects)
        #expect(check.findings.last?.text.hasPrefix("9 keys, of which 1 are revoked") == true, "\(check.findings)")
        #expect(check.findings.allSatisfy { ($0.grade == .good) == ($0.remedy == nil) })
        #expect(try revocations.look() == nil)
    }

    @Test func `works while another process holds the write lock, and after all have closed the store`() throws {
        do { _ = try SQLiteKeyDatabase(path: path).enrol(.sample()) }
        #expect(errors() == [])
        try DatabaseQueue(path: path).inDatabase { database in
            try database.beginTransaction(.immediate)
            #expect(errors() == [])
            try database.rollback()
        }
    }

    /// Whoever made the file chose its texts: dividing them mustn't take long.
    @Test func `a development token whose text is above its limit isn't divided`() throws {
        let (token, device) = (DevelopmentToken.sample(), [UInt8](repeating: 1, count: 32))
        let store = try SQLiteKeyDatabase(path: path)
        _ = try store.issue(token)
        for bytes in [2_048, 2_049] {
            try DatabaseQueue(path: path).inDatabase { database in
                let routes = String(repeating: ",", count: bytes)
                try database.execute(sql: "UPDATE development_token SET routes = ?", arguments: [routes])
            }
            let standing = try? store.redeem(token.hash, by: device, at: token.issuedAt)
            #expect((standing == nil) == (bytes == 2_049))
        }
    }

    @Test(arguments: [0o640, 0o604, 0o660, 0o606])
    func `names each file that others than the owner can open`(wrong: Int) throws {
        let store = try SQLiteKeyDatabase(path: path)
        _ = try store.enrol(.sample())
        for suffix in ["", "-wal", "-shm"] {
            try mode(wrong, path + suffix)
            let findings = SQLiteStoreCheck(path: path).findings.filter { $0.grade == .error }
            #expect(
                findings.contains { $0.subject == .file && $0.remedy?.hasPrefix("chmod 600 \(path)\(suffix).") == true }
            )
            try mode(0o600, path + suffix)
        }
        #expect(errors() == [])
    }

    @Test func `names a directory in which others can replace the store`() throws {
        do { _ = try SQLiteKeyDatabase(path: path).enrol(.sample()) }
        for (wrong, found) in [(0o770, true), (0o707, true), (0o1777, false), (0o755, false)] {
            try mode(wrong, directory.path)
            #expect(errors().contains(.directory) == found, "\(String(wrong, radix: 8))")
        }
    }

    @Test func `says that there is no store`() throws {
        #expect(errors() == [.file])
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(errors() == [.file])
    }

    @Test func `finds damaged pages`() throws {
        do {
            let store = try SQLiteKeyDatabase(path: path)
            for byte in UInt8(1)...200 { _ = try store.enrol(.sample(byte)) }
        }
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes.replaceSubrange((bytes.count / 2)..., with: Data(repeating: 0xA5, count: bytes.count - bytes.count / 2))
        try bytes.write(to: URL(fileURLWithPath: path))
        try mode(0o600, path)
        #expect(errors().contains(.integrity), "\(errors())")
        try Data("no database, but a diary, which is long enough to look like one.".utf8).write(
            to: URL(fileURLWithPath: path))
        try mode(0o600, path)
        #expect(errors() == [.schema])
    }

    @Test(arguments: [
        "UPDATE device_key SET counter = -1", "DELETE FROM receipt", "UPDATE device_key SET validation_category = -1",
        "INSERT INTO receipt VALUES (x'07', x'07')",
    ])
    func `finds records that no key can have`(sql: String) throws {
        do { _ = try SQLiteKeyDatabase(path: path).enrol(.sample()) }
        do {
            try DatabaseQueue(path: path).inDatabase {
                try $0.execute(sql: "PRAGMA ignore_check_constraints = ON; \(sql)")
            }
        }
        #expect(errors().contains(.records), "\(errors())")
    }

    @Test(arguments: [0, 2, 1000])
    func `finds a schema of another version`(version: Int) throws {
        do { _ = try SQLiteKeyDatabase(path: path).enrol(.sample()) }
        do { try DatabaseQueue(path: path).inDatabase { try $0.execute(sql: "PRAGMA user_version = \(version)") } }
        #expect(errors() == [.schema])
    }

    @Test func `warns of a log that nobody has truncated`() throws {
        let store = try SQLiteKeyDatabase(path: path)
        _ = try store.enrol(.sample())
        for (bytes, grade) in [
            (StoreFileCheck.largestLogBytes, StoreFinding.Grade.good), (StoreFileCheck.largestLogBytes + 1, .warning),
        ] {
            #expect(truncate(path + "-wal", bytes) == 0)
            let finding = StoreFileCheck(path: path).findings.first { $0.subject == .writeAheadLog }
            #expect(finding?.grade == grade, "\(bytes)")
        }
    }
}
