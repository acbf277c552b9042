import EdgeTestKit
import Foundation
import KeyStore
import KeyStoreSQLite
import PostgreSQL
import PostgreSQLTestKit
import Testing

/// The operator's commands do the same on a fleet's database as on a file.
@Suite("The operator's commands on a fleet's database")
struct FleetCommandsTests {
    private let bench: FleetCommandBench

    init() async throws { bench = try await FleetCommandBench() }

    /// Runs a command on both stores, and expects the same of both, but for times and names that are made at random.
    @discardableResult
    private func both(
        _ arguments: [String], ends code: Int32 = 0, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> ChildOutput {
        let file = try await GatewayProcess.run(arguments, bench.file)
        let fleet = try await GatewayProcess.run(arguments, bench.fleet)
        #expect(file.ending == .exited(code), "\(arguments): \(file)", sourceLocation: sourceLocation)
        #expect(fleet.ending == .exited(code), "\(arguments): \(fleet)", sourceLocation: sourceLocation)
        for text in [\ChildOutput.outputText, \ChildOutput.errorText] {
            #expect(
                plain(file[keyPath: text]) == plain(fleet[keyPath: text]), "\(arguments)",
                sourceLocation: sourceLocation)
        }
        return fleet
    }

    private func plain(_ text: String) -> String {
        let timeless = text.replacing(#/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/#, with: "TIME")
        let unsigned = timeless.replacing(#/(^|\n|published |"key":")[A-Za-z0-9_\-]{43}( |,|")/#) {
            "\($0.1)SIGNER\($0.2)"
        }
        return unsigned.replacing(#/pcdev_[0-9a-f]+/#, with: "TOKEN").replacing(#/[0-9a-f]{16}/#, with: "ID")
    }

    private func name(_ byte: UInt8) throws -> String { try FleetCommandBench.name(byte) }

    @Test func `keys are listed, shown, revoked, restored and forgotten`() async throws {
        try await bench.fill((1...4).map { try FleetCommandBench.key($0) })
        let list = try await both(["keys", "list"])
        #expect(list.outputLines.count == 4 && list.outputText.contains("active"))
        #expect(try await both(["keys", "show", name(1)]).outputText.contains("receipt: 2 bytes"))
        try await both(["keys", "show", name(9)], ends: 1)
        try await both(["keys", "show", "nonsense"], ends: 1)
        for command in ["revoke", "restore", "forget"] { try await both(["keys", command, name(9)], ends: 1) }
        try await both(["keys", "revoke", name(1), "--reason", "lost \u{1B}[31m"])
        try await both(["keys", "revoke", name(1), "--reason", "another"])
        let shown = try await both(["keys", "show", name(1)])
        #expect(shown.outputText.contains("lost") && !shown.outputText.contains("another"))
        try await both(["keys", "forget", name(1)], ends: 1)
        try await both(["keys", "restore", name(1)])
        try await both(["keys", "forget", name(1)])
        try await both(["keys", "show", name(1)], ends: 1)
        #expect(try await both(["keys", "list"]).outputLines.count == 3)
    }

    @Test func `keys are pruned, exported and erased`() async throws {
        let now = Int64(Date.now.timeIntervalSince1970 * 1_000)
        let keys = try (1...6).map { try FleetCommandBench.key($0, usedAt: $0 < 4 ? 1_000 : now) }
        try await bench.fill(keys)
        try await both(["keys", "revoke", name(3)])
        #expect(try await both(["keys", "prune", "--idle", "90d", "--dry-run"]).outputLines.count == 2)
        #expect(try await both(["keys", "prune", "--idle", "90d"]).outputLines.count == 2)
        #expect(try await both(["keys", "list"]).outputLines.count == 4)
        #expect(try await both(["keys", "export", name(4)]).outputText.contains("\"counter\":3"))
        try await both(["keys", "export", name(9)])
        try await both(["keys", "erase", name(4)], ends: 64)
        for byte in [UInt8(3), 4, 9] { try await both(["keys", "erase", name(byte), "--yes"]) }
        let list = try await both(["keys", "list"])
        let erased = try name(3) + "  erased"
        #expect(list.outputLines.count == 3 && list.outputText.contains(erased))
        try await both(["keys", "prune", "--idle", "0d"], ends: 64)
    }

    @Test func `an empty store is reported on standard error only`() async throws {
        try await bench.fill([])
        let list = try await both(["keys", "list"])
        #expect(list.outputText.isEmpty && list.errorText == "portcullis: no keys are registered\n")
        try await both(["dev-tokens", "list"])
        try await both(["signing-keys", "list"])
    }

    @Test func `development tokens are issued, listed and revoked`() async throws {
        try await bench.fill([])
        let words = ["--name", "ci", "--days", "2", "--devices", "3", "--route", "live"]
        let issued = try await both(["dev-tokens", "issue"] + words)
        #expect(issued.outputLines.count == 1)
        let list = try await both(["dev-tokens", "list"])
        let id = try #require(list.outputText.split(separator: " ").first)
        #expect(issued.errorText.contains(id) && list.outputText.contains("valid"))
        #expect(!list.outputText.contains(issued.outputLines[0]))
        try await both(["dev-tokens", "issue", "--name", ""], ends: 1)
        try await both(["dev-tokens", "revoke", "nonsense"], ends: 1)
        try await both(["dev-tokens", "revoke", "0123456789abcdef"], ends: 1)
        try await bench.expect("dev-tokens", "revoke", String(id))
        #expect(try await bench.run("dev-tokens", "list").outputText.contains("revoked"))
    }

    @Test func `signing keys are rotated and revoked`() async throws {
        try await bench.fill([])
        try await both(["signing-keys", "rotate"])
        try await both(["signing-keys", "rotate"])
        let list = try await both(["signing-keys", "list"])
        #expect(list.outputLines.count == 2)
        try await both(["signing-keys", "revoke", "nonsense"], ends: 1)
        let id = try #require(list.outputText.split(separator: " ").first)
        try await bench.expect("signing-keys", "revoke", String(id))
        #expect(try await bench.run("signing-keys", "list").outputText.contains("\(id)  revoked"))
    }

    @Test func `accounts are listed, shown, closed and forgotten, and leave no erased device behind`() async throws {
        try await bench.fill([FleetCommandBench.key(1)])
        let account = try StoreForgery.account()
        do { try SQLiteKeyDatabase(path: bench.path).complete(accounts: [account]) }
        try await bench.expect("store", "import", bench.path)
        let name = account.id.text
        let list = try await both(["accounts", "list"])
        #expect(list.outputLines.first?.hasPrefix("\(name)  open  began by device  passkeys 1  devices 1  ") == true)
        let listed = try await both(["accounts", "list", "--json"]).outputText
        #expect(listed.hasPrefix(#"{"account":"\#(name)","state":"open","origin":"device","madeAt":"1970-"#))
        #expect(try await both(["accounts", "show", name]).outputText.contains("tablet"))
        try await both(["accounts", "show", name, "--json"])
        let key = try FleetCommandBench.name(1)
        #expect(try await both(["keys", "export", key]).outputText.contains(#""account":{"account":"\#(name)""#))
        try await both(["keys", "erase", key, "--yes"])
        #expect(try await both(["accounts", "list"]).outputText.contains("devices 0"))
        #expect(try await both(["accounts", "close", name]).outputText == "closed \(name)\n")
        #expect(try await both(["accounts", "show", name]).outputText.contains("state: closed\n"))
        #expect(try await both(["accounts", "forget", name]).outputText == "forgot \(name)\n")
        #expect(try await both(["accounts", "list"]).outputText.isEmpty)
        for command in ["show", "close", "forget"] {
            try await both(["accounts", command, name], ends: 1)
            try await both(["accounts", command, "-hAAA"], ends: 1)
        }
    }

    @Test func `an account is blocked in one spelling`() async throws {
        try await bench.expect("store", "migrate")
        let name = try StoreForgery.account().id.text
        try await bench.expect("block-list", "add", "account", name)
        #expect(try await bench.expect("block-list", "list").outputText.hasPrefix("account \(name)  # "))
        let other = try await bench.run("block-list", "add", "account", "AB" + name.dropFirst(2))
        #expect(other.ending == .exited(1) && other.errorText.contains("holds no account"), "\(other)")
        try await bench.expect("block-list", "remove", "account", name)
    }

    @Test func `whatever is listed is listed as JSON, too`() async throws {
        func objects(_ words: [String]) async throws -> [[String: Any]] {
            try await both(words + ["--json"]).outputLines.map { line in
                try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(line)")
            }
        }
        try await bench.fill((1...3).map { try FleetCommandBench.key($0) })
        try await both(["keys", "revoke", name(1), "--reason", "lost \u{1B}[31m"])
        let keys = try await objects(["keys", "list"])
        #expect(Set(keys.compactMap { $0["key"] as? String }) == Set(try (1...3).map { try name($0) }))
        let revoked = try #require(keys.first { $0["state"] as? String == "revoked" })
        #expect(revoked["revocationReason"] as? String == "lost \u{1B}[31m" && revoked["counter"] as? Int == 3)
        let registered = try #require(revoked["registeredAt"] as? String)
        #expect(registered.hasPrefix("1970-01-01T00:00:01") && revoked["revokedAt"] is String)
        #expect(try await objects(["keys", "prune", "--idle", "1d", "--dry-run"]).count == 2)

        try await both(["dev-tokens", "issue", "--name", "ci \"x\"", "--route", "live"])
        let token = try #require(try await objects(["dev-tokens", "list"]).first)
        #expect(token["name"] as? String == "ci \"x\"" && token["routes"] as? [String] == ["live"])
        #expect(token["state"] as? String == "valid" && token["devices"] as? Int == 0 && token["expiresAt"] is String)

        try await both(["signing-keys", "rotate"])
        let signer = try #require(try await objects(["signing-keys", "list"]).first)
        #expect(signer["key"] is String && signer["state"] is String && signer["signsFrom"] is String)

        try await bench.expect("block-list", "add", "address", "203.0.113.7", "--reason", "scanner")
        let blocked = try await bench.expect("block-list", "list", "--json").outputText
        #expect(
            blocked.contains(#"{"entry":"address 203.0.113.7","addedAt":"2"#)
                && blocked.contains(#""reason":"scanner"}"#))
    }

    @Test func `a file can be named although the settings name a database`() async throws {
        try await bench.fill([FleetCommandBench.key(1)])
        try await bench.expect("keys", "forget", name(1))
        let list = try await bench.expect("keys", "list", "--store", bench.path)
        #expect(list.outputLines.count == 1)
        #expect(try await bench.run("keys", "list").outputText.isEmpty)
    }

    /// One of the reasons is kept, and both commands succeed.
    @Test func `two processes revoke the same keys at once`() async throws {
        let keys = try (1...6).map { try FleetCommandBench.key($0) }
        try await bench.fill(keys)
        for key in keys {
            let id = key.id.base64
            async let one = bench.run("keys", "revoke", id, "--reason", "first reason")
            async let two = bench.run("keys", "revoke", id, "--reason", "second reason")
            for output in try await [one, two] {
                #expect(output.ending == .exited(0) && output.outputText == "revoked \(id)\n", "\(output)")
            }
            let shown = try await bench.run("keys", "show", id).outputText
            #expect(shown.contains("first reason") != shown.contains("second reason"), "\(shown)")
            #expect(try await bench.run("keys", "show", id).outputText == shown)
        }
        let session = try bench.server.session(database: bench.database)
        let entries = try session.run("SELECT count(*), max(seq) FROM portcullis.changes", []).only()
        #expect(try entries.integer(0) == 12 && entries.integer(1) == 12)
    }
}
