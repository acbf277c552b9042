import KeyStore
import PostgreSQL
import PostgreSQLTestKit
import Testing

@testable import KeyStorePostgreSQL

@Suite("The gateways of a fleet in its store")
struct PostgreSQLMembersTests {
    private typealias Membership = PostgreSQLKeyRegistry.Membership

    private func membership(_ id: String) -> Membership { Membership(id: id, name: "\(id):6200", version: "0.9") }

    @Test func `a beat joins, tells all that changes, and returns everybody`() async throws {
        let database = try await FleetDatabase()
        let store = database.registry
        let first = try await store.beat(membership("a"), uptime: 5_000, .init())
        #expect(first.members.map(\.id) == ["a"])
        #expect(first.members.first.map { first.readAt - $0.started >= 5_000 } == true)
        let report = GatewayMember.Report(
            state: .draining, sessions: 7, connections: 9, lag: 12, address: "10.0.0.1:6210")
        _ = try await database.anotherRegistry().beat(membership("b"), uptime: 0, report)
        let all = try await store.beat(membership("a"), uptime: 600_000, .init(sessions: 1))
        let (a, b) = (
            try #require(all.members.first { $0.id == "a" }), try #require(all.members.first { $0.id == "b" })
        )
        #expect(all.members.count == 2 && a.report == .init(sessions: 1) && b.report == report)
        #expect(b.name == "b:6200" && b.version == "0.9" && b.schema == PostgreSQLSchema.current.version)
        #expect(a.started == first.members.first?.started && a.heartbeat >= b.heartbeat)
        #expect(all.alive(at: all.readAt).count == 2)
    }

    @Test func `a gateway that leaves is gone, and may come back`() async throws {
        let database = try await FleetDatabase()
        let store = database.registry
        _ = try await store.beat(membership("a"), uptime: 0, .init())
        _ = try await store.beat(membership("b"), uptime: 0, .init())
        try await store.leave(membership("a"), within: 5_000)
        #expect(try await store.beat(membership("b"), uptime: 0, .init()).members.map(\.id) == ["b"])
        #expect(try await store.beat(membership("a"), uptime: 0, .init()).members.count == 2)
    }

    @Test func `only sessions of gateways that are gone are forgotten`() async throws {
        let database = try await FleetDatabase()
        let store = database.registry
        for id in ["a", "b"] { _ = try await store.beat(membership(id), uptime: 0, .init()) }
        let mark = SessionMark.init(bytes:)
        let marks = try (1...4).map { try #require(mark([UInt8](repeating: UInt8($0), count: SessionMark.byteCount))) }
        for (mark, gateway) in zip(marks, ["a", "b", "c", "d"]) {
            let noted: Result<Void, KeyRegistryError> = await withCheckedContinuation { continuation in
                store.note(SessionChanges(began: [mark], ended: []), of: gateway) { continuation.resume(returning: $0) }
            }
            try noted.get()
        }
        func holders() throws -> [String] {
            let rows = try database.session().run("SELECT gateway FROM portcullis.session ORDER BY gateway", [])
            return try rows.map { row throws(DatabaseError) in try row.text(0) }
        }
        // It has come back.
        try await store.forgetSessions(of: "a")
        #expect(try holders() == ["a", "b", "c", "d"])
        try await store.forgetLostSessions()
        #expect(try holders() == ["a", "b"])
        try database.session().run("UPDATE portcullis.gateway SET heartbeat = heartbeat - interval '6 seconds'")
        try await store.forgetLostSessions()
        #expect(try holders() == ["a", "b"])
        try await store.forgetSessions(of: "a")
        #expect(try holders() == ["b"])
    }

    @Test func `silent gateways are dead at the limit and forgotten later`() async throws {
        let database = try await FleetDatabase()
        let store = database.registry
        for id in ["dead", "old"] { _ = try await store.beat(membership(id), uptime: 0, .init()) }
        func age(_ id: String, _ milliseconds: Int64) throws {
            try database.session().run(
                """
                UPDATE portcullis.gateway SET heartbeat = clock_timestamp() - \(milliseconds) * interval '1 millisecond'
                WHERE id = '\(id)'
                """)
        }
        try age("dead", GatewayMembers.deadAfter + 1)
        try age("old", GatewayMembers.forgottenAfter + 1)
        let view = try await store.beat(membership("a"), uptime: 0, .init())
        #expect(view.members.map(\.id) == ["a", "dead"])
        #expect(view.alive(at: view.readAt).map(\.id) == ["a"])
    }

    @Test func `a dead gateway is forgotten when one of the same name has replaced it`() async throws {
        let database = try await FleetDatabase()
        let store = database.registry
        let names = ["before", "beside", "after"].map { Membership(id: $0, name: "mud1:6200", version: "1") }
        for member in names.prefix(2) { _ = try await store.beat(member, uptime: 0, .init()) }
        try database.session().run(
            """
            UPDATE portcullis.gateway SET heartbeat = clock_timestamp() - \(GatewayMembers.deadAfter + 1) \
            * interval '1 millisecond' WHERE id = 'before'
            """)
        let view = try await store.beat(names[2], uptime: 0, .init())
        #expect(view.members.map(\.id).sorted() == ["after", "beside"])
    }

    /// Its rows have no beginning of their own, as after a crash, a failover or a restore.
    @Test func `a store that has lost its incarnation began when the new one was made`() async throws {
        let database = try await FleetDatabase()
        let store = database.registry
        let first = try await store.beat(membership("a"), uptime: 0, .init())
        #expect(first.incarnation != nil)
        try database.session().run("TRUNCATE portcullis.home")
        let second = try await store.beat(membership("a"), uptime: 0, .init())
        #expect(second.incarnation != nil && second.incarnation != first.incarnation && !second.isSettled)
        // The time goes on, and the beginning stays.
        var later = second
        while later.readAt <= second.readAt { later = try await store.beat(membership("a"), uptime: 0, .init()) }
        #expect(later.began == second.began && later.incarnation == second.incarnation)
        #expect(second.began >= first.readAt && second.began <= second.readAt)
    }

    /// As milliseconds they would be an error for everybody who reads the table.
    @Test func `an infinite time can't be written`() async throws {
        let database = try await FleetDatabase()
        _ = try await database.registry.beat(membership("a"), uptime: 0, .init())
        for column in ["heartbeat", "started"] {
            #expect(throws: DatabaseError.self) {
                try database.session().run("UPDATE portcullis.gateway SET \(column) = 'infinity'")
            }
        }
    }

