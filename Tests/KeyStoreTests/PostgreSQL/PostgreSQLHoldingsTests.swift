import KeyStore
import PostgreSQL
import PostgreSQLTestKit
import Testing

@testable import KeyStorePostgreSQL

@Suite("The sessions of a fleet's clients")
struct PostgreSQLHoldingsTests {
    private let database: FleetDatabase
    private let store: PostgreSQLKeyRegistry

    init() async throws {
        database = try await FleetDatabase()
        store = database.registry
        for name in ["a", "b", "c"] {
            let member = PostgreSQLKeyRegistry.Membership(id: name, name: "\(name):6200", version: "1")
            _ = try await store.beat(member, uptime: 0, .init())
        }
        // They live until a test says something else, however slow it is.
        try database.session().run("UPDATE portcullis.gateway SET heartbeat = clock_timestamp() + interval '1 h'")
    }

    private func mark(_ number: UInt8) throws -> HolderMark {
        try #require(HolderMark(bytes: [UInt8](repeating: number, count: HolderMark.byteCount)))
    }

    private func note(
        _ number: UInt8, _ sessions: Int, detached: Int = 0, at gateway: String
    ) async throws {
        try await store.note([Holding(mark(number), sessions: sessions, detached: detached)], of: gateway)
    }

    private func elsewhere(_ number: UInt8, than gateway: String) async throws -> Int {
        try await store.sessionsElsewhere(of: [mark(number)], than: gateway)[mark(number)] ?? 0
    }

    private func rows() throws -> Int64 {
        try database.session().run("SELECT count(*) FROM portcullis.holding", []).only().integer(0)
    }

    @Test func `are counted at the other gateways that live`() async throws {
        try await note(1, 2, at: "a")
        try await note(1, 3, at: "b")
        try await note(2, 7, at: "b")
        #expect(try await elsewhere(1, than: "a") == 3)
        #expect(try await elsewhere(1, than: "c") == 5)
        #expect(try await elsewhere(3, than: "a") == 0)
        try await note(1, 1, at: "b")
        #expect(try await elsewhere(1, than: "a") == 1)
        try await note(1, 0, at: "b")
        #expect(try await elsewhere(1, than: "a") == 0)
        // One that isn't a member, or is dead.
        try await note(2, 9, at: "stranger")
        #expect(try await elsewhere(2, than: "a") == 7)
        try database.session().run(
            "UPDATE portcullis.gateway SET heartbeat = clock_timestamp() - interval '6 s' WHERE id = 'b'")
        #expect(try await elsewhere(2, than: "a") == 0)
    }

    @Test func `are forgotten with their gateway`() async throws {
        try await note(1, 1, at: "a")
        try await note(1, 1, at: "stranger")
        try await store.forgetHoldings()
        #expect(try rows() == 1)
        #expect(try await elsewhere(1, than: "b") == 1)
    }

    @Test func `without a client make room for others, each once`() async throws {
        #expect(try await !store.makeRoom(for: mark(1), at: "a"))
        try await note(1, 3, detached: 1, at: "b")
        try await note(1, 2, detached: 2, at: "a")
        #expect(try await store.makeRoom(for: mark(1), at: "a"))
        #expect(try await !store.makeRoom(for: mark(1), at: "a"), "the others have clients, or are its own")
        #expect(try await store.takeEvictions(of: "a").isEmpty)
        #expect(try await store.takeEvictions(of: "b") == [mark(1): 1])
        #expect(try await store.takeEvictions(of: "b").isEmpty)
        // A client that has come back meanwhile keeps its session.
        try await note(1, 3, detached: 1, at: "b")
        #expect(try await store.makeRoom(for: mark(1), at: "a"))
        try await note(1, 3, detached: 0, at: "b")
        #expect(try await store.takeEvictions(of: "b").isEmpty)
        try database.session().run(
            "UPDATE portcullis.gateway SET heartbeat = clock_timestamp() - interval '6 s' WHERE id = 'b'")
        try await note(1, 3, detached: 3, at: "b")
        #expect(try await !store.makeRoom(for: mark(1), at: "a"))
    }

    /// Whichever is later sees the other's.
    @Test func `that begin at two gateways at once are seen by one of them`() async throws {
        let other = try database.anotherRegistry()
        for round in UInt8(0)..<40 {
            async let first = noteAndAsk(round, "a", store)
            async let second = noteAndAsk(round, "b", other)
            let (one, two) = try await (first, second)
            #expect(one + two > 0, "round \(round)")
        }
    }

    private func noteAndAsk(_ number: UInt8, _ gateway: String, _ store: PostgreSQLKeyRegistry) async throws -> Int {
        let mark = try mark(number)
        try await store.note([Holding(mark, sessions: 1, detached: 0)], of: gateway)
        return try await store.sessionsElsewhere(of: [mark], than: gateway)[mark] ?? 0
    }
}
