import Admission
import KeyStore
import Synchronization
import Testing

@testable import Relay

/// So that a macro can change the value.
private final class Box {
    var value: AnnouncedSessions
    init(_ value: AnnouncedSessions) { self.value = value }
    func takeBatch(at time: MonotonicTime) -> SessionChanges? { value.takeBatch(at: time) }
    func written(_ batch: SessionChanges) -> (found: [@Sendable () -> Void], recovers: Bool) { value.written(batch) }
    func failed(_ batch: SessionChanges) -> Bool { value.failed(batch) }
}

@Suite struct AnnouncedSessionsTests {
    private let incarnation = StoreIncarnation(bytes: [UInt8](repeating: 1, count: StoreIncarnation.length))
    private let other = StoreIncarnation(bytes: [UInt8](repeating: 2, count: StoreIncarnation.length))

    private func mark(_ byte: UInt8) throws -> SessionMark {
        try #require(SessionMark(bytes: [UInt8](repeating: byte, count: SessionMark.byteCount)))
    }

    private func time(_ milliseconds: Int64) -> MonotonicTime {
        MonotonicTime(nanoseconds: 0).advanced(by: .milliseconds(milliseconds))
    }

    @Test func `nothing is written before the store knows the gateway`() throws {
        let box = Box(AnnouncedSessions())
        try box.value.began(mark(1), nil)
        #expect(box.takeBatch(at: time(0)) == nil)
        box.value.complete(in: incarnation)
        #expect(try box.takeBatch(at: time(0)) == SessionChanges(began: [mark(1)]))
    }

    @Test func `everything is announced once all that waits is written, and only to that incarnation`() throws {
        let (one, two) = (try #require(incarnation), try #require(other))
        let box = Box(AnnouncedSessions())
        #expect(!box.value.isComplete(in: one, at: time(0)))
        box.value.complete(in: one)
        #expect(box.value.isComplete(in: one, at: time(0)) && !box.value.isComplete(in: two, at: time(0)))
        try box.value.began(mark(1), nil)
        box.value.beginAgain()
        box.value.complete(in: two)
        #expect(!box.value.isComplete(in: two, at: time(0)))
        let batch = try #require(box.takeBatch(at: time(0)))
        #expect(!box.value.isComplete(in: two, at: time(0)))
        _ = box.written(batch)
        #expect(box.value.isComplete(in: two, at: time(0)) && !box.value.isComplete(in: one, at: time(0)))
    }

    /// What waits is as old as the batch before the one under way, at most.
    @Test func `sessions that wait for too long aren't announced`() throws {
        let one = try #require(incarnation)
        let limit = SessionTrace.overdueAfter
        let box = Box(AnnouncedSessions())
        box.value.complete(in: one)
        try box.value.began(mark(1), nil)
        let batch = try #require(box.takeBatch(at: time(0)))
        #expect(box.value.isComplete(in: one, at: time(limit)) && !box.value.isComplete(in: one, at: time(limit + 1)))
        try box.value.began(mark(2), nil)
        _ = box.written(batch)
        let next = try #require(box.takeBatch(at: time(600)))
        #expect(!box.value.isComplete(in: one, at: time(limit + 1)))
        _ = box.written(next)
        #expect(box.takeBatch(at: time(700)) == nil && box.value.isComplete(in: one, at: time(9_000)))
        try box.value.began(mark(3), nil)
        let third = try #require(box.takeBatch(at: time(9_000)))
        #expect(box.value.isComplete(in: one, at: time(9_000 + limit)))
        #expect(box.failed(third) && !box.failed(third))
        #expect(!box.value.isComplete(in: one, at: time(9_000)))
        box.value.tryAgain()
        let again = try #require(box.takeBatch(at: time(9_100)))
        #expect(box.written(again).recovers && box.value.isComplete(in: one, at: time(9_100)))
    }

    @Test func `sessions for which there is no room are in doubt until all are announced again`() throws {
        let one = try #require(incarnation)
        let box = Box(AnnouncedSessions())
        box.value.complete(in: one)
        for number in 0...PendingSessions.maximum {
            let bytes = (0..<SessionMark.byteCount).map { UInt8(truncatingIfNeeded: number >> (8 * ($0 % 4))) }
            box.value.began(try #require(SessionMark(bytes: bytes)), nil)
        }
        #expect(!box.value.isComplete(in: one, at: time(0)))
        while let batch = box.takeBatch(at: time(0)) { _ = box.written(batch) }
        #expect(!box.value.isComplete(in: one, at: time(0)))
        box.value.beginAgain()
        box.value.complete(in: one)
        #expect(box.value.isComplete(in: one, at: time(0)))
    }

    @Test func `who waits is told once its row is written, and never if it has ended`() throws {
        let told = Mutex(0)
        let box = Box(AnnouncedSessions())
        box.value.complete(in: incarnation)
        for byte in [1, 2] as [UInt8] { try box.value.began(mark(byte)) { told.withLock { $0 += 1 } } }
        let batch = try #require(box.takeBatch(at: time(0)))
        try box.value.ended(mark(2))
        #expect(box.failed(batch))
        box.value.tryAgain()
        let again = try #require(box.takeBatch(at: time(0)))
        #expect(try again == SessionChanges(began: [mark(1)], ended: [mark(2)]))
        for tell in box.written(again).found { tell() }
        #expect(told.withLock { $0 } == 1)
    }

    /// Another process announces the sessions.
    @Test func `after its end it has nothing to write and nothing in doubt`() throws {
        let box = Box(AnnouncedSessions())
        box.value.complete(in: nil)
        try box.value.began(mark(1), nil)
        box.value.stop()
        try box.value.began(mark(2), nil)
        try box.value.ended(mark(1))
        #expect(box.takeBatch(at: time(0)) == nil && box.value.count == 0)
        #expect(box.value.isComplete(in: try #require(incarnation), at: time(0)))
    }
}
