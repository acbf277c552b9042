import Foundation
import GRDB
import KeyStore
import Testing

@testable import KeyStoreSQLite

@Suite("A checkpoint of the SQLite store")
struct SQLiteCheckpointTests {
    private func registry(_ directory: TemporaryDirectory, truncatingOver bytes: Int) throws -> SQLiteKeyDatabase {
        var limits = SQLiteKeyRegistry.Limits.patient
        limits.checkpointBusyMilliseconds = 5
        limits.walTruncationBytes = bytes
        return try SQLiteKeyDatabase(path: directory.file("keys.sqlite"), limits: limits)
    }

    @Test func `happens only on request`() throws {
        let directory = try TemporaryDirectory()
        let registry = try registry(directory, truncatingOver: 1 << 30)
        _ = try registry.enrol(.sample())
        // SQLite's own limit would be 1000 pages.
        for counter in UInt32(1)...1200 { _ = try registry.advanceCounter(of: .sample(1), to: counter, at: 1) }
        let grown = registry.walBytes
        #expect(grown > 1200 * 4096)

        #expect(try registry.checkpoint() == SQLiteCheckpoint(remainingFrames: 0, walBytes: grown, truncated: false))
        // From now on the WAL is overwritten from its start.
        for counter in UInt32(1201)...1300 { _ = try registry.advanceCounter(of: .sample(1), to: counter, at: 1) }
        #expect(registry.walBytes == grown)
        #expect(try registry.key(.sample(1))?.counter == 1300)
    }

    @Test func `restarts the WAL by itself, and then waits for a write`() throws {
        let directory = try TemporaryDirectory()
        let registry = try registry(directory, truncatingOver: 1 << 30)
        _ = try registry.enrol(.sample())
        // The header of a WAL changes with each restart.
        func header() throws -> Data { try Data(contentsOf: URL(fileURLWithPath: registry.path + "-wal")).prefix(32) }
        let first = try header()
        try registry.checkpoint()
        let second = try header()
        #expect(second != first)
        _ = try registry.advanceCounter(of: .sample(1), to: 1, at: 1)
        #expect(try header() == second)

        try registry.checkpoint()
        let third = try header()
        #expect(third != second)
        try registry.checkpoint()
        try registry.checkpoint()
        #expect(try header() == third)
        #expect(try registry.key(.sample(1))?.counter == 1)
    }

    @Test func `truncates a WAL over the limit, and none at it`() throws {
        let directory = try TemporaryDirectory()
        let first = try registry(directory, truncatingOver: 1 << 30)
        _ = try first.enrol(.sample(counter: 5))
        let size = first.walBytes
        #expect(size > 0)
        #expect(try registry(directory, truncatingOver: size).checkpoint().truncated == false)
        #expect(first.walBytes == size)
        let above = try registry(directory, truncatingOver: size - 1).checkpoint()
        #expect(above == SQLiteCheckpoint(remainingFrames: 0, walBytes: 0, truncated: true))
        #expect(first.walBytes == 0)
        #expect(try first.key(.sample(1))?.counter == 5)
        #expect(try first.advanceCounter(of: .sample(1), to: 6, at: 1) == .advanced)
    }

    @Test func `restarts a long WAL while others write, and truncates it when nobody does`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("keys.sqlite")
        var limits = SQLiteKeyRegistry.Limits.patient
        limits.walIdleBytes = 100_000
        let registry = try SQLiteKeyDatabase(path: path, limits: limits)
        _ = try registry.enrol(.sample())
        for counter in UInt32(1)...100 { _ = try registry.advanceCounter(of: .sample(1), to: counter, at: 1) }
        let size = registry.walBytes
        #expect(size > 2 * limits.walIdleBytes)
        #expect(try registry.checkpoint() == SQLiteCheckpoint(remainingFrames: 0, walBytes: size, truncated: false))
        _ = try registry.advanceCounter(of: .sample(1), to: 101, at: 1)
        #expect(registry.walBytes == size)
        #expect(try registry.checkpoint().truncated == false)
        #expect(try registry.checkpoint() == SQLiteCheckpoint(remainingFrames: 0, walBytes: 0, truncated: true))
        // At the limit it stays.
        _ = try registry.advanceCounter(of: .sample(1), to: 102, at: 1)
        limits.walIdleBytes = registry.walBytes
        let patient = try SQLiteKeyDatabase(path: path, limits: limits)
        for _ in 0..<3 { #expect(try patient.checkpoint().truncated == false) }
        #expect(try patient.key(.sample(1))?.counter == 102)
    }

