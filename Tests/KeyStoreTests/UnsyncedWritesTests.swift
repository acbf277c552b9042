import KeyStore
import Testing

@testable import KeyStoreSQLite

@Suite("Writes that haven't waited for the disk")
struct UnsyncedWritesTests {
    private let directory: TemporaryDirectory
    private let store: SQLiteKeyDatabase

    init() throws {
        directory = try TemporaryDirectory()
        store = try SQLiteKeyDatabase(path: directory.file("keys.sqlite"), limits: .patient)
        _ = try store.enrol(.sample())
    }

    private func advance(_ counters: ClosedRange<Int>) throws {
        for counter in counters {
            #expect(try store.advanceCounter(of: .sample(1), to: UInt32(counter), at: 1) == .advanced)
        }
    }

    @Test func `are flushed before a durable commit takes the lock`() throws {
        try advance(1...UnsyncedWrites.maximum + 1)
        #expect(store.unsynced.count == UnsyncedWrites.maximum + 1)
        #expect(try store.administer(until: nil) { _ in store.unsynced.count } == 0)
        #expect(try store.key(.sample(1))?.counter == UInt32(UnsyncedWrites.maximum + 1))
    }

    @Test func `are left to the commit if there are few`() throws {
        try advance(1...UnsyncedWrites.maximum)
        #expect(try store.administer(until: nil) { _ in store.unsynced.count } == UnsyncedWrites.maximum)
    }

    @Test func `are flushed once if none is added meanwhile`() throws {
        try advance(1...UnsyncedWrites.maximum)
        #expect(store.unsynced.flush() == 0)
        store.unsynced.add()
        #expect(store.unsynced.flush() == 1)
        #expect(store.unsynced.flush() == 0)
    }

    @Test func `of another process may be there when a store is opened`() throws {
        let opened = try SQLiteKeyDatabase(path: store.path, limits: .patient)
        #expect(opened.unsynced.count > UnsyncedWrites.maximum)
        #expect(try opened.administer(until: nil) { _ in opened.unsynced.count } == 0)
    }

    @Test func `stay counted where a flush fails`() {
        // This file can't be synchronized.
        let writes = UnsyncedWrites(inWAL: "/dev/null")
        let count = writes.count
        #expect(writes.flush() == 1)
        #expect(writes.count == count && count > UnsyncedWrites.maximum)
    }

    @Test func `aren't those that the store has refused`() throws {
        #expect(try store.advanceCounter(of: .sample(2), to: 1, at: 1) == .unknownKey)
        #expect(store.unsynced.count == 0)
    }
}
