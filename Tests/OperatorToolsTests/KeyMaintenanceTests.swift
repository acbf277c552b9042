import EdgeTestKit
import Foundation
import KeyStore
import KeyStoreSQLite
import Settings
import Testing

@testable import OperatorTools

@Suite struct LineSearchTests {
    private func matches(_ text: [UInt8], _ words: [String], pieces: Int) -> [LineSearch.Match] {
        var (search, found, rest) = (LineSearch(words: words), [LineSearch.Match](), text[...])
        while !rest.isEmpty {
            found += search.feed(rest.prefix(pieces))
            rest = rest.dropFirst(pieces)
        }
        return found + [search.finish()].compactMap { $0 }
    }

    @Test func `finds the lines with a word, in pieces of any size`() {
        let text = Array("one two\n\ntwotwo\nTWO\nth two-\ntwwo\ntw".utf8)
        for size in 1...text.count {
            let found = matches(text, ["two"], pieces: size)
            #expect(found.map(\.number) == [1, 3, 5], "\(size)")
            #expect(found.map { String(decoding: $0.bytes, as: UTF8.self) } == ["one two", "twotwo", "th two-"])
        }
        #expect(matches(text, ["one", "wwo"], pieces: 3).map(\.number) == [1, 6])
        #expect(matches(Array("tw\no".utf8), ["two"], pieces: 1).isEmpty)
        #expect(matches(Array("a two".utf8), ["two"], pieces: 2).map(\.number) == [1])
        #expect(matches(text, [""], pieces: 9).isEmpty && matches([], ["two"], pieces: 9).isEmpty)
    }

    @Test func `skips a line above the limit and counts it`() {
        for (extra, found) in [(0, [1, 2]), (1, [2])] {
            let long =
                [UInt8](repeating: UInt8(ascii: "x"), count: LineSearch.maximumLineBytes - 3 + extra)
                + Array("two".utf8)
            var search = LineSearch(words: ["two"])
            var numbers: [Int] = []
            for piece in [long[...], Array("\ntwo\n".utf8)[...]] { numbers += search.feed(piece).map(\.number) }
            #expect(numbers == found && search.lineCount == 2 && search.skippedCount == extra)
            #expect(search.finish() == nil)
        }
        // Also if a word came before it was too long.
        var search = LineSearch(words: ["two"])
        #expect(search.feed(Array("two".utf8)[...]).isEmpty)
        #expect(search.feed([UInt8](repeating: 7, count: LineSearch.maximumLineBytes)[...]).isEmpty)
        #expect(search.finish() == nil && search.skippedCount == 1)
    }
}

