import EdgeTestKit
import Foundation
import KeyStore
import KeyStoreSQLite
import PostgreSQL
import PostgreSQLTestKit
import Testing

/// Records that no gateway can have stored, through the operator's commands.
@Suite("A forged record")
struct StoreForgeryTests {
    private func copy(_ bench: FleetCommandBench, _ forgery: StoreForgery) throws -> String {
        let path = bench.directory.file("forged.sqlite")
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        try StoreForgery.makeStore(at: path)
        try forgery.apply(to: path)
        return path
    }

    private func check(_ path: String) async throws -> ChildOutput {
        try await GatewayProcess.run(["store", "check", "--store", path])
    }

    private func expect(_ output: ChildOutput, _ text: String, of forgery: StoreForgery, says forged: String? = nil) {
        #expect(output.ending == .exited(1), "\(forgery.name): \(output)")
        #expect(text.contains(forged ?? forgery.says), "\(forgery.name): \(output)")
    }

    @Test func `isn't imported, is found by the check of the file, and doesn't end a list`() async throws {
        let bench = try await FleetCommandBench()
        try await bench.expect("store", "migrate")
        for forgery in StoreForgery.ofKeys + StoreForgery.ofTokens + StoreForgery.ofAccounts {
            let path = try copy(bench, forgery)
            let imported = try await bench.run("store", "import", path)
            expect(imported, imported.errorText, of: forgery)
            #expect(imported.errorText.contains("nothing is imported"), "\(forgery.name): \(imported)")
            let checked = try await check(path)
            expect(checked, checked.outputText, of: forgery)
            let list = try await GatewayProcess.run(["keys", "list", "--store", path])
            #expect(list.ending == .exited(0) && list.outputLines.count == 1, "\(forgery.name): \(list)")
        }
        let session = try bench.server.session(database: bench.database)
        for table in ["device_key", "development_token", "signing_key", "secret", "account", "passkey"] {
            let rows = try session.run("SELECT count(*) FROM portcullis.\(table)", []).only().integer(0)
            #expect(rows == 0, "\(table)")
        }
    }

    @Test func `is looked for only in tables that a store has`() async throws {
        let bench = try await FleetCommandBench()
        try await bench.expect("store", "migrate")
        for forgery in StoreForgery.ofForm {
            let path = try copy(bench, forgery)
            let imported = try await bench.run("store", "import", path)
            expect(imported, imported.errorText, of: forgery)
            let checked = try await check(path)
            expect(checked, checked.outputText, of: forgery)
        }
    }

