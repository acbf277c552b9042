import Testing
import WebSocketWire

@Suite("The closing handshake")
struct ClosingHandshakeTests {
    private static let limits = ClosingHandshake.Limits(writeNanoseconds: 500, answerNanoseconds: 100)

    private static func peerClose(_ code: UInt16?) throws -> PeerClose {
        let bytes = code.map { [UInt8($0 >> 8), UInt8($0 & 0xFF)] } ?? []
        return try PeerClose.read(try #require(ControlPayload(bytes)))
    }

    private static func payload(_ code: CloseCode?, _ reason: String = "") -> ControlPayload {
        ControlPayload(close: code, reason: reason)
    }

    @Test func `begun by us: our Close after queued data, the peer's Close, the end of TCP (§7.1.2)`() throws {
        var state = ClosingHandshake(limits: Self.limits)
        #expect(state.maySend && state.delivers && state.reads && state.deadline == nil)
        #expect(state.close(.goingAway, reason: "bye", now: 10) == .queueClose(Self.payload(.goingAway, "bye")))
        #expect(!state.maySend && !state.delivers && state.reads && state.deadline == 510)
        #expect(state.closeWritten(now: 50) == .none)
        #expect(state.deadline == 150 && state.reads)
        #expect(state.received(try Self.peerClose(1001), now: 60) == .endTCP)
        #expect(state.hasEnded && state.deadline == nil)
    }

    @Test func `begun by us waits at most a second for the peer's Close`() {
        #expect(ClosingHandshake.Limits().answerNanoseconds == 1_000_000_000)
        var state = ClosingHandshake(limits: Self.limits)
        _ = state.close(.normal, now: 0)
        _ = state.closeWritten(now: 50)
        #expect(state.passed(now: 149) == .none)
        #expect(state.passed(now: 150) == .endTCP)
        #expect(state.passed(now: 151) == .none && state.hasEnded)
    }

    @Test(arguments: [(99, 150), (100, 150), (7_000, 7_050), (.max, .max)] as [(UInt64, UInt64)])
    func `begun by us to hear the peer to its end waits as long as was said, and not less than usual`(
        rest: UInt64, deadline: UInt64
    ) throws {
        var state = ClosingHandshake(limits: Self.limits)
        state.restNanoseconds = rest
        _ = state.close(.normal, now: 0)
        #expect(state.delivers && state.deadline == 500)
        #expect(state.closeWritten(now: 50) == .none)
        #expect(state.delivers && state.deadline == deadline)
        #expect(state.passed(now: deadline - 1) == .none && state.delivers)
        var late = state
        #expect(late.passed(now: deadline) == .endTCP && !late.delivers)
        #expect(state.received(try Self.peerClose(1000), now: deadline - 1) == .endTCP && !state.delivers)
    }

    @Test func `begun by us has a time limit for a peer that doesn't read`() {
        var state = ClosingHandshake(limits: Self.limits)
        _ = state.close(.normal, now: 0)
        #expect(state.passed(now: 499) == .none)
        #expect(state.passed(now: 500) == .abortTCP)
    }

    @Test func `sends one Close, whatever is ordered afterwards (§5.5.1)`() throws {
        var state = ClosingHandshake(limits: Self.limits)
        _ = state.close(.normal, now: 0)
        #expect(state.close(.goingAway, now: 1) == .none)
        #expect(state.failed(.unmasked, now: 2) == .dropQueuedData)
        #expect(state.close(.goingAway, now: 3) == .none)
        #expect(state.closeWritten(now: 4) == .endTCP)
        #expect(state.close(.goingAway, now: 5) == .none && state.failed(.unmasked, now: 5) == .none)
    }

    @Test(arguments: [1000, 1001, 3000, 4999, nil] as [UInt16?])
    func `begun by the peer: its code is returned, nothing else is sent, the server ends TCP (§5.5.1, §7.1.1)`(
        code: UInt16?
    ) throws {
        var state = ClosingHandshake(limits: Self.limits)
        let expected = code.flatMap { CloseCode(rawValue: $0) }
        #expect(state.received(try Self.peerClose(code), now: 10) == .replaceQueue(Self.payload(expected)))
        #expect(!state.maySend && !state.delivers && !state.reads && state.deadline == 110)
        #expect(state.closeWritten(now: 20) == .endTCP)
        #expect(state.hasEnded)
    }

    @Test func `begun by the peer ends even if the peer doesn't read the answer`() throws {
        var state = ClosingHandshake(limits: Self.limits)
        _ = state.received(try Self.peerClose(1000), now: 10)
        #expect(state.passed(now: 109) == .none)
        #expect(state.passed(now: 110) == .abortTCP)
    }

    @Test func `begun by both at once: our Close has its own code and precedes queued data`() throws {
        var state = ClosingHandshake(limits: Self.limits)
        _ = state.close(.goingAway, now: 0)
        #expect(state.received(try Self.peerClose(4000), now: 10) == .dropQueuedData)
        #expect(!state.reads && state.deadline == 110)
        #expect(state.closeWritten(now: 20) == .endTCP)
    }

    @Test func `after a fault: Close with its code, nothing else, the end of TCP within the second (§7.1.7)`() {
        var state = ClosingHandshake(limits: Self.limits)
        #expect(
            state.failed(.messageTooBig, now: 10) == .replaceQueue(Self.payload(.messageTooBig, "message too big")))
        #expect(!state.maySend && !state.reads && state.deadline == 110)
        #expect(state.closeWritten(now: 20) == .endTCP)
        var unread = ClosingHandshake(limits: Self.limits)
        _ = unread.failed(.unmasked, now: 10)
        #expect(unread.passed(now: 110) == .abortTCP)
    }

