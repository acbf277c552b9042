import Foundation
import KeyStore
import KeyStorePostgreSQL
import PostgreSQL
import PostgreSQLTestKit
import Testing

/// An earlier state of the database, brought back in every way that PostgreSQL has, admits no assertion again.
@Suite("A fleet's store after a restore")
struct PostgreSQLRestoreTests {
    private let database: FleetDatabase
    private let home: StoreIncarnation
    private let file: String

    init() async throws {
        database = try await FleetDatabase()
        home = try await database.registry.incarnation()
        file = database.server.directory + "/\(database.name).sql"
        _ = try await database.registry.enrol(.sample(1))
        #expect(try await database.registry.admit(use(1), in: home) == .admitted)
        _ = try await database.registry.begin(.sample(1), maximum: 10)
        #expect(try await database.registry.begin(RefreshFamily.sample()) == .begun)
    }

    /// - Parameter number: of its mark and its counter.
    private func use(_ number: UInt32) -> AssertionUse {
        AssertionUse(mark: .sample(UInt64(number)), key: .sample(1), counter: number, time: 1)
    }

    /// What happens after the copy, and mustn't be possible again.
    private func goOn() async throws {
        #expect(try await database.registry.admit(use(2), in: home) == .admitted)
        let ticket = try #require(SealedTicket(hash: [UInt8](repeating: 1, count: 32), sealed: [1], expires: 10_000))
        #expect(try await database.registry.keep(ticket, in: home) == .spent)
        #expect(try await database.registry.use(RefreshUse.sample(0, to: 1)).isRotated)
    }

    private func expectNothingOld(in store: PostgreSQLKeyRegistry) async throws {
        // A gateway that has worked with the original goes on with the copy before anybody has asked for its
        // incarnation.
        #expect(try await store.admit(use(2), in: home) == .refused(.foreign))
        #expect(try await store.spend(.sample(3, .tokenProof), in: home) == .foreign)
        #expect(try await store.takeTicket(hash: [UInt8](repeating: 1, count: 32), at: 1, in: home) == nil)
        let next = try await store.incarnation()
        #expect(next != home)
        #expect(try await store.incarnation() == next)
        #expect(try await store.admit(use(2), in: home) == .refused(.foreign))
        #expect(try await store.admit(use(7), in: next) == .admitted)
        #expect(try await store.key(.sample(1))?.counter == 7)
        // A used refresh token isn't good again, nor is any other one.
        #expect(try await store.use(RefreshUse.sample(0, to: 1)) == .unknown)
        #expect(try await store.families(of: .sample(1)).isEmpty)
        #expect(try await store.begin(RefreshFamily.sample(2)) == .begun)
        #expect(try await store.use(RefreshUse.sample(0, to: 1, of: 2)).isRotated)
    }

    private func registry(of name: String) throws -> PostgreSQLKeyRegistry {
        try FleetDatabase.registry(.patient(database.server.parameters(database: name)))
    }

    @Test(arguments: [[], ["--no-unlogged-table-data"], ["--inserts"], ["--column-inserts"]])
    func `a dump that is restored has another incarnation`(options: [String]) async throws {
        try await database.server.dump(database.name, to: file, options)
        try await goOn()
        let name = try await database.server.makeDatabase()
        try await database.server.runScript(file, in: name)
        try await expectNothingOld(in: registry(of: name))
        // The original isn't disturbed.
        #expect(try await database.registry.admit(use(3), in: home) == .admitted)
    }

    /// Otherwise everything that is new would count as expired until the clock is there.
    @Test func `a clock that was ahead for a while begins a new incarnation`() async throws {
        let session = try database.session()
        let before = try await database.registry.incarnation()
        let ahead = "(extract(epoch FROM clock_timestamp()) * 1000)::int8 + "
        try session.run("UPDATE portcullis.home SET forgotten = \(ahead) 9000")
        try await database.registry.forgetMarks(expiredAt: 0, maximum: 10)
        #expect(try await database.registry.incarnation() == before)
        try session.run("UPDATE portcullis.home SET forgotten = \(ahead) 3600000")
        try await database.registry.forgetMarks(expiredAt: 0, maximum: 10)
        let after = try await database.registry.incarnation()
        #expect(after != before)
        // Nor does a gateway take it there.
        try await database.registry.forgetMarks(expiredAt: .max, maximum: 10)
        try await database.registry.forgetMarks(expiredAt: 0, maximum: 10)
        #expect(try await database.registry.incarnation() == after)
    }

    @Test func `so has a dump of the data alone, in the same database`() async throws {
        try await database.server.dump(database.name, to: file, ["--data-only", "--disable-triggers"])
        try await goOn()
        let tables = [
            "schema", "device_key", "receipt", "counter_window", "signing_state", "signing_key", "secret",
            "development_token", "development_place", "changes", "feed", "home", "spent", "ticket", "account",
            "passkey", "account_device", "account_end", "refresh_family", "refresh_home",
            "refresh_witness",
        ]
        let names = tables.map { "portcullis.\($0)" }.joined(separator: ", ")
        try database.session().run("TRUNCATE \(names)")
        try await database.server.runScript(file, in: database.name)
        try await expectNothingOld(in: database.registry)
    }

    /// As docs/FLEET.md has it.
    @Test func `so has a dump that replaces the schema, in the same database`() async throws {
        try await database.server.dump(database.name, to: file)
        try await goOn()
        try database.session().run("DROP SCHEMA portcullis CASCADE")
        try await database.server.runScript(file, in: database.name)
        try await expectNothingOld(in: database.registry)
    }

    @Test func `so has a database that was made from another one as its template`() async throws {
        try await goOn()
        // Nobody may be connected to the template.
        database.registry.close()
        let server = database.server
        let (name, original) = (database.name, database)
        let copy = try await eventually { try await server.makeDatabase(template: name) }
        try await expectNothingOld(in: registry(of: copy))
        withExtendedLifetime(original) {}
    }

    @Test func `the changes of before aren't skipped`() async throws {
        let feed = PostgreSQLRevocations(of: database.registry)
        _ = try await database.registry.enrol(.sample(2))
        try await database.server.dump(database.name, to: file)
        for _ in 0..<3 {
            _ = try await database.registry.revoke(.sample(1), reason: "lost", at: 1)
            _ = try await database.registry.restore(.sample(1))
        }
        #expect(try await feed.ifChanged() != nil)
        let changes = try database.session().run("SELECT max(seq) FROM portcullis.changes", []).only().integer(0)
        // The key was revoked and restored; nobody has to be told of a family that begins.
        #expect(changes == 6)
        try database.session().run("DROP SCHEMA portcullis CASCADE")
        try await database.server.runScript(file, in: database.name)
        // Its number is one of those that the feed has seen.
        let again = try database.anotherRegistry()
        _ = try await again.revoke(.sample(2), reason: "lost", at: 1)
        #expect(try await eventually { try await feed.ifChanged() }.keys == [.sample(2)])
    }
}
