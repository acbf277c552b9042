import RelayCore
import Testing

/// Bounded queues: a side that queues too much isn't read until half of the queue is written.
struct BackPressureTests {
    private let mark = SessionLimits().clientBufferBytes

    @Test func `up to the mark both sides are read`() {
        var session = Session.open()
        for queued in [0, 1, mark - 1, mark] {
            #expect(session.targetSent(queued: queued) == [])
            #expect(session.clientSent(queued: queued) == [])
        }
    }

    @Test func `one byte above the client's mark the target is paused, and at half of it resumed`() {
        var session = Session.open()
        #expect(session.targetSent(queued: mark + 1) == .pauseTarget)
        #expect(session.clientDrained(to: mark / 2 + 1) == [])
        #expect(session.clientDrained(to: mark / 2) == .resumeTarget)
        #expect(session.clientDrained(to: 0) == [])
    }

    @Test func `one byte above the target's mark the client is paused, and at half of it resumed`() {
        var session = Session.open()
        #expect(session.clientSent(queued: mark + 1) == .pauseClient)
        #expect(session.targetDrained(to: mark / 2 + 1) == [])
        #expect(session.targetDrained(to: mark / 2) == .resumeClient)
        #expect(session.targetDrained(to: 0) == [])
    }

    @Test func `each direction has a mark of its own`() {
        var limits = SessionLimits()
        limits.clientBufferBytes = 100
        limits.targetBufferBytes = 1_000
        var session = Session.open(limits: limits)
        #expect(session.clientSent(queued: 1_000) == [])
        #expect(session.targetSent(queued: 101) == .pauseTarget)
        #expect(session.clientSent(queued: 1_001) == .pauseClient)
        #expect(session.clientDrained(to: 50) == .resumeTarget)
        #expect(session.targetDrained(to: 500) == .resumeClient)
    }

    @Test func `a pause is ordered once, however much more arrives`() {
        var session = Session.open()
        #expect(session.targetSent(queued: mark + 1) == .pauseTarget)
        #expect(session.targetSent(queued: 2 * mark) == [])
        #expect(session.clientSent(queued: mark + 1) == .pauseClient)
        #expect(session.clientSent(queued: 2 * mark) == [])
    }

    @Test func `a client that sends during the dial is paused, too`() {
        var session = Session()
        #expect(session.clientSent(queued: mark + 1) == .pauseClient)
        #expect(session.targetConnected() == [])
        #expect(session.targetDrained(to: 0) == .resumeClient)
    }

    @Test func `after the client's loss a paused target is read again, so that its FIN is seen`() {
        var session = Session.open()
        #expect(session.targetSent(queued: mark + 1) == .pauseTarget)
        #expect(session.clientClosed() == [.resumeTarget, .finishTarget])
    }

    @Test func `after the target's end a paused client is read again, so that its Close is seen`() {
        var session = Session.open()
        #expect(session.clientSent(queued: mark + 1) == .pauseClient)
        #expect(session.targetClosed(.targetLost) == [.resumeClient, .closeClient])
    }

    @Test
    func `a client that was paused stays paused while its bytes are flushed, and is read when its Close is ordered`() {
        var session = Session.open()
        #expect(session.clientSent(queued: mark + 1) == .pauseClient)
        #expect(session.targetFinished() == .pauseTarget)
        #expect(session.targetDrained(to: mark / 2) == [])
        #expect(session.targetDrained(to: 0) == [.resumeClient, .resumeTarget, .closeClient, .finishTarget])
    }

    @Test func `a paused target whose session is shut down is read again when it is told to finish`() {
        var session = Session.open()
        #expect(session.targetSent(queued: mark + 1) == .pauseTarget)
        #expect(session.shutDown() == [.resumeTarget, .closeClient, .finishTarget])
    }
}