    @Test func `after a fault behind our Close: the end of TCP`() {
        var state = ClosingHandshake(limits: Self.limits)
        _ = state.close(.normal, now: 0)
        _ = state.closeWritten(now: 1)
        #expect(state.failed(.unmasked, now: 2) == .endTCP)
    }

    @Test func `ends with TCP in every state`() throws {
        var open = ClosingHandshake(limits: Self.limits)
        #expect(open.receivedEnd() == .endTCP && open.receivedEnd() == .none && !open.maySend)
        var closing = ClosingHandshake(limits: Self.limits)
        _ = closing.close(.normal, now: 0)
        #expect(closing.receivedEnd() == .endTCP && closing.closeWritten(now: 1) == .none)
        #expect(closing.received(try Self.peerClose(1000), now: 2) == .none)
    }

    @Test func `of a client waits for the server to end TCP (§7.1.1)`() throws {
        var theirs = ClosingHandshake(role: .client, limits: Self.limits)
        _ = theirs.received(try Self.peerClose(1000), now: 0)
        #expect(theirs.closeWritten(now: 10) == .none)
        #expect(!theirs.reads && theirs.deadline == 110)
        #expect(theirs.receivedEnd() == .endTCP)
        var ours = ClosingHandshake(role: .client, limits: Self.limits)
        _ = ours.close(.normal, now: 0)
        _ = ours.closeWritten(now: 10)
        #expect(ours.received(try Self.peerClose(1000), now: 20) == .none)
        #expect(ours.passed(now: 120) == .abortTCP)
    }

    @Test func `has no deadline that overflows`() {
        var state = ClosingHandshake(limits: Self.limits)
        _ = state.close(.normal, now: .max - 1)
        #expect(state.deadline == .max)
    }
}

@Suite("Pongs")
struct PongQueueTests {
    @Test func `answer each ping while the peer reads (§5.5.2)`() throws {
        var pongs = PongQueue()
        for index in 0..<100 {
            let ping = try #require(ControlPayload([UInt8(index)]))
            #expect(pongs.received(ping) == ping)
            #expect(pongs.drained() == nil)
        }
    }

    @Test func `answer the latest ping alone when too many wait (§5.5.3)`() throws {
        var pongs = PongQueue()
        for index in 0..<PongQueue.maximumWaiting {
            #expect(pongs.received(try #require(ControlPayload([UInt8(index)]))) != nil)
        }
        for index in 100..<110 { #expect(pongs.received(try #require(ControlPayload([UInt8(index)]))) == nil) }
        #expect(pongs.drained()?.bytes == [109])
        // That pong waits too.
        for index in 1..<PongQueue.maximumWaiting {
            #expect(pongs.received(try #require(ControlPayload([UInt8(index)]))) != nil)
        }
        #expect(pongs.received(ControlPayload()) == nil)
        #expect(pongs.drained()?.bytes == [])
        #expect(pongs.drained() == nil)
        for index in 0..<PongQueue.maximumWaiting {
            #expect(pongs.received(try #require(ControlPayload([UInt8(index)]))) != nil)
        }
        #expect(pongs.received(ControlPayload()) == nil)
    }
}
