import EdgeTestKit
import Foundation
import KeyStore
import KeyStoreSQLite
import Testing

/// A store in which an operator's `keys erase` was cut off between its two steps.
@Suite("Erasures that were cut off")
struct InterruptedErasureTests {
    private let directory: TemporaryDirectory
    private let id: KeyID
    private var path: String { directory.file("keys.sqlite") }

    init() throws {
        directory = try TemporaryDirectory()
        id = try #require(KeyID(bytes: [UInt8](repeating: 3, count: 32)))
        let store = try SQLiteKeyDatabase(path: directory.file("keys.sqlite"))
        let key = DeviceKey(
            id: id, publicKeyX963: [4] + [UInt8](repeating: 1, count: 64), app: "ABCDE12345.org.example.mud",
            environment: "production", trustRoot: [UInt8](repeating: 7, count: 32), counter: 1, receipt: [],
            validationCategory: nil, bundleVersion: nil, registeredAt: 1_000, lastUsedAt: nil)
        _ = try store.enrol(key)
        #expect(try store.beginErasure(of: id, at: Int64(Date.now.timeIntervalSince1970 * 1_000) - 120_000))
    }

    @Test(arguments: ["off", "on"])
    func `a gateway finishes them, whether devices may unregister themselves or not`(signed: String) async throws {
        let apple = try SimulatedApple()
        let settings = GatewaySettings(targetPort: 1).appAttest(apple).setting("SIGNED_REQUESTS", signed)
            .setting("ATTESTED_KEYS_PATH", path)
        let gateway = try await GatewayProcess.start(settings)
        _ = try await gateway.errorLine("interrupted erasures finished")
        _ = try await gateway.stop()
        #expect(try SQLiteKeyDatabase(path: path).standing(of: id) == nil)
    }
}
