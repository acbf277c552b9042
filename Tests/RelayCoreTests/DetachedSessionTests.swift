import RelayCore
import Testing

/// Sessions that outlive their client.
struct DetachedSessionTests {
    private let mark = SessionLimits().clientBufferBytes
    private let grace = SessionLimits().resumeGrace

    @Test func `a lost client detaches a resumable session and closes any other`() {
        var session = Session.resumable()
        #expect(session.clientLost() == [])
        #expect(session.machine.isDetached && session.machine.isResumable && session.machine.isUnderway)
        #expect(!session.machine.acceptsFromClient && session.machine.acceptsFromTarget)
        var plain = Session.open()
        #expect(plain.clientLost() == .finishTarget)
        #expect(!plain.machine.isDetached && !plain.machine.isResumable)
    }

    @Test func `a client that closes in order ends a resumable session too`() {
        var session = Session.resumable()
        #expect(session.clientClosed() == .finishTarget)
        #expect(session.targetClosed() == .end)
    }

    @Test func `a session whose target is still dialled isn't detached`() {
        var session = Session()
        session.setResumable()
        #expect(session.clientLost() == [.dropTarget, .end])
    }

    @Test func `a silent client is dropped and its session detached`() {
        var session = Session.resumable()
        session.wait(90 * second - 1)
        #expect(session.tick() == .sendPing)
        session.wait(1)
        #expect(session.tick() == .dropClient)
        #expect(session.machine.isDetached)
        #expect(session.clientLost() == [])
        #expect(session.clientClosed() == [])
        #expect(session.machine.isDetached)
    }

    @Test func `a client that reads too slowly is dropped at the limit, and its session detached`() {
        var session = Session.resumable()
        #expect(session.targetSent(queued: mark + 1) == .pauseTarget)
        session.wait(29 * second)
        session.clientHeard()
        #expect(session.clientDrained(to: mark + 1) == [])
        session.wait(1 * second - 1)
        #expect(session.tick() == [])
        #expect(session.untilDeadline == 1)
        session.wait(1)
        #expect(session.tick() == [.resumeTarget, .dropClient])
        #expect(session.machine.isDetached)
    }

    /// The target is read on at half the mark: a client that stops anywhere above it holds its target up.
    @Test func `a client whose target was resumed in between isn't slow`() {
        var session = Session.resumable()
        #expect(session.targetSent(queued: mark + 1) == .pauseTarget)
        session.wait(29 * second)
        #expect(session.clientDrained(to: mark / 2) == .resumeTarget)
        #expect(session.targetSent(queued: mark + 1) == .pauseTarget)
        #expect(session.clientDrained(to: mark / 2 + 1) == [])
        session.wait(30 * second - 1)
        #expect(session.tick() == .sendPing)
        session.wait(1)
        #expect(session.tick() == [.resumeTarget, .dropClient])
    }

    /// A compressed read of the target's may inflate to more than the client reads in that time, and the queue is
    /// topped up all the while.
    @Test func `a client whose queue is always full isn't slow while it reads half a queue within the limit`() {
        var session = Session.resumable()
        #expect(session.targetSent(queued: mark + 1) == .pauseTarget)
        for _ in 0..<20 {
            session.wait(29 * second)
            // In two reads, and less than that would not do.
            session.clientRead(leaving: mark / 2 + 2)
            #expect(session.clientDrained(to: mark + 1) == [])
            session.clientRead(leaving: mark)
            #expect(session.clientDrained(to: mark + 1) == [])
            #expect(!session.tick().contains(.dropClient))
            session.clientHeard()
        }
        session.wait(29 * second)
        session.clientRead(leaving: mark / 2 + 2)
        #expect(session.clientDrained(to: mark + 1) == [])
        session.wait(1 * second)
        #expect(session.tick() == [.resumeTarget, .dropClient])
    }

    @Test func `a slow client that can't resume isn't dropped for it`() {
        var session = Session.open()
        _ = session.targetSent(queued: mark + 1)
        session.wait(89 * second)
        #expect(session.tick() == .sendPing)
    }

    @Test func `while detached the client gets no actions, and the target is read whatever the queue`() {
        var session = Session.resumable()
        #expect(session.targetSent(queued: mark + 1) == .pauseTarget)
        #expect(session.clientLost() == .resumeTarget)
        #expect(session.targetSent(queued: 10 * mark) == [])
        #expect(session.clientDrained(to: 10 * mark) == [])
        #expect(session.untilDeadline == grace)
        session.wait(1_000 * second)
        #expect(session.tick() == [])
    }

    @Test func `a detached session ends with its grace period, not a nanosecond before, and its target in order`() {
        var session = Session.resumable()
        _ = session.clientSent(queued: 7)
        _ = session.clientLost()
        session.wait(grace - 1)
        #expect(session.tick() == [])
        session.wait(1)
        #expect(session.tick() == .finishTarget)
        #expect(!session.machine.isResumable && !session.machine.isUnderway)
        #expect(session.clientAttached() == [])
        #expect(session.targetDrained(to: 0) == [])
        #expect(session.targetClosed() == .end)
    }

