import RelayCore
import Testing

/// The client ends the session: what it sent is written first, then the target is told.
struct ClientCloseTests {
    @Test func `the client's Close finishes the target, and the target's end ends the session`() {
        var session = Session.open()
        #expect(session.clientSent(queued: 900) == [])
        #expect(session.clientClosed() == .finishTarget)
        #expect(!session.machine.acceptsFromClient)
        #expect(!session.machine.acceptsFromTarget)
        #expect(session.targetDrained(to: 0) == [])
        #expect(session.targetFinished() == [])
        #expect(session.targetClosed() == .end)
    }

    @Test func `a target that neither reads the bytes nor closes is dropped at the flush limit`() {
        for queued in [0, 900] {
            var session = Session.open()
            _ = session.clientSent(queued: queued)
            #expect(session.clientClosed() == .finishTarget)
            #expect(session.untilDeadline == 5 * second)
            session.wait(5 * second - 1)
            #expect(session.tick() == [])
            session.wait(1)
            #expect(session.tick() == [.dropTarget, .dropClient, .end])
        }
    }

    @Test func `a client that leaves during the dial without having sent anything ends the dial at once`() {
        var session = Session()
        #expect(session.clientClosed() == [.dropTarget, .end])
        #expect(session.targetClosed() == [])
    }

    @Test func `the input of a client that leaves during the dial is still delivered`() {
        var session = Session()
        #expect(session.clientSent(queued: 20) == [])
        #expect(session.clientClosed() == .finishTarget)
        #expect(session.targetConnected() == [])
        #expect(session.targetDrained(to: 0) == [])
        #expect(session.targetClosed() == .end)
    }

    @Test func `a client that leaves before the dial fails isn't told`() {
        var session = Session()
        _ = session.clientSent(queued: 20)
        _ = session.clientClosed()
        #expect(session.targetClosed(.targetUnreachable) == .end)
    }

    @Test func `a client that answers its Close leaves the target the rest of the time`() {
        var session = Session.open()
        #expect(session.shutDown() == [.closeClient, .finishTarget])
        session.wait(2 * second)
        #expect(session.clientClosed() == [])
        #expect(session.untilDeadline == 3 * second)
        session.wait(3 * second)
        #expect(session.tick() == [.dropTarget, .dropClient, .end])
    }

    @Test func `a client dropped for silence isn't dropped again`() {
        var session = Session.open()
        session.wait(90 * second)
        #expect(session.tick() == [.dropClient, .finishTarget])
        session.wait(5 * second)
        #expect(session.tick() == [.dropTarget, .end])
    }
}
