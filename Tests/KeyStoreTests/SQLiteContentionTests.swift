import Foundation
import GRDB
import KeyStore
import Testing

@testable import KeyStoreSQLite

@Suite("The SQLite store, while others use it")
struct SQLiteContentionTests {
    /// A connection that shares only the file with the registry, like another process.
    private func stranger(_ path: String) throws -> DatabaseQueue {
        try DatabaseQueue(path: path)
    }

    @Test func `answers busy to writers and reads while another process holds the write lock`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("keys.sqlite")
        let registry = try SQLiteKeyDatabase(path: path, limits: .impatient)
        let id = DeviceKey.sample().id
        _ = try registry.enrol(.sample())
        try stranger(path).inDatabase { database in
            try database.beginTransaction(.immediate)
            for _ in 0..<3 {
                #expect(throws: KeyRegistryError.busy) { try registry.advanceCounter(of: id, to: 1, at: 1) }
                #expect(throws: KeyRegistryError.busy) { try registry.enrol(.sample(2)) }
                #expect(throws: KeyRegistryError.busy) { try registry.revoke(id, reason: "lost", at: 1) }
            }
            #expect(try registry.key(id) == .sample())
            #expect(try registry.standing(of: id) == DeviceKey.sample().standing)
            #expect(try registry.keys(after: nil, limit: 9) == [.sample()])
            try database.rollback()
        }
        // The transaction had no effect, and the connections still work.
        #expect(try registry.key(id) == .sample())
        #expect(try registry.advanceCounter(of: id, to: 1, at: 1) == .advanced)
        #expect(try registry.enrol(.sample(2)) == .enrolled)
    }

    @Test func `answers busy to more threads than it has connections while the lock is held`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("keys.sqlite")
        let registry = try SQLiteKeyDatabase(path: path, limits: .impatient)
        _ = try registry.enrol(.sample())
        try stranger(path).inDatabase { database in
            try database.beginTransaction(.immediate)
            let outcomes = onThreads(16) { try registry.advanceCounter(of: .sample(1), to: UInt32($0 + 1), at: 1) }
            for outcome in outcomes { #expect(throws: KeyRegistryError.busy) { try outcome.get() } }
            try database.rollback()
        }
    }

    @Test func `waits for a lock that is released in time`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("keys.sqlite")
        let registry = try SQLiteKeyDatabase(path: path, limits: .patient)
        _ = try registry.enrol(.sample())
        let other = try stranger(path)
        let locked = DispatchSemaphore(value: 0)
        let outcomes = onThreads(2) { thread -> CounterAdvance? in
            if thread == 0 {
                try other.inTransaction(.immediate) { _ in
                    locked.signal()
                    // Long enough for the other thread to find the lock taken; otherwise the test still passes, but
                    // proves less.
                    usleep(20_000)
                    return .commit
                }
                return nil
            }
            locked.wait()
            return try registry.advanceCounter(of: .sample(1), to: 1, at: 1)
        }
        #expect(try outcomes.compactMap { try $0.get() } == [.advanced])
    }

    @Test func `advances counters during its own administration, and reads during counter updates`() throws {
        let directory = try TemporaryDirectory()
        var limits = SQLiteKeyRegistry.Limits.impatient
        limits.connectionsPerPool = 1
        let registry = try SQLiteKeyDatabase(path: directory.file("keys.sqlite"), limits: limits)
        _ = try registry.enrol(.sample())
        try registry.administration.use { _ in
            #expect(throws: KeyRegistryError.busy) { try registry.enrol(.sample(2)) }
            #expect(try registry.advanceCounter(of: .sample(1), to: 1, at: 1) == .advanced)
            try registry.counters.use { _ throws in
                #expect(throws: KeyRegistryError.busy) { try registry.advanceCounter(of: .sample(1), to: 2, at: 1) }
                #expect(try registry.key(.sample(1))?.counter == 1)
                #expect(try registry.standing(of: .sample(1))?.counter == 1)
            }
        }
        #expect(try registry.advanceCounter(of: .sample(1), to: 2, at: 1) == .advanced)
    }

    @Test(arguments: [1, 2, 4])
    func `runs as many calls at once as it has connections, and the next one waits`(size: Int) throws {
        let directory = try TemporaryDirectory()
        var limits = SQLiteKeyRegistry.Limits.impatient
        limits.connectionsPerPool = size
        let registry = try SQLiteKeyDatabase(path: directory.file("keys.sqlite"), limits: limits)
        func occupy(_ count: Int) throws {
            guard count > 0 else {
                _ = try registry.key(.sample(1))
                _ = try registry.standing(of: .sample(1))
                return
            }
            try registry.readers.use { _ in try registry.counters.use { _ in try occupy(count - 1) } }
        }
        try occupy(size - 1)
        #expect(throws: KeyRegistryError.busy) { try occupy(size) }
        try occupy(size - 1)
    }

    @Test func `lets one of two registries on one file win a race for a counter`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("keys.sqlite")
        let registries = try (0..<2).map { _ in try SQLiteKeyDatabase(path: path, limits: .patient) }
        _ = try registries[0].enrol(.sample())
        for counter in UInt32(1)...20 {
            let outcomes = onThreads(8) { try registries[$0 % 2].advanceCounter(of: .sample(1), to: counter, at: 1) }
            #expect(try outcomes.count { try $0.get() == .advanced } == 1)
        }
    }

    @Test func `sees another process's changes at once`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("keys.sqlite")
        let gateway = try SQLiteKeyDatabase(path: path, limits: .patient)
        let command = try SQLiteKeyDatabase(path: path, limits: .patient, creating: false)
        _ = try gateway.enrol(.sample())
        #expect(try command.revoke(.sample(1), reason: "lost", at: 1))
        #expect(try gateway.key(.sample(1))?.isRevoked == true)
        #expect(try gateway.advanceCounter(of: .sample(1), to: 1, at: 1) == .revoked)
        #expect(try command.restore(.sample(1)))
        #expect(try gateway.advanceCounter(of: .sample(1), to: 1, at: 1) == .advanced)
        #expect(try command.key(.sample(1))?.counter == 1)
        #expect(try command.forget(.sample(1)) == .forgotten)
        #expect(try gateway.advanceCounter(of: .sample(1), to: 2, at: 1) == .unknownKey)
    }

    @Test func `waits 50 ms on a reactor unless told otherwise`() {
        let limits = SQLiteKeyRegistry.Limits()
        #expect(limits.busyMilliseconds == 50)
        #expect(limits.checkpointBusyMilliseconds < limits.busyMilliseconds)
    }
}