/// Export and pruning over a real store.
@Suite struct KeyMaintenanceTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.file("keys.sqlite")
    }

    private func key(_ byte: UInt8, usedAt: Int64 = 1_000) throws -> DeviceKey {
        DeviceKey(
            id: try #require(KeyID(bytes: [UInt8](repeating: byte, count: KeyID.length))), publicKeyX963: [4, byte],
            app: "TEAM.app", environment: "production", trustRoot: [7], counter: 3, receipt: [byte],
            validationCategory: nil, bundleVersion: "\"1\"", registeredAt: 1_000, lastUsedAt: usedAt)
    }

    private func export(_ id: KeyID, _ files: [String]) async throws -> (found: Bool, object: [String: Any]) {
        var text = ""
        let found = try await KeyAdministration(.file(path: path)).export(
            id.base64, at: Date(timeIntervalSince1970: 0), auditFiles: files
        ) { text += $0 }
        let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
        return (found, try #require(object))
    }

    @Test func `an export has the key and its lines of all files, also torn ones, and nobody else's`() async throws {
        let (mine, other) = (try key(0xFB), try key(0xFC))
        do {
            let store = try SQLiteKeyDatabase(path: path)
            for key in [mine, other] { _ = try store.enrol(key) }
            _ = try store.revoke(mine.id, reason: "a \"quoted\" reason", at: 5)
        }
        let name = mine.id.base64
        let older = try directory.write(
            "{\"who\":\"\(name)\",\"event\":\"upgrade\"}\n{\"who\":\"\(other.id.base64)\"}\n", to: "audit.1")
        let newer = try directory.write("{\"detail\":\"key \(name) is unk", to: "audit")
        let (found, object) = try await export(mine.id, [older, newer])
        #expect(found && object["key"] as? String == name)
        let registration = try #require(object["registration"] as? [String: Any])
        #expect(registration["app"] as? String == "TEAM.app" && registration["counter"] as? Int == 3)
        #expect(registration["revocationReason"] as? String == "a \"quoted\" reason")
        let audit = try #require(object["audit"] as? [[String: Any]])
        #expect(audit.count == 2 && audit[0]["line"] as? Int == 1 && audit[0]["file"] as? String == older)
        #expect((audit[0]["entry"] as? [String: String])?["who"] == name)
        #expect((audit[1]["text"] as? String)?.contains(name) == true)

        let stranger = try #require(KeyID(bytes: [UInt8](repeating: 1, count: 32)))
        let (isKnown, empty) = try await export(stranger, [older])
        #expect(!isKnown && empty["registration"] is NSNull && (empty["audit"] as? [Any])?.isEmpty == true)
    }

    @Test func `an export reads packed files, and writes nothing if a file can't be opened`() async throws {
        do { _ = try SQLiteKeyDatabase(path: path).enrol(key(1)) }
        let plain = try directory.write("{\"who\":\"\(key(1).id.base64)\"}\n", to: "audit.2")
        let gzip = try #require(popen("gzip '\(plain)'", "r"))
        #expect(pclose(gzip) == 0)
        let (_, object) = try await export(key(1).id, [plain + ".gz"])
        #expect((object["audit"] as? [Any])?.count == 1)
        for file in [directory.file("missing"), directory.path] {
            #expect(try await failedExport([file]).isEmpty, "\(file)")
        }
    }

    @Test func `an export of a damaged file fails, and is no whole object`() async throws {
        do { _ = try SQLiteKeyDatabase(path: path).enrol(key(1)) }
        let packed = directory.file("audit.2.gz")
        try Data([0x1F, 0x8B, 8, 0]).write(to: URL(fileURLWithPath: packed))
        let text = try await failedExport([packed])
        #expect(throws: (any Error).self) { try JSONSerialization.jsonObject(with: Data(text.utf8)) }
    }

    private func failedExport(_ files: [String]) async throws -> String {
        var text = ""
        await #expect(throws: OperatorError.self) {
            try await KeyAdministration(.file(path: path)).export(key(1).id.base64, at: .now, auditFiles: files) {
                text += $0
            }
        }
        return text
    }

    @Test func `nothing is erased while a gateway hasn't noticed, and the key is refused`() async throws {
        let store = try SQLiteKeyDatabase(path: path)
        _ = try store.enrol(key(1))
        let keys = try KeyAdministration(.file(path: path))
        await #expect(throws: OperatorError.notNoticed) {
            try await keys.erase(key(1).id.base64, at: .now) { false }
        }
        #expect(try store.key(key(1).id)?.isRevoked == true)
        let erasure = try await keys.erase(key(1).id.base64, at: .now) { true }
        #expect(erasure.key == .removed)
        #expect(try store.key(key(1).id) == nil)
    }

    @Test func `a pruning forgets what it has shown before, in as many transactions as it needs`() async throws {
        let day: Int64 = 86_400_000
        let now = Date(timeIntervalSince1970: 1_000 * 86_400)
        do {
            let store = try SQLiteKeyDatabase(path: path)
            for byte in UInt8(1)...200 { _ = try store.enrol(key(byte, usedAt: (byte < 150 ? 909 : 911) * day)) }
            _ = try store.revoke(key(2).id, reason: "lost", at: 5)
        }
        let keys = try KeyAdministration(.file(path: path))
        var (shown, forgotten) = ([String](), [String]())
        let trial = try await keys.prune(idleDays: 90, at: now, dryRun: true) { shown.append($0) }
        #expect(try await keys.list { _ in } == 200)
        let report = try await keys.prune(idleDays: 90, at: now, dryRun: false) { forgotten.append($0) }
        #expect(trial == report && report == PruningReport(forgotten: 148, kept: 52, revoked: 1))
        #expect(shown == forgotten && shown.count == 148)
        #expect(try await keys.list { _ in } == 52)
        #expect(try await keys.prune(idleDays: 90, at: now, dryRun: false) { _ in }.forgotten == 0)
        for days in [0, -1, KeyAdministration.maximumIdleDays + 1] {
            await #expect(throws: OperatorError.self) {
                try await keys.prune(idleDays: days, at: now, dryRun: false) { _ in }
            }
        }
    }
}
