import Admission
import RelayCore
import Testing

@testable import Relay

/// A client loses its connection and comes back to its session, on the loop that it was on and on another one.
struct ResumeTests {
    @Test(arguments: [0, 1]) func `the session continues where its client left it`(loop: Int) throws {
        let bench = try Bench()
        var first = try bench.player()
        let target = bench.target
        target.send("one ")
        first.hear()
        first.socket.lose()
        target.send("two ")
        bench.network.settle()
        var second = try first.resumed(on: loop)
        target.send("three")
        second.hear()
        #expect(second.text == "one two three")
        #expect(second.types.first == "resumed" && second.gaps == 0)
        second.type("north")
        #expect(target.text == "north" && bench.network.targets.count == 1)
        #expect(target.moves == loop)
        #expect(bench.tables[loop].count == 1 && bench.sessionCount == 1)
    }

    @Test(arguments: [0, 1]) func `counters and times cover the whole session`(loop: Int) throws {
        let bench = try Bench()
        var player = try bench.player()
        let target = bench.target
        var sockets = [player.socket]
        for round in 0..<3 {
            player.type("go \(round)")
            target.send("[\(round)]")
            player.hear()
            bench.network.wait(10 * second)
            // The second time it is taken over.
            if round != 1 { player.socket.lose() }
            player = try player.resumed(on: round.isMultiple(of: 2) ? loop : 0)
            sockets.append(player.socket)
        }
        player.say(#"{"type":"disconnect"}"#)
        target.end()
        bench.network.settle()
        let line = try #require(bench.log.lines(of: "session ended").first)
        #expect(bench.endings == ["client_disconnected"])
        #expect(line["milliseconds"] == "30000")
        func sum(_ count: (MemorySocket) -> Int) -> String { "\(sockets.reduce(0) { $0 + count($1) })" }
        #expect(line["bytesFromClient"] == sum(\.payloadRead) && line["bytesToClient"] == sum(\.payloadWritten))
        #expect(line["framesFromClient"] == sum(\.wireBytesRead) && line["framesToClient"] == sum(\.wireBytesWritten))
        #expect(line["target"] == "mud.example:4000")
        #expect(bench.isEmpty)
    }

    /// A client that resumes again and again would otherwise send as much as it likes.
    @Test(arguments: [0, 1]) func `messages sent too fast before a resume count after it`(loop: Int) throws {
        let bench = try Bench { $0.traffic.messagesPerSecond = 10 }
        let first = try bench.player()
        for _ in 0..<40 { first.socket.send(text: #"{"type":"input","text":"x"}"#) }
        bench.network.settle()
        #expect(!first.socket.isRead && first.socket.unreadCount > 0)
        var reader = first
        reader.hear()
        first.socket.lose()
        let next = try reader.resumed(on: loop)
        #expect(!next.socket.isRead)
        bench.network.wait(2 * second)
        #expect(next.socket.isRead)
    }

    @Test(arguments: [0, 1]) func `messages that the new connection has sent count, too`(loop: Int) throws {
        let bench = try Bench { $0.traffic.messagesPerSecond = 10 }
        let first = try bench.player()
        first.socket.lose()
        bench.network.wait(5 * second)
        let next = try first.again(on: loop)
        for _ in 0..<9 { next.socket.send(text: "{}") }
        next.socket.send(text: first.resumeMessage)
        next.socket.send(text: #"{"type":"input","text":"x"}"#)
        bench.network.settle()
        #expect(next.socket.messages.last?.text.contains("resumed") == true)
        #expect(!next.socket.isRead)
    }

    @Test(arguments: [0, 1]) func `a paused target stays paused as long as without the resume`(
        loop: Int
    ) throws {
        let bench = try Bench { $0.traffic.targetBytesPerSecond = 1_000 }
        let first = try bench.player()
        bench.target.send([UInt8](repeating: 0x61, count: 3_000))
        bench.network.settle()
        #expect(!bench.target.isRead)
        var reader = first
        reader.hear()
        first.socket.lose()
        _ = try reader.resumed(on: loop)
        #expect(!bench.target.isRead)
        bench.network.wait(1 * second)
        #expect(!bench.target.isRead)
        bench.network.wait(2 * second)
        #expect(bench.target.isRead)
    }

    @Test(arguments: [0, 1]) func `a resume doesn't prolong the life of a session`(loop: Int) throws {
        let bench = try Bench { $0.session.sessionTimeout = 100 * second }
        var player = try bench.player()
        for _ in 0..<9 {
            bench.network.wait(11 * second)
            player = try player.resumed(on: loop)
        }
        #expect(bench.endings.isEmpty)
        bench.network.wait(1 * second)
        #expect(player.closeReason == "session_timeout")
        bench.target.end()
        bench.network.settle()
        #expect(bench.endings == ["session_timeout"])
    }

    @Test(arguments: [0, 1]) func `messages behind a resume are processed after it, in order`(loop: Int) throws {
        let bench = try Bench()
        let first = try bench.player()
        let next = try first.again(on: loop)
        next.socket.send(text: first.resumeMessage)
        for word in ["a", "b", "c"] { next.socket.send(text: #"{"type":"input","text":"\#(word)"}"#) }
        // The first turn of the loop brings them all, before anything moves.
        bench.network.run(on: bench.loops[loop]) { while next.socket.deliver() {} }
        bench.network.settle()
        #expect(bench.target.text == "abc")
    }

    @Test(arguments: [0, 1]) func `a live session is taken over and its previous client is told`(loop: Int) throws {
        let bench = try Bench()
        let first = try bench.player()
        first.socket.answersClose = false
        var second = try first.resumed(on: loop)
        #expect(first.closeCode == 1008 && first.closeReason == "session_replaced")
        bench.target.send("once")
        second.hear()
        #expect(second.text == "once")
        // Its connection is waited for, and counts as a session, until it has answered or its time is over.
        #expect(bench.sessionCount == 2 && bench.leases.count == 2)
        bench.network.wait(bench.settings.session.closeFlush)
        #expect(first.socket.isClosed && bench.sessionCount == 1 && bench.leases.count == 1)
        #expect(bench.endings.isEmpty && second.socket.closeFrame == nil)
    }

    @Test(arguments: [0, 1]) func `a client whose session was taken over can't use it any more`(loop: Int) throws {
        let bench = try Bench()
        let first = try bench.player()
        first.socket.answersClose = false
        let second = try first.resumed(on: loop)
        first.socket.reads = false
        first.say(#"{"type":"input","text":"old"}"#)
        first.socket.lose()
        second.type("new")
        #expect(bench.target.text == "new" && second.socket.closeFrame == nil)
        #expect(bench.endings.isEmpty)
    }

    @Test func `a client may take its own session over again and again, on either loop`() throws {
        let bench = try Bench()
        var player = try bench.player()
        for round in 0..<20 {
            player = try player.resumed(on: round % 2)
            bench.target.send("\(round),")
            player.hear()
        }
        #expect(player.text == (0..<20).map { "\($0)," }.joined())
        #expect(bench.sessionCount == 1 && bench.leases.count == 1 && bench.target.moves == 19)
    }

    @Test(arguments: [0, 1]) func `two clients that resume at once are served one after the other`(loop: Int) throws {
        let bench = try Bench()
        let first = try bench.player()
        var others = [try first.again(on: 1), try first.again(on: loop)]
        for client in others { client.socket.send(text: first.resumeMessage) }
        for _ in 0..<3 {
            bench.network.wait(20 * millisecond)
            for index in others.indices { others[index].hear() }
        }
        #expect(others.allSatisfy { $0.types.first == "resumed" })
        #expect(others.count { $0.socket.closeFrame == nil } == 1)
        #expect(bench.sessionCount == 1)
    }

    @Test(arguments: ["typed", "gmcp"]) func `an upgrade may name the session itself`(dialect: String) throws {
        let bench = try Bench()
        let first = try bench.player()
        first.socket.lose()
        let kind = try #require(DialectKind(rawValue: dialect))
        let next = try bench.client(kind, on: 1, resuming: first.resumeRequest)
        bench.network.settle()
        // A session goes on in the dialect that it has.
        #expect(next.socket.closeFrame?.reason == (kind == .typed ? nil : "invalid_resume"))
        #expect(bench.log.lines(of: "session resumed").count == (kind == .typed ? 1 : 0))
    }

    @Test func `a wrong token and an unknown session are refused, and the client may connect`() throws {
        let bench = try Bench()
        let first = try bench.player()
        let wrong = first.resumeMessage.replacing(first.token, with: String(repeating: "0", count: 64))
        let unknown = first.resumeMessage.replacing(first.sessionID, with: "nothing")
        for (message, code) in [(wrong, "invalid_resume"), (unknown, "session_expired")] {
            var other = try bench.client()
            other.say(message)
            other.hear()
            #expect(other.errors == [code])
            other.say(#"{"type":"connect","host":"mud.example","port":4000}"#)
            other.hear()
            #expect(other.types.last == "session")
        }
        #expect(first.socket.closeFrame == nil)
    }

    @Test func `if the target can't be moved the session stays where it is, with its client`() throws {
        let bench = try Bench()
        var first = try bench.player()
        bench.target.canMove = false
        var other = try first.resumed(on: 1)
        #expect(other.errors == ["rate_limited"])
        bench.target.send("still here")
        first.hear()
        #expect(first.text == "still here")
        bench.target.canMove = true
        other.say(first.resumeMessage)
        other.hear()
        #expect(other.types.last == "resumed")
    }

    @Test func `a client that was blocked meanwhile can't resume its session`() throws {
        let bench = try Bench()
        let first = try bench.player(from: "192.0.2.1")
        first.socket.lose()
        let other = try first.again(from: "192.0.2.9")
        let list = try BlockList.of("address 192.0.2.9")
        bench.gate = bench.gate.changed { $0.blockList = list }
        other.say(first.resumeMessage)
        #expect(other.socket.messages.last?.text.contains("invalid_resume") == true)
        #expect(bench.log.lines(of: "resume refused").count == 1)
    }

    @Test func `a password prompt and an unread queue don't prevent a resume`() throws {
        let bench = try Bench()
        let first = try bench.player()
        first.socket.reads = false
        // Base64 makes a third more of it.
        for _ in 0..<4 { bench.target.send([UInt8](repeating: 0x62, count: 60_000)) }
        bench.network.settle()
        #expect(!bench.target.isRead)
        var second = try first.resumed(on: 1)
        second.hear()
        #expect(bench.target.isRead && bench.target.unreadBytes == 0)
        #expect(second.text.count + 51_200 >= 240_000 || second.gaps == 1)
    }
}