    @Test func `shortens a long WAL by one step at a time`() throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("keys.sqlite")
        var limits = SQLiteKeyRegistry.Limits.patient
        limits.walStepBytes = 100_000
        let registry = try SQLiteKeyDatabase(path: path, limits: limits)
        _ = try registry.enrol(.sample())
        for counter in UInt32(1)...100 { _ = try registry.advanceCounter(of: .sample(1), to: counter, at: 1) }
        let size = registry.walBytes
        #expect(size > 4 * limits.walStepBytes)
        try registry.shorten()
        #expect(registry.walBytes == size - limits.walStepBytes)
        // No other commit that begins it anew cuts anything off.
        _ = try registry.advanceCounter(of: .sample(1), to: 101, at: 1)
        #expect(try registry.checkpoint().walBytes == size - limits.walStepBytes)

        limits.walTruncationBytes = limits.walStepBytes
        let truncating = try SQLiteKeyDatabase(path: path, limits: limits)
        #expect(
            try truncating.checkpoint() == SQLiteCheckpoint(remainingFrames: 0, walBytes: 0, truncated: true))
        #expect(try registry.key(.sample(1))?.counter == 101)
        #expect(try registry.advanceCounter(of: .sample(1), to: 102, at: 1) == .advanced)
    }

    @Test func `leaves what a reader still needs, and writes it the next time`() throws {
        let directory = try TemporaryDirectory()
        let registry = try registry(directory, truncatingOver: 0)
        _ = try registry.enrol(.sample())
        try DatabaseQueue(path: registry.path).inDatabase { database in
            try database.beginTransaction(.deferred)
            let before = try Int.fetchOne(database, sql: "SELECT counter FROM device_key")
            _ = try registry.advanceCounter(of: .sample(1), to: 1, at: 1)
            let outcome = try registry.checkpoint()
            #expect(outcome.remainingFrames > 0 && !outcome.truncated)
            #expect(try Int.fetchOne(database, sql: "SELECT counter FROM device_key") == before)
            try database.rollback()
        }
        #expect(try registry.checkpoint() == SQLiteCheckpoint(remainingFrames: 0, walBytes: 0, truncated: true))
        #expect(try registry.key(.sample(1))?.counter == 1)
    }

    @Test func `completes without truncating during writes`() throws {
        let directory = try TemporaryDirectory()
        let registry = try registry(directory, truncatingOver: 0)
        _ = try registry.enrol(.sample())
        try DatabaseQueue(path: registry.path).inDatabase { database in
            try database.beginTransaction(.immediate)
            let outcome = try registry.checkpoint()
            #expect(outcome.remainingFrames == 0 && !outcome.truncated)
            try database.rollback()
        }
        #expect(try registry.checkpoint().truncated)
    }

    @Test func `may run repeatedly while counters rise`() throws {
        let directory = try TemporaryDirectory()
        let registry = try registry(directory, truncatingOver: 8192)
        for byte in UInt8(0)..<8 { _ = try registry.enrol(.sample(byte)) }
        let outcomes = onThreads(8) { thread in
            for counter in UInt32(1)...100 {
                if thread == 0 { _ = try? registry.checkpoint() }
                guard try registry.advanceCounter(of: .sample(UInt8(thread)), to: counter, at: 1) == .advanced else {
                    return false
                }
            }
            return true
        }
        #expect(try outcomes.allSatisfy { try $0.get() })
        #expect(try registry.keys(after: nil, limit: 9).map(\.counter) == Array(repeating: 100, count: 8))
    }
}