    @Test func `is none in a store that a gateway has made`() async throws {
        let bench = try await FleetCommandBench()
        try await bench.expect("store", "migrate")
        let path = bench.directory.file("good.sqlite")
        try StoreForgery.makeStore(at: path)
        let checked = try await check(path)
        #expect(checked.ending == .exited(0), "\(checked)")
        let report = try await bench.expect("store", "import", path).outputText
        #expect(
            report.hasPrefix(
                "imported 1 keys, of which 0 are revoked, 1 development tokens and 1 signing keys, and 1 accounts"))
        let (back, exported) = (bench.directory.file("back.sqlite"), try StoreForgery.account())
        try await bench.expect("store", "export", back)
        #expect(try SQLiteKeyDatabase(path: back).transferableAccounts(after: nil, limit: 9) == [exported])
        #expect(try await check(back).outputText.contains(", 1 accounts"))
        #expect(try await bench.run("store", "check").outputText.contains(", 1 accounts"))
    }

    /// Also of a file of the first programs, which had neither tokens nor signing keys.
    @Test func `is none in an old store`() async throws {
        let bench = try await FleetCommandBench()
        try await bench.expect("store", "migrate")
        let old = StoreForgery(
            "",
            """
            DROP TABLE secret; DROP TABLE signing_key; DROP TABLE development_token; DROP TABLE development_device;
            DROP INDEX device_key_revoked
            """, says: "")
        let path = try copy(bench, old)
        #expect(try await check(path).ending == .exited(0))
        #expect(try await bench.expect("store", "import", path).outputText.hasPrefix("imported 1 keys"))
    }

    @Test func `is listed with the others, up to a limit`() async throws {
        let bench = try await FleetCommandBench()
        try await bench.expect("store", "migrate")
        try await bench.fill((1...UInt8(StoreSurvey.maximumListed + 5)).map { try FleetCommandBench.key($0) })
        let forgery = StoreForgery("", "UPDATE device_key SET environment = 'prod'", says: "")
        try forgery.apply(to: bench.path)
        let output = try await bench.run("store", "import", bench.path)
        #expect(output.errorText.contains("has 25 faults") && output.errorText.contains("and 5 more"), "\(output)")
        #expect(output.errorLines.count { $0.contains("its environment is none") } == StoreSurvey.maximumListed)
    }

    /// What the tables of a fleet's database don't exclude by themselves.
    @Test func `is found in a fleet's database, and doesn't end a list`() async throws {
        let bench = try await FleetCommandBench()
        try await bench.expect("store", "migrate")
        let good = bench.directory.file("good.sqlite")
        try StoreForgery.makeStore(at: good)
        let session = try bench.server.session(database: bench.database)
        for forgery in Self.inDatabase {
            try session.run("DELETE FROM portcullis.device_key; DELETE FROM portcullis.development_token")
            try session.run("DELETE FROM portcullis.signing_key; DELETE FROM portcullis.secret")
            try session.run("DELETE FROM portcullis.account")
            try await bench.expect("store", "import", good)
            try session.run(forgery.sql)
            let checked = try await bench.run("store", "check")
            expect(checked, checked.outputText, of: forgery)
            let list = try await bench.run("keys", "list")
            #expect(list.ending == .exited(0) && list.outputLines.count == 1, "\(forgery.name): \(list)")
            try session.run("DELETE FROM portcullis.block")
        }
    }

    private static let inDatabase: [StoreForgery] = [
        .init("an unknown origin", "UPDATE portcullis.account SET origin = 9", says: "account 0707"),
        .init(
            "a key that signs nothing", "UPDATE portcullis.passkey SET public_key = '\\xa0'",
            says: "a passkey's public key is none that signs"),
        .init(
            "a mark that isn't the credential's hash", "UPDATE portcullis.passkey SET credential_id = '\\x01'",
            says: "mark isn't the SHA-256 of its credential"),
        .init(
            "an identifier that isn't the key's hash",
            "UPDATE portcullis.device_key SET public_key = public_key || '\\x00'", says: "isn't the SHA-256"),
        .init("a text of 30 MB", "UPDATE portcullis.device_key SET app = repeat('x', 30000000)", says: "too long"),
        .init("the highest counter", "UPDATE portcullis.device_key SET counter = 4294967295", says: "its counter"),
        .init("no receipt", "DELETE FROM portcullis.receipt", says: "a value is missing"),
        .init(
            "a receipt of 30 MB", "UPDATE portcullis.receipt SET receipt = repeat('x', 30000000)::bytea",
            says: "too long"),
        .init(
            "a category below zero", "UPDATE portcullis.device_key SET validation_category = -1",
            says: "a value is missing"),
        .init(
            "a time in the far future", "UPDATE portcullis.device_key SET registered_at = 9000000000000000000",
            says: "the time of its registration"),
        .init(
            "a signing key that nobody can decrypt",
            "UPDATE portcullis.signing_key SET secret = '\\x00' WHERE secret IS NOT NULL", says: "can't be decrypted"),
        .init(
            "a secret of 30 MB", "UPDATE portcullis.secret SET value = repeat('x', 30000000)::bytea",
            says: "secret dpop-nonce"),
        .init(
            "a token's identifier that isn't its hash's",
            "UPDATE portcullis.development_token SET id = '0123456789abcdef'", says: "development token"),
        .init(
            "a token for ten years", "UPDATE portcullis.development_token SET expires_at = 315360000000",
            says: "the times of its issue"),
        .init(
            "an entry that blocks nobody",
            "INSERT INTO portcullis.block VALUES ('adress 192.0.2.1', NULL, 1)", says: "it blocks nobody"),
    ]
}