    @Test func `a detached session whose target doesn't read ends at the flush limit`() {
        var session = Session.detached()
        session.wait(grace)
        #expect(session.tick() == .finishTarget)
        session.wait(5 * second)
        #expect(session.tick() == [.dropTarget, .dropClient, .end])
    }

    @Test func `a client that resumes within the grace period restarts silence and pings`() {
        var session = Session.detached()
        session.wait(grace - 1)
        #expect(session.clientAttached() == [])
        #expect(!session.machine.isDetached && session.machine.acceptsFromClient)
        #expect(session.untilDeadline == 30 * second)
        session.wait(90 * second)
        #expect(session.tick() == .dropClient)
        #expect(session.machine.isDetached)
    }

    @Test func `a dropped client can be dropped again after its resume`() {
        var session = Session.resumable()
        for _ in 0..<3 {
            session.wait(90 * second)
            #expect(session.tick() == .dropClient)
            #expect(session.clientAttached() == [])
        }
    }

    @Test func `a client that resumes while the target's queue is full is paused, and read again as usual`() {
        var session = Session.resumable()
        #expect(session.clientSent(queued: 100 * kibibyte) == .pauseClient)
        #expect(session.clientLost() == [])
        #expect(session.clientAttached() == .pauseClient)
        #expect(session.targetDrained(to: 0) == .resumeClient)
        #expect(session.clientLost() == [])
        #expect(session.clientAttached() == [])
    }

    @Test func `a target that drained its queue while detached doesn't delay the next client`() {
        var session = Session.resumable()
        #expect(session.clientSent(queued: 100 * kibibyte) == .pauseClient)
        #expect(session.clientLost() == [])
        #expect(session.targetDrained(to: 0) == [])
        #expect(session.clientAttached() == [])
        #expect(session.clientSent(queued: 100 * kibibyte) == .pauseClient)
    }

    @Test func `a second client takes over a live session, and the first one's queue and pauses are dropped`() {
        var session = Session.resumable()
        #expect(session.targetSent(queued: mark + 1) == .pauseTarget)
        #expect(session.clientSent(queued: 100 * kibibyte) == .pauseClient)
        session.wait(20 * second)
        #expect(session.clientAttached() == [.resumeTarget, .pauseClient])
        session.wait(10 * second)
        #expect(session.tick() == [])
        #expect(session.targetDrained(to: 0) == .resumeClient)
    }

    @Test func `a session that can't be resumed isn't attached to`() {
        var session = Session.open()
        #expect(session.clientAttached() == [])
        session.wait(30 * second)
        #expect(session.tick() == .sendPing)
        var closing = Session.resumable()
        #expect(closing.targetFinished() == [.closeClient, .finishTarget])
        #expect(!closing.machine.isResumable)
        #expect(closing.clientAttached() == [])
    }

    @Test func `a target that ends while detached ends the session`() {
        var session = Session.detached()
        #expect(session.targetClosed() == .end)
        session = .detached()
        #expect(session.targetClosed(.targetLost) == .end)
        session = .detached()
        #expect(session.targetFinished() == .finishTarget)
        #expect(!session.machine.isResumable)
        #expect(session.targetClosed() == .end)
    }

    @Test func `a shutdown and a revocation end a detached session`() {
        for reason in [CloseReason.shuttingDown, .deviceBlocked] {
            var session = Session.resumable()
            _ = session.clientSent(queued: 7)
            _ = session.clientLost()
            #expect(session.close(reason) == .finishTarget)
            #expect(session.reason == reason)
            #expect(session.close(reason) == [])
            session.wait(5 * second)
            #expect(session.tick() == [.dropTarget, .dropClient, .end])
        }
    }

    @Test func `a session ends when it is too old, with a client, without one, and while it is dialled`() {
        let timeout = SessionLimits().sessionTimeout
        for begin in [{ Session() }, { Session.open() }, { Session.resumable() }] {
            var session = begin()
            keepAlive(&session, for: timeout - 1)
            #expect(session.untilDeadline == 1)
            session.wait(1)
            #expect(session.tick() == [.closeClient, .finishTarget])
            #expect(session.reason == .sessionTimeout)
        }
        var limits = SessionLimits()
        limits.sessionTimeout = 60 * second
        var detached = Session.resumable(limits: limits)
        detached.wait(59 * second)
        _ = detached.clientLost()
        #expect(detached.untilDeadline == 1 * second)
        detached.wait(1 * second)
        #expect(detached.tick() == .finishTarget)
    }

    private func keepAlive(_ session: inout Session, for time: UInt64) {
        let end = session.now + time
        while session.now < end {
            session.wait(min(60 * second, end - session.now))
            session.clientHeard()
            _ = session.tick()
        }
    }
}
