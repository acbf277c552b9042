import Admission
import EdgeTestKit
import Foundation
import KeyStore
import KeyStorePostgreSQL
import Logging
import PostgreSQL
import PostgreSQLTestKit
import Settings
import Synchronization
import Testing

@testable import Admission
@testable import GatewayServer
@testable import OperatorTools
@testable import Relay

@Suite("The database of a serving gateway")
struct FleetStoreTests {
    private let folder: TemporaryDirectory
    private let server: PostgresServer
    private let database: String
    private let configuration: FleetStoreConfiguration

    init() async throws {
        server = try await PostgresServer.shared()
        database = try await server.makeDatabase()
        folder = try TemporaryDirectory()
        try Data((String(repeating: "5c", count: 32) + "\n").utf8).write(to: URL(fileURLWithPath: folder.file("keys")))
        let url = "postgresql://portcullis@/\(database)?host=\(server.directory)"
        let settings = [
            "STORE_URL": url, "STORE_SECRETS_KEY_PATH": folder.file("keys"),
            "STORE_TIMEOUT_MS": "10000",
        ]
        configuration = try #require(
            try ConfigurationLoading.loadFleetStore(environment: settings, environmentFile: nil))
        _ = try FleetStoreAdministration(configuration).migrate()
    }

    private func store(folder: String? = nil) throws -> FleetStore {
        try FleetStore(
            configuration, StoreObserver(now: { 0 }) { _, _, _ in }, folder: folder,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    @Test func `a role that may not erase devices is named at the start`() throws {
        let role = "plain_of_\(database)"
        let session = try server.session(database: database)
        try session.run(
            """
            CREATE ROLE \(role) LOGIN; GRANT USAGE ON SCHEMA portcullis TO \(role);
            GRANT ALL ON ALL TABLES IN SCHEMA portcullis TO \(role);
            REVOKE DELETE ON portcullis.device_key FROM \(role)
            """)
        let settings = [
            "STORE_URL": "postgresql://\(role)@/\(database)?host=\(server.directory)",
            "STORE_SECRETS_KEY_PATH": folder.file("keys"), "STORE_TIMEOUT_MS": "10000",
        ]
        let configuration = try #require(
            try ConfigurationLoading.loadFleetStore(environment: settings, environmentFile: nil))
        let store = try FleetStore(
            configuration, StoreObserver(now: { 0 }) { _, _, _ in },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let error = #expect(throws: GatewayError.self) { try store.checkErasing() }
        let text = "\(try #require(error))"
        #expect(text.contains("SIGNED_REQUESTS=on") && text.contains("postgresql-roles.sql"), "\(text)")
        try session.run("GRANT DELETE ON portcullis.device_key TO \(role)")
        try store.checkErasing()
    }

    private func mark(_ number: UInt8, expires: Int64 = .max) throws -> SingleUseMark {
        try #require(SingleUseMark(.challenge, bytes: [number], expires: expires))
    }

    private func waitsForLock(_ session: PostgreSQLConnection) throws -> Bool {
        let waiting = """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%portcullis.holding%'
            """
        return try session.run(waiting, []).only().integer(0) > 0
    }

    /// - Returns: false if the housekeeping has ended before the answers were there: the machine is too slow for a
    ///   statement.
    private func admitsMeanwhile(_ store: FleetStore, _ marks: [SingleUseMark]) async throws -> Bool {
        let (holder, watcher) = (try server.session(database: database), try server.session(database: database))
        try holder.run("UPDATE portcullis.upkeep SET began = '-infinity'")
        let home = try await store.registry.incarnation()
        try holder.run("BEGIN; LOCK TABLE portcullis.holding IN ACCESS EXCLUSIVE MODE")
        let hasEnded = Atomic(false)
        let upkeep = Task {
            try? await store.forgetExpired()
            hasEnded.store(true, ordering: .relaxed)
        }
        while try !waitsForLock(watcher), !hasEnded.load(ordering: .relaxed) { await Task.yield() }
        try await withThrowingTaskGroup(of: MarkSpending.self) { group in
            for mark in marks { group.addTask { try await store.registry.spend(mark, in: home) } }
            for try await spending in group { #expect(spending == .spent) }
        }
        let isWaiting = try waitsForLock(watcher)
        try holder.run("COMMIT")
        await upkeep.value
        return isWaiting
    }

    /// Nothing of the housekeeping can go on, and no admission waits behind it.
    @Test func `admits while its housekeeping waits`() async throws {
        let store = try store()
        for round in UInt8(0)..<10 {
            let marks = try (0..<16).map { try mark(round * 16 + $0) }
            if try await admitsMeanwhile(store, marks) { return }
        }
        Issue.record("admissions were answered after the housekeeping only")
    }

    /// As a connection that is lost between two statements does.
    @Test func `tells of a change whose tokens or block list could first not be loaded`() async throws {
        let store = try store()
        let feed = FleetFeed(store)
        _ = try await feed.ifChanged()
        let session = try server.session(database: database)
        for number in UInt8(1)...2 { _ = try await store.registry.enrol(FleetCommandBench.key(number, counter: 0)) }
        let (first, second) = (try FleetCommandBench.key(1, counter: 0).id, try FleetCommandBench.key(2, counter: 0).id)
        _ = try await store.registry.revoke(first, reason: "lost", at: 1)
        _ = try FleetBlockList.add(["address ::1"], reason: nil, at: 1, maximum: 9, in: session)
        try session.run("ALTER TABLE portcullis.block RENAME TO hidden")
        for _ in 0..<2 { await #expect(throws: KeyRegistryError.self) { try await feed.ifChanged() } }
        try session.run("ALTER TABLE portcullis.hidden RENAME TO block")
        _ = try await store.registry.revoke(second, reason: "lost", at: 1)
        #expect(try await feed.ifChanged()?.keys == [first, second])
        #expect(store.blocks.list.takeNew() != nil)
        #expect(try await feed.ifChanged() == nil)
    }

    /// More than a gateway remembers: none is forgotten before it is told.
    @Test func `tells of all ends that it heard of while something else couldn't be loaded`() async throws {
        let store = try store()
        let feed = FleetFeed(store)
        _ = try await feed.ifChanged()
        let session = try server.session(database: database)
        func end(_ numbers: ClosedRange<Int>) throws {
            let subjects = """
                SELECT decode(lpad(to_hex(n), 32, '0'), 'hex') AS id
                FROM generate_series(\(numbers.lowerBound), \(numbers.upperBound)) AS n
                """
            try session.run(
                """
                INSERT INTO portcullis.account_end
                SELECT 1, s.id, portcullis.milliseconds(clock_timestamp()) FROM (\(subjects)) AS s;
                INSERT INTO portcullis.changes (kind, subject) SELECT 5, s.id FROM (\(subjects)) AS s
                """)
        }
        try end(1...10_000)
        _ = try FleetBlockList.add(["address ::1"], reason: nil, at: 1, maximum: 9, in: session)
        try session.run("ALTER TABLE portcullis.block RENAME TO hidden")
        await #expect(throws: KeyRegistryError.self) { try await feed.ifChanged() }
        try end(10_001...20_000)
        await #expect(throws: KeyRegistryError.self) { try await feed.ifChanged() }
        try session.run("ALTER TABLE portcullis.hidden RENAME TO block")
        #expect(try await feed.ifChanged()?.accounts.count == 20_000)
        try end(20_001...20_001)
        #expect(try await feed.ifChanged()?.accounts.count == RememberedEnds.maximum + 1)
    }

    /// The standing of an account that this gateway remembers.
    @Test func `forgets what it knows of an account that has changed, before it tells of it`() async throws {
        let (store, other) = (try store(), try self.store())
        let feed = FleetFeed(store)
        let account = try StoreForgery.account()
        let (id, mark) = (account.id, account.passkeys[0].mark)
        #expect(try await other.registry.begin(account, maximum: 9) == .begun)
        _ = try await feed.ifChanged()
        // A record is trusted for a time after it was read, whenever this test looks.
        var read = await load(id, by: store)
        #expect(store.knownAccounts.current(of: id, at: read)?.passkeys == [mark])
        #expect(try await other.registry.remove(mark, of: id, at: 5))
        #expect(try await feed.ifChanged()?.passkeys == [mark])
        #expect(store.knownAccounts.current(of: id, at: read)?.passkeys.contains(mark) != true)
        read = await load(id, by: store)
        #expect(try await other.registry.close(id, at: 6))
        #expect(try await feed.ifChanged()?.accounts == [id])
        #expect(store.knownAccounts.current(of: id, at: read)?.isClosed != false)
    }

    /// - Returns: when it was read.
    private func load(_ id: AccountID, by store: FleetStore) async -> MonotonicTime {
        let time = MonotonicTime.now
        await withCheckedContinuation { continuation in
            store.knownAccounts.load(id, at: time) { _ in continuation.resume() }
        }
        return time
    }

    /// An operator may just have ended them.
    @Test func `has families ended also while accounts can't be expired`() async throws {
        let (store, account) = (try store(), try StoreForgery.account())
        #expect(try await store.registry.begin(account, maximum: 9) == .begun)
        let hash = [UInt8](repeating: 7, count: RefreshLimits.hashBytes)
        let id = try #require(RefreshFamilyID(bytes: [UInt8](repeating: 1, count: RefreshFamilyID.length)))
        let family = RefreshFamily(
            id: id, account: account.id, beginner: .passkey(account.passkeys[0].mark), key: hash, hash: hash, at: 1,
            expiresAt: 2)
        #expect(try await store.registry.begin(family) == .begun)
        let session = try server.session(database: database)
        try session.run("ALTER FUNCTION portcullis.expire_accounts RENAME TO hidden")
        await #expect(throws: KeyRegistryError.self) { try await store.forgetExpired() }
        #expect(try session.run("SELECT count(*) FROM portcullis.refresh_family", []).only().integer(0) == 0)
    }

    @Test func `keeps the witness of the past in its folder, also if other housekeeping fails`() async throws {
        let (path, session) = (folder.file("refresh-witness"), try server.session(database: database))
        try session.run("ALTER FUNCTION portcullis.begin_upkeep RENAME TO hidden")
        let store = try self.store(folder: folder.path)
        #expect(!FileManager.default.fileExists(atPath: path))
        await #expect(throws: KeyRegistryError.self) { try await store.maintain() }
        #expect(FileManager.default.fileExists(atPath: path))
        #expect(try session.run("SELECT beats FROM portcullis.refresh_witness", []).only().integer(0) == 1)
    }

    @Test func `lets the witness beat when the database answers again`() {
        let beats = WitnessBeats()
        #expect(beats.isDue())
        #expect(!beats.isDue())
        beats.hasten()
        #expect(beats.isDue())
    }

    // MARK: The window of counters

    private func recorded(_ session: PostgreSQLConnection) throws -> (size: Int64, epoch: Int64) {
        let row = try session.run("SELECT size, epoch FROM portcullis.counter_window", []).only()
        return (try row.integer(0), try row.integer(1))
    }

    /// - Parameter silences: of each gateway, by its id, in milliseconds.
    private func members(_ silences: [String: Int64]) -> GatewayMembers {
        let members = silences.map { id, silence in
            GatewayMember(
                id: id, name: id, version: "1", schema: 1, started: 0, heartbeat: 100_000 - silence,
                report: GatewayMember.Report())
        }
        return GatewayMembers(members, readAt: 100_000, began: 0)
    }

    private func narrows(
        _ store: FleetStore, _ session: PostgreSQLConnection, to size: Int64, hearing members: GatewayMembers
    ) async throws {
        try await Poll.untilTrue("the narrower window") {
            store.counterWindow.hear(members)
            return try recorded(session).size == size
        }
    }

    @Test(arguments: [["left": Int64(0)], ["left": 0, "gone": GatewayMembers.deadAfter + 1]])
    func `a gateway that is left records its window where a wider one is`(silences: [String: Int64]) async throws {
        let (left, gone, session) = (try store(), try store(), try server.session(database: database))
        let (narrow, wide) = (try #require(CounterWindow(size: 8)), try #require(CounterWindow(size: 32)))
        try left.counterWindow.putInForce(narrow, after: nil)
        try gone.counterWindow.putInForce(wide, after: nil)
        // It knows of nobody that went before.
        try await narrows(left, session, to: 8, hearing: members(["left": 0, "gone": 0]))
        let epoch = try recorded(session).epoch
        try gone.counterWindow.putInForce(wide, after: nil)
        let widened = try recorded(session)
        #expect(widened.size == 32 && widened.epoch == epoch + 1)
        try await narrows(left, session, to: 8, hearing: members(silences))
    }

    /// It may have been recorded, and the answer lost.
    @Test func `a gateway whose wider window couldn't be recorded records its former one`() async throws {
        let (gateway, session) = (try store(), try server.session(database: database))
        let (narrow, wide) = (try #require(CounterWindow(size: 8)), try #require(CounterWindow(size: 32)))
        try gateway.counterWindow.putInForce(narrow, after: nil)
        try session.run("UPDATE portcullis.counter_window SET size = 32")
        try await narrows(gateway, session, to: 8, hearing: members(["one": 0]))
        try session.run("ALTER TABLE portcullis.counter_window RENAME TO hidden")
        #expect(throws: KeyRegistryError.self) { try gateway.counterWindow.putInForce(wide, after: narrow) }
        try session.run("ALTER TABLE portcullis.hidden RENAME TO counter_window")
        try session.run("UPDATE portcullis.counter_window SET size = 32")
        try await narrows(gateway, session, to: 8, hearing: members(["one": 0]))
    }

    @Test func `is kept by one gateway at a time`() async throws {
        let (one, other) = (try store(), try store())
        let session = try server.session(database: database)
        let home = try await one.registry.incarnation()
        func left() throws -> Int64 {
            try session.run("SELECT count(*) FROM portcullis.spent", []).only().integer(0)
        }
        #expect(try await one.registry.spend(mark(1, expires: 1), in: home) == .spent)
        try await one.forgetExpired()
        #expect(try left() == 0)
        try session.run("INSERT INTO portcullis.spent VALUES (1, '\\x01', 1)")
        try session.run("UPDATE portcullis.upkeep SET began = clock_timestamp()")
        try await other.forgetExpired()
        #expect(try left() == 1)
        try session.run("UPDATE portcullis.upkeep SET began = clock_timestamp() - interval '1 min'")
        try await other.forgetExpired()
        #expect(try left() == 0)
    }
}