    @Test func `what a gateway has announced is known until its row is lost`() async throws {
        let database = try await FleetDatabase()
        let store = database.registry
        var report = GatewayMember.Report()
        let view = try await store.beat(membership("a"), uptime: 0, report)
        report.announced = view.incarnation
        #expect(try await store.beat(membership("a"), uptime: 0, report).members.map(\.report) == [report])
        try database.session().run("TRUNCATE portcullis.gateway")
        #expect(try await store.beat(membership("a"), uptime: 0, report).members.map(\.report.announced) == [nil])
    }

    @Test func `a process goes on with the row of the one before`() async throws {
        let database = try await FleetDatabase()
        let store = database.registry
        _ = try await store.beat(membership("a"), uptime: 60_000, .init())
        let newer = Membership(id: "a", name: "b:6200", version: "1.0")
        let view = try await store.beat(newer, uptime: 0, .init())
        let member = try #require(view.members.first)
        #expect(view.members.count == 1 && member.name == "b:6200" && member.version == "1.0")
        #expect(view.readAt - member.started < 30_000)
    }

    @Test(arguments: ["repeat('x', 301)", "U&'a\\0301'"])
    func `a row with a text that no gateway writes is no gateway's`(text: String) async throws {
        let database = try await FleetDatabase()
        let store = database.registry
        for column in ["id", "name", "version", "address"] {
            _ = try await store.beat(membership("x"), uptime: 0, .init())
            try database.session().run(
                "UPDATE portcullis.gateway SET \(column) = \(text) WHERE id = 'x'")
            #expect(try await store.beat(membership("a"), uptime: 0, .init()).members.map(\.id) == ["a"])
            try database.session().run("TRUNCATE portcullis.gateway")
        }
    }

    @Test func `without a row all gateways are in doubt that may have sessions which the store doesn't know`()
        async throws
    {
        let database = try await FleetDatabase()
        let store = database.registry
        let mark = try #require(SessionMark(bytes: [UInt8](repeating: 1, count: SessionMark.byteCount)))
        func trace() async throws -> SessionTrace {
            let result: Result<SessionTrace, KeyRegistryError> = await withCheckedContinuation { continuation in
                store.find(mark) { continuation.resume(returning: $0) }
            }
            return try result.get()
        }
        var report = GatewayMember.Report(address: "a:1")
        report.announced = try await store.beat(membership("a"), uptime: 0, report).incarnation
        let before = try await trace()
        #expect(before.holder == nil && before.doubtful == ["a"] && before.lived > 0)
        _ = try await store.beat(membership("a"), uptime: 0, report)
        #expect(try await trace().doubtful == ["a"])
        func beat(late: Int64) async throws {
            let now = try await store.beat(membership("a"), uptime: 0, report).readAt
            _ = try await store.beat(membership("a"), uptime: 0, report, madeAt: now - late)
        }
        try await beat(late: 0)
        #expect(try await trace().doubtful.isEmpty)
        // It was made before a session whose client knows it by now.
        try await beat(late: SessionTrace.lateAfter + 1)
        #expect(try await trace().doubtful == ["a"])
        func age(_ milliseconds: Int64) throws {
            try database.session().run(
                "UPDATE portcullis.gateway SET heartbeat = clock_timestamp() - \(milliseconds) * interval '1 millisecond'"
            )
        }
        // A gateway of an older program doesn't say what it has announced.
        try database.session().run("UPDATE portcullis.gateway SET schema = 6, announced = NULL")
        #expect(try await trace().doubtful.isEmpty)
        let noted: Result<Void, KeyRegistryError> = await withCheckedContinuation { continuation in
            store.note(SessionChanges(began: [mark]), of: "a") { continuation.resume(returning: $0) }
        }
        try noted.get()
        try age(60_000)
        let found = try #require(try await trace().holder)
        #expect(found.id == "a" && found.address == "a:1" && (60_000..<600_000).contains(found.silence ?? 0))
        try database.session().run("TRUNCATE portcullis.gateway, portcullis.home")
        let lost = try await trace()
        #expect(lost.holder == SessionTrace.Holder(id: "a", address: nil, silence: nil) && lost.lived == 0)
    }

