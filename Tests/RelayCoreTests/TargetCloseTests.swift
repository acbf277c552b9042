import RelayCore
import Testing

/// The target ends the session: what is queued goes out first, then the client is told why.
struct TargetCloseTests {
    @Test func `the target's FIN closes the client with 1000 and is answered with a FIN`() {
        var session = Session.open()
        #expect(session.targetSent(queued: 500) == [])
        #expect(session.targetFinished() == [.closeClient, .finishTarget])
        #expect(session.reason == .targetClosed)
        #expect(session.reason.code == 1000)
        #expect(session.targetClosed() == [])
        #expect(session.clientClosed() == .end)
    }

    @Test func `a FIN while bytes to the target are queued waits for them`() {
        var session = Session.open()
        #expect(session.clientSent(queued: 700) == [])
        #expect(session.targetFinished() == [.pauseClient, .pauseTarget])
        #expect(!session.machine.acceptsFromClient)
        #expect(!session.machine.acceptsFromTarget)
        #expect(session.targetDrained(to: 1) == [])
        #expect(session.targetDrained(to: 0) == [.resumeClient, .resumeTarget, .closeClient, .finishTarget])
        #expect(session.reason == .targetClosed)
    }

    @Test func `bytes that the target never reads are given up at the flush limit, not one nanosecond before`() {
        var session = Session.open()
        _ = session.clientSent(queued: 700)
        #expect(session.targetFinished() == [.pauseClient, .pauseTarget])
        #expect(session.untilDeadline == 5 * second)
        session.wait(5 * second - 1)
        #expect(session.tick() == [])
        session.wait(1)
        #expect(session.tick() == [.dropTarget, .resumeClient, .closeClient])
        #expect(session.targetClosed() == [])
        #expect(session.clientClosed() == .end)
    }

    @Test func `a target that reads only half its bytes is given up at the flush limit`() {
        var session = Session.open()
        _ = session.clientSent(queued: 700)
        _ = session.targetFinished()
        session.wait(4 * second)
        #expect(session.targetDrained(to: 350) == [])
        #expect(session.untilDeadline == 1 * second)
        session.wait(1 * second)
        #expect(session.tick() == [.dropTarget, .resumeClient, .closeClient])
    }

    @Test func `a client that doesn't answer its Close is dropped at the limit`() {
        var session = Session.open()
        #expect(session.targetFinished() == [.closeClient, .finishTarget])
        session.wait(5 * second - 1)
        #expect(session.tick() == [])
        session.wait(1)
        #expect(session.tick() == [.dropTarget, .dropClient, .end])
        #expect(session.untilDeadline == nil)
    }

    @Test func `a target that breaks closes the client with 1014`() {
        var session = Session.open()
        #expect(session.targetSent(queued: 10) == [])
        #expect(session.targetClosed(.targetLost) == .closeClient)
        #expect(session.reason == .targetLost)
        #expect(session.reason.code == 1014)
        #expect(session.clientClosed() == .end)
    }

    @Test func `an unreachable target closes the client with 1014, also after the client has sent`() {
        for queued in [0, 300] {
            var session = Session()
            #expect(session.clientSent(queued: queued) == [])
            #expect(session.targetClosed(.targetUnreachable) == .closeClient)
            #expect(session.reason == .targetUnreachable)
            #expect(session.reason.code == 1014)
            #expect(session.clientClosed() == .end)
        }
    }

    @Test func `an orderly end without a FIN counts as one`() {
        var session = Session.open()
        #expect(session.clientSent(queued: 40) == [])
        #expect(session.targetClosed() == .closeClient)
        #expect(session.reason == .targetClosed)
    }

    @Test func `a target that breaks while it is flushed keeps the first reason`() {
        var session = Session.open()
        _ = session.clientSent(queued: 40)
        #expect(session.targetFinished() == [.pauseClient, .pauseTarget])
        #expect(session.targetClosed(.targetLost) == [.resumeClient, .closeClient])
        #expect(session.reason == .targetClosed)
    }

    @Test func `the loss of the client doesn't change the time for flushing the target`() {
        var session = Session.open()
        _ = session.clientSent(queued: 40)
        _ = session.targetFinished()
        session.wait(2 * second)
        #expect(session.clientClosed() == [.resumeTarget, .finishTarget])
        #expect(session.untilDeadline == 3 * second)
        session.wait(3 * second)
        #expect(session.tick() == [.dropTarget, .dropClient, .end])
    }

    @Test func `every reason fits a Close frame`() {
        for reason: CloseReason in [.targetClosed, .shuttingDown, .targetUnreachable, .targetLost] {
            #expect(reason.text.utf8.count <= 123)
        }
    }
}
