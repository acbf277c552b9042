import Foundation
import KeyStore
import KeyStorePostgreSQL
import PostgreSQL
import PostgreSQLTestKit
import Testing

/// `config/postgresql-roles.sql`: each role can do its work, and no more.
@Suite("The roles of a fleet's database")
struct PostgreSQLRolesTests {
    private let database: FleetDatabase
    private let gateway: PostgreSQLKeyRegistry
    private let operatorStore: PostgreSQLKeyRegistry

    init() async throws {
        let database = try await FleetDatabase()
        self.database = database
        let (gatewayRole, operatorRole) = ("gateway_of_\(database.name)", "operator_of_\(database.name)")
        try database.session().run("CREATE ROLE \(gatewayRole) LOGIN; CREATE ROLE \(operatorRole) LOGIN")
        try await Self.runScript(in: database)
        gateway = try Self.registry(of: gatewayRole, database)
        operatorStore = try Self.registry(of: operatorRole, database)
    }

    /// - Parameter setting: whose grants are commented in.
    private static func runScript(in database: FleetDatabase, with setting: String? = nil) async throws {
        var isChosen = false
        let script = try String(contentsOfFile: "config/postgresql-roles.sql", encoding: .utf8)
            .split(separator: "\n", omittingEmptySubsequences: false)
            .map { line -> String in
                if line.hasPrefix("-- With ") { isChosen = setting.map { line.contains($0) } ?? false }
                return isChosen && line.hasPrefix("-- GRANT ") ? String(line.dropFirst(3)) : String(line)
            }
        let file = database.server.directory + "/\(database.name).sql"
        try Data(script.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: file))
        let roles = ["gateway", "operator"].map { "--set=\($0)=\($0)_of_\(database.name)" }
        try await database.server.runScript(file, in: database.name, roles)
    }

    private static func registry(of role: String, _ database: FleetDatabase) throws -> PostgreSQLKeyRegistry {
        var options = database.options
        options.parameters["user"] = role
        return try FleetDatabase.registry(options)
    }

    private let signer = StoredSigningKeys(
        keys: [StoredSigningKey(id: "k", secret: [1, 2, 3], publishedAt: 1, signsFrom: 2)])

    @Test func `a gateway can serve`() async throws {
        try await gateway.checkSchema()
        try await gateway.tryWriting()
        try gateway.putInForce(try #require(CounterWindow(size: 32)), after: nil)
        try gateway.narrow(to: .strict)
        let home = try await gateway.incarnation()
        #expect(try await gateway.enrol(.sample(1)) == .enrolled)
        #expect(try await gateway.enrol(.sample(1)) == .alreadyEnrolled)
        let use = AssertionUse(mark: .sample(1), key: .sample(1), counter: 1, time: 1)
        #expect(try await gateway.admit(use, in: home) == .admitted)
        #expect(try await gateway.advanceCounter(of: .sample(1), to: 2, at: 1) == .advanced)
        #expect(try await gateway.spend(.sample(2, .tokenProof), in: home) == .spent)
        let ticket = try #require(SealedTicket(hash: [UInt8](repeating: 1, count: 32), sealed: [1], expires: 10_000))
        #expect(try await gateway.keep(ticket, in: home) == .spent)
        #expect(try await gateway.takeTicket(hash: ticket.hash, at: 1, in: home)?.ticket == ticket)
        let next = (UInt8(2)...6).map { KeptTicket.sample($0) }
        for ticket in next { #expect(try await gateway.keep(ticket, in: home) == .spent) }
        try await gateway.shortenTickets(ofSession: next[0].session, to: 500)
        #expect(try await gateway.takeTicket(hash: next[4].hash, at: 1, in: home)?.ticket.expires == 500)
        #expect(try await gateway.beginUpkeep(pause: 3_600_000))
        #expect(try await !gateway.beginUpkeep(pause: 3_600_000))
        try database.session().run("UPDATE portcullis.upkeep SET began = '-infinity'")
        #expect(try await gateway.beginUpkeep(pause: 3_600_000))
        try await gateway.forgetMarks(expiredAt: 20_000, maximum: 10)
        try await gateway.forgetHoldings()
        #expect(try gateway.replaceSigningKeys(StoredSigningKeys(), with: signer))
        #expect(try gateway.signingKeys() == signer)
        #expect(try gateway.secret(named: "nonce", creating: [7]) == [7])
        let token = DevelopmentToken.sample()
        #expect(try await operatorStore.issue(token) == .issued)
        for _ in 0..<2 {
            #expect(try await gateway.redeem(token.hash, by: KeyID.sample(9).bytes, at: 1_500) == .granted(token.grant))
        }
        #expect(try await gateway.begin(.sample(1), maximum: 10) == .begun)
        try await gateway.keepWitness()
        // It ends all families, as in an older copy.
        let epoch = try database.session().run("SELECT epoch FROM portcullis.refresh_home", []).only().integer(0)
        try database.session().run("UPDATE portcullis.refresh_witness SET beats = 0")
        try await gateway.keepWitness()
        #expect(
            try database.session().run("SELECT epoch FROM portcullis.refresh_home", []).only().integer(0) == epoch + 1)
        #expect(try await gateway.begin(.sample(2, origin: .open), maximum: 10) == .begun)
        #expect(try await gateway.add(.sample(11), to: .sample(1)) == .added)
        for _ in 0..<2 { _ = try await gateway.join(.sample(1), to: .sample(1)) }
        #expect(
            try await gateway.use(.sample(11), spending: (.sample(3, .passkeyAuthentication, expires: 30_000), home))
                == .used)
        #expect(try await gateway.begin(.sample(1)) == .begun)
        #expect(try await gateway.begin(.sample(2, beginner: .passkey(.sample(11)))) == .begun)
        let signIn = PasskeySignIn(.sample(1), beginning: .sample(3))
        #expect(try await gateway.signIn(signIn, spending: SignInMarks()) == .passkey(.used))
        #expect(try await gateway.use(.sample(0, to: 1)).isRotated)
        #expect(try await gateway.standing(ofAccount: .sample(1))?.families.count == 3)
        #expect(try await gateway.remove(.sample(11), of: .sample(1), at: 1))
        #expect(try await gateway.end(.account(.sample(1)), at: 1) == 2)
        _ = try await gateway.expireFamilies(at: .max)
        #expect(try await gateway.remove(device: .sample(1), of: .sample(1), at: 1))
        #expect(try await gateway.forget(.sample(1), at: 1))
        #expect(try await gateway.expireAccounts(madeBefore: .max, at: .max) == 1)
        await #expect(throws: KeyRegistryError.self) { try await gateway.close(.sample(1), at: 1) }
        let feed = PostgreSQLRevocations(of: gateway)
        _ = try await feed.ifChanged()
        #expect(try await operatorStore.revoke(.sample(1), reason: "lost", at: 1))
        #expect(try await feed.ifChanged()?.keys == [.sample(1)])
        try await gateway.forgetChanges()
        let member = PostgreSQLKeyRegistry.Membership(id: "a", name: "a:6200", version: "1")
        for _ in 0..<2 {
            #expect(try await gateway.beat(member, uptime: 1, .init()).members.map(\.id) == ["a"])
        }
        try await gateway.leave(member, within: 5_000)
    }

    @Test func `a gateway can't undo what an operator has decided`() async throws {
        #expect(try await gateway.enrol(.sample(1)) == .enrolled)
        #expect(try await operatorStore.revoke(.sample(1), reason: "lost", at: 1))
        let token = DevelopmentToken.sample()
        _ = try await operatorStore.issue(token)
        _ = try await operatorStore.revoke(token.id, at: 1_100)
        let attempts: [String] = [
            "UPDATE portcullis.device_key SET revoked_at = NULL", "DELETE FROM portcullis.device_key",
            "TRUNCATE portcullis.device_key CASCADE", "UPDATE portcullis.development_token SET revoked_at = NULL",
            "UPDATE portcullis.development_token SET expires_at = 9000000000000",
            "INSERT INTO portcullis.development_token VALUES (sha256(''), 'i', 'n', NULL, 1, 1, 1, NULL, NULL)",
            "SELECT portcullis.block(ARRAY['address ::1'], NULL, 1, 9)",
            "SELECT portcullis.unblock(ARRAY['address ::1'])", "DELETE FROM portcullis.development_place",
            "UPDATE portcullis.changes SET subject = ''", "UPDATE portcullis.schema SET version = 99",
            "DROP TABLE portcullis.device_key", "CREATE TABLE portcullis.more (id int8)",
            "CREATE OR REPLACE FUNCTION portcullis.note(int8, bytea) RETURNS void LANGUAGE sql AS ''",
            "DO $$ BEGIN LOCK TABLE portcullis.schema IN SHARE ROW EXCLUSIVE MODE; END $$",
            "CREATE TEMPORARY TABLE t (id int8)",
        ]
        var parameters = database.server.parameters(database: database.name)
        parameters["user"] = "gateway_of_\(database.name)"
        let session = try PostgreSQLConnection(DriverOptions(parameters: parameters))
        for attempt in attempts {
            let error = #expect(throws: DatabaseError.self, "\(attempt)") { try session.run(attempt) }
            guard case .refused(let state, _) = error else { continue }
            #expect(state.code == "42501", "\(attempt)")
        }
        #expect(try await gateway.enrol(.sample(1)) == .revoked)
        await #expect(throws: KeyRegistryError.self) { try await gateway.restore(.sample(1)) }
        #expect(try await gateway.key(.sample(1))?.isRevoked == true)
    }

    @Test func `a gateway erases devices that unregister themselves with the grants for that, and not with fewer`()
        async throws
    {
        #expect(try !gateway.mayEraseBlocking())
        try await Self.runScript(in: database, with: "ADMIN_CONSOLE=on")
        #expect(try !gateway.mayEraseBlocking())
        #expect(try await !gateway.mayErase())
        try await Self.runScript(in: database, with: "SIGNED_REQUESTS=on")
        #expect(try gateway.mayEraseBlocking())
        #expect(try await gateway.mayErase())
        for byte in UInt8(1)...2 {
            #expect(try await gateway.enrol(.sample(byte)) == .enrolled)
            #expect(try await gateway.beginErasure(of: .sample(byte), at: 1))
        }
        #expect(try await gateway.unfinishedErasures(begunBefore: 2, limit: 9).count == 2)
        #expect(try await gateway.places(ofDevice: .sample(1)) == [])
        #expect(try await gateway.finishErasure(of: .sample(1), holders: [.sample(1)]).key == .removed)
        // Another gateway was faster, or an operator has revoked the key.
        #expect(try await gateway.finishErasure(of: .sample(1), holders: []).key == .unknown)
        #expect(try await operatorStore.revoke(.sample(2), reason: "lost", at: 1))
        #expect(try await gateway.finishErasure(of: .sample(2), holders: []).key == .reducedToRevocation)
        // Without them again, a statement says what is missing.
        try await Self.runScript(in: database)
        #expect(try !gateway.mayEraseBlocking())
        await #expect(throws: KeyRegistryError.self) { try await gateway.beginErasure(of: .sample(2), at: 1) }
    }

    @Test func `nobody else can connect`() async throws {
        let stranger = "stranger_of_\(database.name)"
        try database.session().run("CREATE ROLE \(stranger) LOGIN")
        var parameters = database.server.parameters(database: database.name)
        parameters["user"] = stranger
        let error = #expect(throws: DatabaseError.self) {
            try PostgreSQLConnection(DriverOptions(parameters: parameters))
        }
        #expect("\(try #require(error))".contains("permission denied for database"), "\(String(describing: error))")
        let temporary = "SELECT has_database_privilege('public', current_database(), 'TEMPORARY')"
        #expect(try database.session().run(temporary, []).only().boolean(0) == false)
    }

    @Test func `the script fails as a whole if its user can't shut others out`() async throws {
        let other = try await FleetDatabase()
        let owner = "owner_of_\(other.name)"
        let session = try other.session()
        try session.run("CREATE ROLE \(owner) LOGIN; ALTER SCHEMA portcullis OWNER TO \(owner)")
        let script = try String(contentsOfFile: "config/postgresql-roles.sql", encoding: .utf8)
        let file = other.server.directory + "/\(other.name).sql"
        let asOwner = "SET SESSION AUTHORIZATION \(owner);\n" + script
        try Data(asOwner.utf8).write(to: URL(fileURLWithPath: file))
        let (gateway, administrator) = ("gateway_of_\(database.name)", "operator_of_\(database.name)")
        await #expect(throws: (any Error).self) {
            try await other.server.runScript(
                file, in: other.name, ["--set=gateway=\(gateway)", "--set=operator=\(administrator)"])
        }
        let usage = "SELECT has_schema_privilege('\(gateway)', 'portcullis', 'USAGE')"
        #expect(try session.run(usage, []).only().boolean(0) == false)
    }

    @Test func `an operator can administer, and not change the tables`() async throws {
        for key in UInt8(1)...4 { _ = try await gateway.enrol(.sample(key)) }
        #expect(try await operatorStore.revoke(.sample(1), reason: "lost", at: 1))
        #expect(try await operatorStore.restore(.sample(1)))
        #expect(try await operatorStore.forget(.sample(2)) == .forgotten)
        let batch = try await operatorStore.prune([.sample(3)], idleSince: .max)
        #expect(batch.forgotten == [.sample(3)])
        #expect(try await operatorStore.beginErasure(of: .sample(4), at: 1))
        _ = try await gateway.keep(KeptTicket.sample(1), in: gateway.incarnation())
        #expect(try await operatorStore.finishErasure(of: .sample(4), holders: [.sample(1)]).key == .removed)
        let token = DevelopmentToken.sample()
        #expect(try await operatorStore.issue(token) == .issued)
        #expect(try await operatorStore.revoke(token.id, at: 1))
        #expect(try operatorStore.replaceSigningKeys(StoredSigningKeys(), with: signer))
        try await operatorStore.settle()
        var parameters = database.server.parameters(database: database.name)
        parameters["user"] = "operator_of_\(database.name)"
        let session = try PostgreSQLConnection(DriverOptions(parameters: parameters))
        #expect(try FleetBlockList.add(["address ::1"], reason: nil, at: 1, maximum: 1, in: session) == 1)
        #expect(try await gateway.blockedEntries() == ["address ::1"])
        #expect(try FleetBlockList.remove(["address ::1"], in: session) == 1)
        // Also those of other roles.
        let own = "SELECT count(*) FROM pg_stat_activity WHERE usename = current_user"
        let connections = try session.run(own, []).only().integer(0)
        #expect(try FleetOverview(session).connections > connections)
        for attempt in [
            "UPDATE portcullis.schema SET version = 9", "DROP TABLE portcullis.device_key",
            "DO $$ BEGIN LOCK TABLE portcullis.schema IN SHARE ROW EXCLUSIVE MODE; END $$",
        ] {
            #expect(throws: DatabaseError.self, "\(attempt)") { try session.run(attempt) }
        }
    }
}
