import Admission
import Reactors
import RelayCore
import Testing
import WireText

@testable import Relay

/// Each way in which a session ends: what both sides see, and the word in the log.
struct CloseTests {
    private let bench: Bench

    init() throws {
        bench = try Bench {
            $0.session.closeFlush = 5 * second
            $0.session.resumeGrace = 60 * second
        }
    }

    /// A client of a raw session.
    private func rawClient() throws -> TestClient {
        let client = try bench.client(.raw)
        bench.network.settle()
        return client
    }

    private func end() {
        bench.network.settle()
        bench.target.end()
        bench.network.wait(20 * second)
    }

    @Test(arguments: [UInt16?.none, 1000, 1001, 4000]) func `a raw client's Close frame ends the session`(
        code: UInt16?
    ) throws {
        let client = try rawClient()
        client.socket.send(text: "bye")
        bench.network.settle()
        client.socket.close(code)
        end()
        #expect(bench.target.text == "bye" && bench.target.hasSeenEnd)
        #expect(bench.endings == ["client_closed"] && bench.isEmpty)
    }

    @Test func `the loss of a raw client ends the session`() throws {
        try rawClient().socket.lose()
        end()
        #expect(bench.endings == ["client_lost"] && bench.target.hasSeenEnd && bench.isEmpty)
    }

    @Test(arguments: [
        (UInt16(1009), "message_too_big"), (1002, "client_protocol_error"), (1007, "client_protocol_error"),
    ])
    func `a protocol error of the client ends its session with that reason`(code: UInt16, word: String) throws {
        try rawClient().socket.violate(code)
        end()
        #expect(bench.endings == [word] && bench.isEmpty)
    }

    @Test(arguments: [UInt16?.none, 1000, 1001]) func `a Close frame doesn't end a typed session`(code: UInt16?) throws
    {
        let player = try bench.player()
        player.socket.close(code)
        bench.network.settle()
        #expect(bench.endings.isEmpty && bench.log.lines(of: "session detached").count == 1)
        bench.network.wait(59 * second)
        #expect(bench.sessionCount == 1)
        bench.network.wait(1 * second)
        end()
        #expect(bench.endings == ["resume_grace_over"] && bench.target.hasSeenEnd && bench.isEmpty)
    }

    @Test(arguments: [UInt16(1000), 1001]) func `only a normal closure ends a gmcp session`(code: UInt16)
        throws
    {
        let client = try bench.client(.gmcp)
        bench.network.settle()
        client.socket.close(code)
        bench.network.settle()
        bench.target.end()
        bench.network.settle()
        #expect(bench.endings == [code == 1000 ? "client_closed" : "target_closed"])
        #expect(bench.isEmpty)
    }

