import KeyStore
import KeyStorePostgreSQL
import PostgreSQL
import PostgreSQLTestKit
import Synchronization
import Testing

/// An empty database of a fleet's, and a registry on it.
final class FleetDatabase: Sendable {
    static let secretKey = [UInt8](repeating: 0x42, count: SealedSecrets.keyBytes)

    let server: PostgresServer
    let name: String
    let registry: PostgreSQLKeyRegistry
    private let place: DatabasePlace

    /// On the server that all tests share.
    convenience init() async throws {
        try await self.init(on: PostgresServer.shared(), template: Self.template.value)
    }

    /// - Parameter template: of the server's; it has the schema already.
    init(on server: PostgresServer, template: String? = nil) async throws {
        place = await DatabasePlace.take()
        self.server = server
        if let template {
            name = try await server.makeDatabase(template: template)
        } else {
            name = try await server.makeDatabase()
            _ = try PostgreSQLSchema.current.migrate(server.session(database: name))
        }
        registry = try Self.registry(.patient(server.parameters(database: name)))
    }

    deinit {
        registry.close()
        try? server.session().run("DROP DATABASE IF EXISTS \(name) WITH (FORCE)")
    }

    var options: DriverOptions { .patient(server.parameters(database: name)) }

    /// Another gateway's.
    func anotherRegistry() throws -> PostgreSQLKeyRegistry { try Self.registry(options) }

    func session() throws -> PostgreSQLConnection { try server.session(database: name) }

    static func registry(
        _ options: DriverOptions, witness: RefreshWitnessKeeper = RefreshWitnessKeeper(),
        report: @escaping @Sendable (DriverEvent) -> Void = { _ in }
    ) throws -> PostgreSQLKeyRegistry {
        let sealing = try #require(SealedSecrets(keys: [secretKey]))
        return PostgreSQLKeyRegistry(PostgreSQLDriver(options, report: report), sealing: sealing, witness: witness)
    }

    private static let template = Task { () async throws -> String in
        let server = try await PostgresServer.shared()
        let name = try await server.makeDatabase()
        _ = try PostgreSQLSchema.current.migrate(server.session(database: name))
        return name
    }
}

extension DriverOptions {
    /// For tests that aren't about waiting. Few connections, since many stores share the server.
    static func patient(_ parameters: [String: String]) -> DriverOptions {
        var options = DriverOptions(parameters: parameters)
        options.connections = 2
        options.statementMilliseconds = 60_000
        options.longestMilliseconds = 60_000
        return options
    }
}

/// Tries until `body` returns a value; a patient test fails in the end.
func eventually<Value>(_ body: () async throws -> Value?) async throws -> Value {
    let end = ContinuousClock.now + .seconds(60)
    while true {
        if let value = try? await body() { return value }
        try #require(ContinuousClock.now < end, "It never happened.")
        try await Task.sleep(for: .milliseconds(10))
    }
}

extension StoreIncarnation {
    static func sample(_ byte: UInt8) -> StoreIncarnation {
        guard let sample = StoreIncarnation(bytes: [UInt8](repeating: byte, count: length)) else {
            preconditionFailure()
        }
        return sample
    }
}

extension SingleUseMark {
    static func sample(
        _ number: UInt64, _ kind: Kind = .challenge, expires: Int64 = 10_000
    ) -> SingleUseMark {
        let bytes = (0..<16).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0 % 8))) }
        guard let mark = SingleUseMark(kind, bytes: bytes, expires: expires) else { preconditionFailure() }
        return mark
    }
}

final class Notices: Sendable {
    private let number = Atomic<Int>(0)

    func add() { number.add(1, ordering: .relaxed) }
    var count: Int { number.load(ordering: .relaxed) }
}
