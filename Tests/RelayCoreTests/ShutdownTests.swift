import RelayCore
import Testing

/// The gateway ends the session.
struct ShutdownTests {
    @Test func `a shutdown closes the client with 1001 and finishes the target`() {
        var session = Session.open()
        #expect(session.shutDown() == [.closeClient, .finishTarget])
        #expect(session.reason == .shuttingDown)
        #expect(session.reason.code == 1001)
        #expect(session.targetFinished() == [])
        #expect(session.targetClosed() == [])
        #expect(session.clientClosed() == .end)
    }

    @Test func `a shutdown writes what is queued to the target first`() {
        var session = Session.open()
        _ = session.clientSent(queued: 60)
        #expect(session.shutDown() == [.pauseClient, .pauseTarget])
        #expect(session.targetSent(queued: 10) == [])
        #expect(session.targetDrained(to: 0) == [.resumeClient, .resumeTarget, .closeClient, .finishTarget])
        #expect(session.reason == .shuttingDown)
    }

    @Test func `a shutdown ends within two flush limits, whatever the peers do`() {
        var session = Session.open()
        _ = session.clientSent(queued: 100 * kibibyte)
        _ = session.targetSent(queued: 100 * kibibyte)
        #expect(session.shutDown() == [])
        session.wait(5 * second)
        #expect(session.tick() == [.dropTarget, .resumeClient, .closeClient])
        session.wait(5 * second)
        #expect(session.tick() == [.dropClient, .end])
    }

    @Test func `a shutdown while dialling closes the client at once and finishes the target`() {
        var session = Session()
        #expect(session.shutDown() == [.closeClient, .finishTarget])
        #expect(session.targetConnected() == [])
        #expect(session.clientClosed() == [])
        #expect(session.targetClosed() == .end)
    }

    @Test func `a shutdown while dialling waits for the client's input`() {
        var session = Session()
        _ = session.clientSent(queued: 7)
        #expect(session.shutDown() == [.pauseClient, .pauseTarget])
        #expect(session.targetConnected() == [])
        #expect(!session.machine.acceptsFromTarget)
        #expect(session.targetDrained(to: 0) == [.resumeClient, .resumeTarget, .closeClient, .finishTarget])
    }

    @Test func `a shutdown after the end has begun changes neither reason nor deadline`() {
        var session = Session.open()
        #expect(session.targetFinished() == [.closeClient, .finishTarget])
        session.wait(2 * second)
        #expect(session.shutDown() == [])
        #expect(session.reason == .targetClosed)
        #expect(session.untilDeadline == 3 * second)
        var leaving = Session.open()
        #expect(leaving.clientClosed() == .finishTarget)
        #expect(leaving.shutDown() == [])
    }
}