    @Test func `a disconnect message ends a typed session`() throws {
        let player = try bench.player()
        player.say(#"{"type":"disconnect"}"#)
        #expect(player.closeCode == 1000 && player.closesOnce)
        end()
        #expect(bench.endings == ["client_disconnected"] && bench.isEmpty)
    }

    @Test(arguments: [DialectKind.raw, .typed])
    func `the target's FIN closes the client with 1000 after the target's last output`(
        dialect: DialectKind
    ) throws {
        let client = dialect == .raw ? try rawClient() : try bench.player()
        bench.target.send("the end")
        bench.target.end()
        bench.network.settle()
        #expect(client.closeCode == 1000 && client.closesOnce)
        let last = client.socket.messages.last?.text ?? ""
        #expect(dialect == .raw ? last == "the end" : last.contains("disconnected"))
        #expect(bench.endings == ["target_closed"] && bench.isEmpty)
    }

    @Test func `a target that breaks closes the client with 1014`() throws {
        let client = try rawClient()
        bench.target.breakDown()
        bench.network.settle()
        #expect(client.closeCode == 1014 && client.closesOnce)
        #expect(bench.endings == ["target_lost"] && bench.isEmpty)
    }

    @Test(arguments: [
        (TCPError.timedOut(milliseconds: 10_000), "target_timed_out"), (.notConnected("refused"), "target_unreachable"),
        (.notResolved("no such name"), "target_unreachable"), (.notAllowed, "target_unreachable"),
    ]) func `an unreachable target closes a raw client with 1014`(error: TCPError, word: String) throws {
        bench.network.answer = .fails(error)
        let client = try rawClient()
        #expect(client.closeCode == 1014 && bench.endings == [word] && bench.isEmpty)
    }

    @Test func `a typed client is told that its target is unreachable and may try others up to a limit`() throws {
        bench.network.answer = .fails(.notConnected("refused"))
        var client = try bench.client()
        let connect = #"{"type":"connect","host":"mud.example","port":4000}"#
        for attempt in 1...Newcomer.maximumDials {
            client.say(connect)
            client.hear()
            #expect(client.errors.count == attempt && client.socket.closeFrame == nil)
        }
        client.say(connect)
        #expect(client.closeReason == "too many connects")
        #expect(bench.endings == ["too_many_connects"] && bench.isEmpty)
    }

    @Test func `a typed client that names no target in time is closed, not one nanosecond before`() throws {
        let client = try bench.client()
        bench.network.wait(bench.settings.dialects.connectWait - 1)
        #expect(client.socket.closeFrame == nil)
        bench.network.wait(1)
        #expect(client.closeReason == "no target was named in time")
        #expect(bench.endings == ["no_target_named"] && bench.isEmpty)
    }

    @Test func `a message that is too big closes a raw client, and one at the limit doesn't`() throws {
        let client = try rawClient()
        let limit = bench.settings.dialects.maximumMessageBytes
        let half = [UInt8](repeating: 0x61, count: limit / 2)
        client.socket.send(.init(bytes: half, isText: false, isLast: false))
        client.socket.send(.init(bytes: half, isText: false, isFirst: false))
        bench.network.settle()
        #expect(client.socket.closeFrame == nil && bench.target.received.count == limit)
        client.socket.send(.init(bytes: half, isText: false, isLast: false))
        client.socket.send(.init(bytes: half, isText: false, isFirst: false, isLast: false))
        client.socket.send(.init(bytes: [0x61], isText: false, isFirst: false))
        end()
        #expect(client.closeCode == 1009 && bench.endings == ["message_too_big"] && bench.isEmpty)
    }

    @Test(arguments: [DialectKind.raw, .typed]) func `a silent client is dropped`(dialect: DialectKind)
        throws
    {
        let client = dialect == .raw ? try rawClient() : try bench.player()
        client.socket.answersPings = false
        bench.network.wait(bench.settings.session.peerSilence - 1)
        #expect(client.socket.pings > 1 && !client.socket.isClosed)
        bench.network.wait(1)
        #expect(client.socket.isClosed && client.socket.closeFrame == nil)
        // The typed one may come back.
        #expect(bench.log.lines(of: "session detached").count == (dialect == .raw ? 0 : 1))
        bench.network.wait(60 * second)
        end()
        #expect(bench.endings == [dialect == .raw ? "client_silent" : "resume_grace_over"] && bench.isEmpty)
    }

    @Test func `a session ends at its maximum age, attached or detached`() throws {
        let bench = try Bench {
            $0.session.sessionTimeout = 30 * second
            $0.session.resumeGrace = 100 * second
        }
        let player = try bench.player()
        let other = try bench.player()
        other.socket.lose()
        bench.network.wait(30 * second)
        #expect(player.closeReason == "session_timeout")
        #expect(bench.network.targets.allSatisfy { $0.hasSeenEnd })
        bench.network.targets.forEach { $0.end() }
        bench.network.settle()
        #expect(bench.endings == ["session_timeout", "session_timeout"] && bench.isEmpty)
    }

    @Test func `a client that never answers its Close frame is dropped at the time limit`() throws {
        let client = try rawClient()
        client.socket.answersClose = false
        bench.target.end()
        bench.network.wait(5 * second - 1)
        #expect(!client.socket.isClosed && bench.sessionCount == 1)
        bench.network.wait(1)
        #expect(client.socket.isClosed && client.closesOnce && bench.isEmpty)
    }

    @Test func `a target that never reads is given up at the time limit`() throws {
        let client = try rawClient()
        bench.target.reads = false
        client.say("never read")
        client.socket.lose()
        bench.network.wait(5 * second - 1)
        #expect(!bench.target.isClosed)
        bench.network.wait(1)
        #expect(bench.target.isClosed && bench.isEmpty && bench.endings == ["client_lost"])
    }

    @Test func `a session above the limit of its address is refused`() throws {
        let bench = try Bench { $0.leases.perAddress = 2 }
        let raw = [try bench.client(.raw), try bench.client(.raw), try bench.client(.raw)]
        bench.network.settle()
        #expect(raw.map { $0.closeCode } == [nil, nil, 1013])
        var typed = try bench.client()
        typed.say(#"{"type":"connect","host":"mud.example","port":4000}"#)
        typed.hear()
        #expect(typed.errors == ["rate_limited"] && typed.socket.closeFrame == nil)
        #expect(bench.endings == ["too_many_sessions"])
        let elsewhere = try bench.player(from: "198.51.100.1")
        #expect(elsewhere.types.last == "session")
    }

    @Test func `a detached session is ended to make room for a new one, as soon as it may be`() throws {
        let bench = try Bench { $0.leases.perAddress = 1 }
        let first = try bench.player()
        first.socket.lose()
        bench.network.wait(45 * 60 / 4 * second - 1)
        let tooEarly = try bench.player()
        #expect(tooEarly.errors == ["rate_limited"])
        bench.network.wait(1)
        let second = try bench.player()
        #expect(second.types.last == "session")
        bench.network.targets[0].end()
        bench.network.settle()
        #expect(bench.endings == ["session_evicted"])
        // Its client is told when it comes back, and may begin anew when there is room.
        let back = try first.again(on: 1)
        back.socket.send(text: first.resumeMessage)
        bench.network.settle()
        #expect(back.socket.messages.last?.text.contains("session_expired") == true)
    }

    @Test func `only revoked and blocked clients are closed, attached or not`() throws {
        let here = try bench.player(from: "192.0.2.1")
        let away = try bench.player(from: "192.0.2.1")
        let other = try bench.player(on: 1, from: "198.51.100.7")
        away.socket.lose()
        var count = 0
        bench.onEachTable { count += $0.close(.deviceBlocked) { _, address in address.text == "192.0.2.1" } }
        #expect(count == 2 && here.closeReason == "device_blocked" && other.socket.closeFrame == nil)
        bench.network.wait(20 * second)
        #expect(bench.endings == ["device_blocked", "device_blocked"])
    }
}

/// The gateway shuts down.
struct DrainTests {
    @Test func `a drain tells clients, ends detached sessions and closes new clients`() throws {
        let bench = try Bench()
        var player = try bench.player()
        let away = try bench.player(on: 1)
        away.socket.lose()
        bench.network.settle()
        bench.drain.beginDraining()
        bench.onEachTable { $0.beginDraining() }
        player.hear()
        #expect(player.types.last == "draining" && player.socket.closeFrame == nil)
        bench.network.wait(10 * second)
        #expect(bench.endings == ["shutting_down"])
        let late = try bench.client(.raw)
        #expect(late.closeCode == 1001)
        // Attached sessions have the grace period.
        player.type("save")
        #expect(bench.network.targets[0].text == "save")
        bench.onEachTable { $0.close(.shuttingDown) }
        #expect(player.closeCode == 1001)
        bench.network.wait(10 * second)
        #expect(bench.isEmpty && bench.endings.allSatisfy { $0 == "shutting_down" })
    }

    @Test func `a drain doesn't wait for a client that is lost`() throws {
        let bench = try Bench()
        let player = try bench.player()
        bench.drain.beginDraining()
        bench.onEachTable { $0.beginDraining() }
        player.socket.lose()
        bench.network.wait(5 * second)
        #expect(bench.isEmpty && bench.endings == ["shutting_down"])
    }
}

extension TestClient {
    /// The order to close was given once.
    var closesOnce: Bool { socket.closesOrdered == 1 }
}
