import KeyStore
import PostgreSQL
import PostgreSQLTestKit
import Testing

@testable import KeyStorePostgreSQL

@Suite("The block list in a fleet's store")
struct PostgreSQLBlockListTests {
    private let database: FleetDatabase
    private let session: PostgreSQLConnection
    private let feed: PostgreSQLRevocations

    init() async throws {
        database = try await FleetDatabase()
        session = try database.session()
        feed = PostgreSQLRevocations(of: database.registry)
        _ = try await feed.news()
    }

    private func add(_ entries: String..., maximum: Int = 9) throws -> Int64? {
        try FleetBlockList.add(entries, reason: "r", at: 5, maximum: maximum, in: session)
    }

    @Test func `has each entry once, and tells of changes`() async throws {
        #expect(try add("b", "a", "b") == 2)
        #expect(try await feed.news()?.changesBlockList == true)
        #expect(try add("a") == 0)
        #expect(try await feed.news()?.changesBlockList == false)
        #expect(try await database.registry.blockedEntries() == ["a", "b"])
        #expect(try database.registry.blockedEntriesBlocking() == ["a", "b"])
        let entries = try FleetBlockList.entries(in: session)
        #expect(entries.map(\.text) == ["a", "b"] && entries.allSatisfy { $0.reason == "r" && $0.addedAt == 5 })
        #expect(try FleetBlockList.remove(["b", "c"], in: session) == 1)
        #expect(try await feed.news()?.changesBlockList == true)
        #expect(try FleetBlockList.remove(["b"], in: session) == 0)
        #expect(try await feed.news()?.changesBlockList == false)
        #expect(try await database.registry.blockedEntries() == ["a"])
    }

    @Test func `has a maximum`() async throws {
        #expect(try add("a", "b", maximum: 2) == 2)
        #expect(try add("a", "c", maximum: 2) == nil)
        #expect(try add("b", "a", maximum: 2) == 0)
        #expect(try await database.registry.blockedEntries() == ["a", "b"])
        let long = String(repeating: "x", count: FleetBlockList.maximumEntryBytes)
        #expect(try add(long) == 1)
        #expect(throws: DatabaseError.self) { try add(long + "x") }
    }

    @Test func `is read in parts`() async throws {
        let all = (0..<12_001).map { "entry \($0)" }
        #expect(try FleetBlockList.add(all, reason: nil, at: 1, maximum: 20_000, in: session) == 12_001)
        #expect(try await Set(database.registry.blockedEntries()) == Set(all))
        #expect(try FleetBlockList.entries(in: session).count == 12_001)
    }
}