    @Test func `no more than the maximum are read, the newest first`() async throws {
        let database = try await FleetDatabase()
        try database.session().run(
            """
            INSERT INTO portcullis.gateway SELECT 'g' || n, 'g', '1', 2, 0, 0, 0, NULL, NULL, clock_timestamp(), \
            clock_timestamp() - interval '1 minute' FROM generate_series(1, \(GatewayMembers.maximum)) n
            """)
        let view = try await database.registry.beat(membership("a"), uptime: 0, .init())
        #expect(view.members.count == GatewayMembers.maximum && view.members.first?.id == "a")
    }

    /// A function of its own would be planned anew at each heartbeat.
    @Test func `the gateways are read by a part of the statement that asks for them`() async throws {
        let database = try await FleetDatabase()
        let rows = try database.session().run("EXPLAIN SELECT m.* FROM portcullis.members(5) m", [])
        let plan = try rows.map { row throws(DatabaseError) in try row.text(0) }
        #expect(plan.contains { $0.contains("on gateway") } && !plan.contains { $0.contains("Function Scan") })
    }

    /// There are rows of gateways that are gone.
    @Test func `heartbeats have the same results as by the functions of before`() async throws {
        let server = try await PostgresServer.shared()
        let name = try await server.makeDatabase()
        let session = try server.session(database: name)
        let before = PostgreSQLSchema(migrations: [
            .first, .members, .sessions, .blockList, .holdings, .rowLocks, .alive,
        ])
        _ = try before.migrate(session)
        func beat() throws -> [String] {
            try session.run(
                """
                TRUNCATE portcullis.gateway;
                INSERT INTO portcullis.gateway SELECT n, CASE n WHEN 'same' THEN 'a:1' ELSE n END, '1', 7, 0, 1, 2, 3, NULL,
                    to_timestamp(1), clock_timestamp() - s * interval '1 second'
                FROM (VALUES ('same', 6), ('old', 601), ('dead', 7), ('alive', 1)) AS v (n, s)
                """)
            let rows = try session.run(
                """
                SELECT concat_ws(' ', b.id, b.name, b.version, b.schema, b.state, b.sessions, b.connections, b.lag, b.address,
                    encode(b.announced, 'hex'), encode(b.incarnation, 'hex'), b.began, b.heartbeat <= b.read_at,
                    CASE WHEN b.id <> 'a' THEN b.started END)
                FROM portcullis.beat('a', 'a:1', '1', 7, 5, 0, 0, 0, NULL, NULL, 5000, 600000, 1000, NULL, NULL) b
                """, [])
            return try rows.map { row throws(DatabaseError) in try row.text(0) }
        }
        let old = try beat()
        #expect(old.map { $0.prefix { $0 != " " } } == ["a", "alive", "dead"])
        _ = try PostgreSQLSchema.current.migrate(session)
        #expect(try beat() == old)
    }

    @Test func `a state of a newer program is read as not serving`() async throws {
        let database = try await FleetDatabase()
        _ = try await database.registry.beat(membership("a"), uptime: 0, .init())
        try database.session().run("UPDATE portcullis.gateway SET state = 9")
        let overview = try FleetOverview(try database.session())
        #expect(overview.members.members.map(\.report.state) == [.draining])
    }

    @Test func `a tool sees the gateways and the database`() async throws {
        let database = try await FleetDatabase()
        var overview = try FleetOverview(try database.session())
        #expect(overview.members.members.isEmpty && overview.isPrimary)
        _ = try await database.registry.beat(membership("a"), uptime: 0, .init())
        overview = try FleetOverview(try database.session())
        #expect(overview.members.members.map(\.id) == ["a"] && overview.incarnation?.count == 32)
        #expect(overview.schema == PostgreSQLSchema.current.version && overview.oldestProgram == 1)
        #expect(overview.connections >= 1 && overview.maximumConnections == 400)
    }

    @Test func `a standby is recognised`() async throws {
        let primary = try await PostgresServer.launch()
        let name = try await primary.makeDatabase()
        _ = try PostgreSQLSchema.current.migrate(primary.session(database: name))
        var options = PostgresServer.Options()
        options.primary = primary
        let standby = try await PostgresServer.launch(options)
        let overview = try FleetOverview(try standby.session(database: name))
        #expect(!overview.isPrimary && overview.members.members.isEmpty && overview.incarnation == nil)
    }
}
