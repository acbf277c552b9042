import KeyStore
import KeyStorePostgreSQL
import KeyStoreTestKit
import PostgreSQLTestKit
import Testing

/// The directory of a fleet's sessions, in memory and in PostgreSQL.
@Suite(.timeLimit(.minutes(10)))
struct SessionDirectoryContractTests {
    enum Kind: CaseIterable, Sendable { case memory, postgreSQL }

    /// - Returns: the directory, and what keeps its database.
    private func make(_ kind: Kind) async throws -> (any SharedSessionDirectory, AnyObject?) {
        switch kind {
        case .memory: return (MemorySessionDirectory(), nil)
        case .postgreSQL:
            let database = try await FleetDatabase()
            return (database.registry, database)
        }
    }

    private static func mark(_ number: Int) -> SessionMark {
        let bytes = (0..<SessionMark.byteCount).map { UInt8(truncatingIfNeeded: number >> (8 * ($0 % 4))) }
        return SessionMark(bytes: bytes)!
    }

    private func note(
        _ directory: any SharedSessionDirectory, began: [Int] = [], ended: [Int] = [], of gateway: String
    ) async throws {
        let changes = SessionChanges(began: began.map(Self.mark), ended: ended.map(Self.mark))
        let result: Result<Void, KeyRegistryError> = await withCheckedContinuation { continuation in
            directory.note(changes, of: gateway) { continuation.resume(returning: $0) }
        }
        try result.get()
    }

    private func holder(_ directory: any SharedSessionDirectory, _ number: Int) async throws -> String? {
        let result: Result<SessionTrace, KeyRegistryError> = await withCheckedContinuation { continuation in
            directory.find(Self.mark(number)) { continuation.resume(returning: $0) }
        }
        return try result.get().holder?.id
    }

    @Test(arguments: Kind.allCases)
    func `a session has the gateway that announced it last`(kind: Kind) async throws {
        let (directory, database) = try await make(kind)
        #expect(try await holder(directory, 1) == nil)
        try await note(directory, began: [1, 2], of: "a")
        try await note(directory, began: [1], of: "b")
        #expect(try await holder(directory, 1) == "b")
        #expect(try await holder(directory, 2) == "a")
        try await note(directory, began: [1, 2], ended: [], of: "b")
        #expect(try await holder(directory, 2) == "b")
        _ = database
    }

    @Test(arguments: Kind.allCases)
    func `only the gateway that has a session may end it`(kind: Kind) async throws {
        let (directory, database) = try await make(kind)
        try await note(directory, began: [1, 2], of: "a")
        try await note(directory, began: [1], of: "b")
        try await note(directory, ended: [1, 2, 3], of: "a")
        #expect(try await holder(directory, 1) == "b")
        #expect(try await holder(directory, 2) == nil)
        _ = database
    }

    @Test(arguments: Kind.allCases)
    func `a gateway's sessions are forgotten together`(kind: Kind) async throws {
        let (directory, database) = try await make(kind)
        for start in stride(from: 0, to: 12_000, by: 500) {
            try await note(directory, began: Array(start..<(start + 500)), of: "a")
        }
        try await note(directory, began: [20_000], of: "b")
        try await directory.forgetSessions(of: "a")
        #expect(try await holder(directory, 0) == nil)
        #expect(try await holder(directory, 11_999) == nil)
        #expect(try await holder(directory, 20_000) == "b")
        try await directory.forgetSessions(of: "nobody")
        _ = database
    }

    /// Two gateways that exchange the same sessions lock the same rows.
    @Test(arguments: Kind.allCases)
    func `gateways that write the same sessions don't stop each other`(kind: Kind) async throws {
        let (directory, database) = try await make(kind)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for gateway in ["a", "b", "c"] {
                group.addTask {
                    for round in 0..<20 {
                        let marks = Array(0..<50).shuffled()
                        let some = Array(marks[..<25])
                        try await note(directory, began: some, ended: Array(marks[25...]), of: gateway)
                        _ = round
                    }
                }
            }
            try await group.waitForAll()
        }
        _ = database
    }

    // MARK: What waits

    @Test func `only the last change of a session is written, whatever a failed write had`() {
        var pending = PendingSessions()
        pending.began(Self.mark(1))
        pending.began(Self.mark(2))
        pending.ended(Self.mark(1))
        let first = pending.takeBatch()
        #expect(first == SessionChanges(began: [Self.mark(2)], ended: [Self.mark(1)]))
        #expect(pending.takeBatch() == nil)
        pending.ended(Self.mark(2))
        pending.giveBack(first ?? SessionChanges())
        #expect(pending.takeBatch().map { Set($0.ended) } == [Self.mark(1), Self.mark(2)])
    }

    @Test func `a write has a limit`() {
        var pending = PendingSessions()
        for number in 0...PendingSessions.maximumBatch { pending.began(Self.mark(number)) }
        #expect(pending.takeBatch()?.began.count == PendingSessions.maximumBatch)
        #expect(pending.takeBatch()?.began.count == 1)
    }

    @Test func `what waits has a limit, and known sessions may still change`() {
        var pending = PendingSessions()
        for number in 0..<PendingSessions.maximum { pending.began(Self.mark(number)) }
        #expect(pending.leftOut == 0)
        pending.began(Self.mark(PendingSessions.maximum))
        pending.ended(Self.mark(7))
        #expect(pending.leftOut == 1 && pending.count == PendingSessions.maximum)
    }
}
