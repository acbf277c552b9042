import RelayCore
import Testing

/// Pings and silence as the session orders them.
struct PeerSilenceTests {
    @Test func `a quiet client is pinged at the interval, and again`() {
        var session = Session.open()
        #expect(session.untilDeadline == 30 * second)
        session.wait(30 * second - 1)
        #expect(session.tick() == [])
        session.wait(1)
        #expect(session.tick() == .sendPing)
        #expect(session.untilDeadline == 30 * second)
        session.wait(30 * second)
        #expect(session.tick() == .sendPing)
    }

    @Test func `a silent client is dropped at the limit, not one nanosecond before`() {
        var session = Session.open()
        session.wait(90 * second - 1)
        #expect(session.tick() == .sendPing)
        session.wait(1)
        #expect(session.tick() == [.dropClient, .finishTarget])
        #expect(session.clientClosed() == [])
        #expect(session.targetClosed() == .end)
    }

    @Test func `a pong and a message both end the silence`() {
        var session = Session.open()
        session.wait(89 * second)
        session.clientHeard()
        session.wait(89 * second)
        #expect(session.tick() == .sendPing)
        #expect(session.clientSent(queued: 0) == [])
        session.wait(89 * second)
        #expect(session.tick() == .sendPing)
        session.wait(1 * second)
        #expect(session.tick() == [.dropClient, .finishTarget])
    }

    @Test func `the target's output doesn't end the client's silence`() {
        var session = Session.open()
        session.wait(90 * second)
        #expect(session.targetSent(queued: 1) == [])
        #expect(session.clientDrained(to: 0) == [])
        #expect(session.tick() == [.dropClient, .finishTarget])
    }

    @Test func `a client that reads nothing is silent too, and its target's FIN is awaited`() {
        var session = Session.open()
        #expect(session.targetSent(queued: 100 * kibibyte) == .pauseTarget)
        session.wait(90 * second)
        #expect(session.tick() == [.resumeTarget, .dropClient, .finishTarget])
    }

    @Test func `while the client is paused its silence clock stops`() {
        var session = Session.open()
        session.wait(20 * second)
        #expect(session.clientSent(queued: 100 * kibibyte) == .pauseClient)
        session.wait(1_000 * second)
        #expect(session.tick() == .sendPing)
        #expect(session.targetDrained(to: 0) == .resumeClient)
        session.wait(90 * second - 1)
        #expect(session.tick() == .sendPing)
        #expect(session.untilDeadline == 1)
        session.wait(1)
        #expect(session.tick() == [.dropClient, .finishTarget])
    }

    @Test func `a paused client is still pinged, to detect its loss`() {
        var session = Session.open()
        #expect(session.clientSent(queued: 100 * kibibyte) == .pauseClient)
        for _ in 0..<10 {
            #expect(session.untilDeadline == 30 * second)
            session.wait(30 * second)
            #expect(session.tick() == .sendPing)
        }
        #expect(session.clientClosed() == .finishTarget)
    }

    @Test func `while the client is throttled its silence clock stops, and pings continue`() {
        var session = Session.open()
        session.wait(20 * second)
        #expect(session.clientSent(queued: 0) == [])
        session.clientHeldBack(true)
        for _ in 0..<10 {
            session.wait(30 * second)
            #expect(session.tick() == .sendPing)
        }
        session.clientHeldBack(false)
        session.wait(90 * second - 1)
        #expect(session.tick() == .sendPing)
        session.wait(1)
        #expect(session.tick() == [.dropClient, .finishTarget])
    }

    @Test func `the silence clock stops until both reasons for not reading have ended`() {
        var session = Session.open()
        session.clientHeldBack(true)
        #expect(session.clientSent(queued: 100 * kibibyte) == .pauseClient)
        session.wait(100 * second)
        #expect(session.targetDrained(to: 0) == .resumeClient)
        session.wait(100 * second)
        #expect(session.tick() == .sendPing)
        #expect(session.clientSent(queued: 100 * kibibyte) == .pauseClient)
        session.clientHeldBack(false)
        session.wait(100 * second)
        #expect(session.tick() == .sendPing)
        #expect(session.targetDrained(to: 0) == .resumeClient)
        session.wait(90 * second)
        #expect(session.tick() == [.dropClient, .finishTarget])
    }

    @Test func `a client that replaces a throttled one is read, and its silence counts`() {
        var session = Session.resumable()
        session.clientHeldBack(true)
        #expect(session.clientAttached() == [])
        session.wait(90 * second)
        #expect(session.tick().contains(.dropClient))
    }

    @Test func `a close that begins while the clock is stopped has its own deadline`() {
        var session = Session.open()
        #expect(session.clientSent(queued: 100 * kibibyte) == .pauseClient)
        session.wait(1_000 * second)
        #expect(session.targetFinished() == .pauseTarget)
        #expect(session.untilDeadline == 5 * second)
    }

    @Test func `the drop of a silent client ends the dial`() {
        var session = Session()
        session.wait(90 * second)
        #expect(session.tick() == [.dropTarget, .dropClient, .end])
    }

    @Test func `bytes of a silent client are flushed until the limit while the target is dialled`() {
        var session = Session()
        #expect(session.clientSent(queued: 5) == [])
        session.wait(90 * second)
        #expect(session.tick() == [.dropClient, .finishTarget])
        session.wait(5 * second)
        #expect(session.tick() == [.dropTarget, .end])
    }
}
