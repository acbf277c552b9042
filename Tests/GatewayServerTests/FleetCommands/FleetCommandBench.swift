import Crypto
import EdgeTestKit
import Foundation
import KeyStore
import KeyStoreSQLite
import PostgreSQLTestKit
import Testing

/// A store in a file and a database with the same content, and the program that works on either.
struct FleetCommandBench {
    let directory: TemporaryDirectory
    let server: PostgresServer
    let database: String
    private let place: DatabasePlace

    init(on server: PostgresServer? = nil) async throws {
        place = await DatabasePlace.take()
        directory = try TemporaryDirectory()
        if let server { self.server = server } else { self.server = try await PostgresServer.shared() }
        database = try await self.server.makeDatabase()
        _ = try directory.write(String(repeating: "5c", count: 32) + "\n", to: "store.keys")
    }

    var path: String { directory.file("keys.sqlite") }
    var keyFile: String { directory.file("store.keys") }

    var file: GatewaySettings { GatewaySettings(targetPort: 1).setting("ATTESTED_KEYS_PATH", path) }
    var fleet: GatewaySettings {
        GatewaySettings(targetPort: 1)
            .setting("STORE_URL", "postgresql://portcullis@/\(database)?host=\(server.directory)")
            .setting("STORE_SECRETS_KEY_PATH", keyFile)
    }

    func run(_ arguments: String...) async throws -> ChildOutput { try await GatewayProcess.run(arguments, fleet) }

    /// Runs a command that has to succeed.
    @discardableResult
    func expect(_ arguments: String..., sourceLocation: SourceLocation = #_sourceLocation) async throws -> ChildOutput {
        let output = try await GatewayProcess.run(arguments, fleet)
        #expect(output.ending == .exited(0), "\(arguments): \(output)", sourceLocation: sourceLocation)
        return output
    }

    /// As a registration and assertions have stored it.
    static func key(_ byte: UInt8, counter: UInt32 = 3, usedAt: Int64 = 1_000) throws -> DeviceKey {
        let scalar = [UInt8](repeating: byte, count: 32)
        let publicKey = Array(try P256.Signing.PrivateKey(rawRepresentation: scalar).publicKey.x963Representation)
        return DeviceKey(
            id: try #require(KeyID(bytes: Array(SHA256.hash(data: publicKey)))), publicKeyX963: publicKey,
            app: "ABCDE12345.org.example.mud", environment: "production",
            trustRoot: [UInt8](repeating: 7, count: 32), counter: counter, receipt: [byte, 1], validationCategory: 2,
            bundleVersion: "1.2", registeredAt: 1_000, lastUsedAt: usedAt)
    }

    static func name(_ byte: UInt8) throws -> String { try key(byte).id.base64 }

    /// Makes the file and the tables, and copies one into the other.
    func fill(_ keys: [DeviceKey]) async throws {
        do {
            let store = try SQLiteKeyDatabase(path: path)
            for key in keys { _ = try store.enrol(key) }
        }
        try await expect("store", "migrate")
        try await expect("store", "import", path)
    }
}
