import DPoP
import Foundation
import KeyStore
import KeyStorePostgreSQL
import KeyStoreSQLite
import OperatorTools
import PostgreSQLTestKit
import Settings
import Testing

/// `portcullis store migrate`, `import` and `export`.
@Suite("The administration of a fleet's database")
struct FleetStoreAdministrationTests {
    private let folder: String
    private let server: PostgresServer
    private let database: String

    init() async throws {
        server = try await PostgresServer.shared()
        database = try await server.makeDatabase()
        folder = NSTemporaryDirectory() + "portcullis-fleet-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try Data((String(repeating: "5c", count: 32) + "\n").utf8).write(to: URL(fileURLWithPath: folder + "/keys"))
    }

    private func administration(database: String? = nil) throws -> FleetStoreAdministration {
        let url = "postgresql://portcullis@/\(database ?? self.database)?host=\(server.directory)"
        let configuration = try ConfigurationLoading.loadFleetStore(
            environment: ["STORE_URL": url, "STORE_SECRETS_KEY_PATH": folder + "/keys"], environmentFile: nil)
        return try FleetStoreAdministration(try #require(configuration))
    }

    private func key(_ byte: UInt8, counter: UInt32) throws -> DeviceKey {
        try FleetCommandBench.key(byte, counter: counter)
    }

    @Test func `creates the tables once, and moves a store there and back`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let fleet = try administration()
        #expect(throws: OperatorError.self) { try fleet.exportFile(folder + "/early.sqlite") { _ in } }
        #expect(!FileManager.default.fileExists(atPath: folder + "/early.sqlite"))
        let version = PostgreSQLSchema.current.version
        #expect(try fleet.migrate().hasPrefix("created the tables of version \(version) in \(database)"))
        #expect(try fleet.migrate().hasSuffix("has version \(version) already"))

        let file = try SQLiteKeyDatabase(path: folder + "/old.sqlite")
        for byte in UInt8(1)...3 { _ = try file.enrol(key(byte, counter: UInt32(byte) * 10)) }
        _ = try file.revoke(key(2, counter: 0).id, reason: "lost", at: 5)
        let secret = [UInt8](repeating: 7, count: SigningKey.byteCount)
        let name = try #require(SigningKey(rawRepresentation: secret)).keyID
        let signer = StoredSigningKey(id: name, secret: secret, publishedAt: 1, signsFrom: 1)
        _ = try file.replaceSigningKeys(StoredSigningKeys(), with: StoredSigningKeys(keys: [signer]))
        let report = try fleet.importFile(folder + "/old.sqlite") { _ in }
        #expect(report.hasPrefix("imported 3 keys, of which 1 are revoked, 0 development tokens and 1 signing keys"))

        _ = try fleet.exportFile(folder + "/new.sqlite") { _ in }
        let copy = try SQLiteKeyDatabase(path: folder + "/new.sqlite", creating: false)
        #expect(try copy.keys(after: nil, limit: 9) == file.keys(after: nil, limit: 9))
        #expect(try copy.signingKeys().keys == [signer])
        let rules = RegistrationRules(now: Int64(Date.now.timeIntervalSince1970 * 1_000))
        #expect(SQLiteStoreCheck(path: folder + "/new.sqlite", rules: rules).isGood)
        #expect(throws: OperatorError.self) { try fleet.exportFile(folder + "/new.sqlite") { _ in } }
        #expect(throws: OperatorError.self) { try fleet.importFile(folder + "/nothing.sqlite") { _ in } }
    }

    @Test func `names the database that can't be used`() throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let error = #expect(throws: OperatorError.self) { try administration(database: "nowhere").migrate() }
        #expect("\(error as Any)".contains("nowhere"))
    }
}
