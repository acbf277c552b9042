import Admission
import RelayCore
import Testing

@testable import Reactors
@testable import Relay

/// Events while a session moves from one loop to another.
struct MovingTests {
    /// A player on the first loop, and another connection of its on the second that has asked for the session: the job
    /// that asks the first loop has not run yet.
    private struct Move {
        let bench: Bench
        let first: TestClient
        let next: TestClient

        init(closing: Bool = false) throws {
            bench = try Bench()
            let first = try bench.player()
            self.first = first
            if closing { first.socket.lose() }
            next = try first.again(on: 1)
            next.socket.send(text: first.resumeMessage)
            #expect(next.socket.deliver())
            #expect(next.link.resumption?.isMoving == true && !next.socket.isRead)
        }
    }

    @Test func `a client that is lost meanwhile leaves the session detached and may resume`() throws {
        let move = try Move()
        move.next.socket.lose()
        move.bench.network.settle()
        #expect(move.bench.sessionCount == 1 && move.bench.leases.count == 1)
        #expect(move.first.closeReason == "session_replaced")
        #expect(move.bench.log.lines(of: "session detached").count == 1)
        var third = try move.first.resumed(on: 0)
        move.bench.target.send("here")
        third.hear()
        #expect(third.text == "here" && move.bench.sessionCount == 1 && move.bench.leases.count == 1)
    }

    @Test func `a move doesn't wait for output that can't arrive`() throws {
        let move = try Move()
        move.next.socket.lose()
        move.bench.network.settle()
        move.bench.onEachTable { $0.close(.shuttingDown) }
        move.bench.target.end()
        move.bench.network.settle()
        #expect(move.bench.isEmpty)
    }

    @Test func `a shutdown ends the session on whichever loop it is`() throws {
        for closesFirst in [0, 1] {
            let move = try Move()
            for index in [closesFirst, 1 - closesFirst] {
                move.bench.network.run(on: move.bench.loops[index]) {
                    _ = move.bench.tables[index].close(.shuttingDown)
                }
            }
            move.bench.network.settle()
            move.bench.network.wait(10 * second)
            #expect(move.bench.target.hasSeenEnd && move.bench.isEmpty)
        }
    }

    @Test func `a shutdown waits for a session that is between two loops`() throws {
        let move = try Move(closing: true)
        // The first loop has handed it off.
        move.bench.network.turn(of: move.bench.loops[0])
        #expect(move.bench.tables[0].count == 0)
        move.next.socket.lose()
        #expect(move.bench.sessionCount == 1)
        move.bench.onEachTable { $0.close(.shuttingDown) }
        #expect(move.bench.target.hasSeenEnd)
        move.bench.target.end()
        move.bench.network.settle()
        #expect(move.bench.isEmpty && move.bench.endings.last == "shutting_down")
    }

    @Test func `a revocation meanwhile ends the session`() throws {
        let move = try Move(closing: true)
        move.bench.network.run(on: move.bench.loops[1]) { _ = move.bench.tables[1].close(.deviceBlocked) }
        move.bench.network.settle()
        move.bench.network.wait(10 * second)
        #expect(move.next.closeReason == "device_blocked")
        #expect(move.bench.isEmpty && move.bench.endings.allSatisfy { $0 == "device_blocked" })
    }

    @Test func `a session that ended before the resume is reported as expired`() throws {
        var move = try Move()
        move.bench.target.breakDown()
        var next = move.next
        next.hear()
        #expect(next.errors == ["session_expired"] && next.socket.isRead)
        #expect(move.bench.endings == ["target_lost"])
        move = try Move(closing: true)
        move.bench.network.run(on: move.bench.loops[0]) { _ = move.bench.tables[0].close(.sessionEvicted) }
        next = move.next
        next.hear()
        #expect(next.errors == ["session_expired"])
    }

    @Test func `input sent meanwhile is applied even if the client has left`() throws {
        let move = try Move()
        move.next.socket.send(text: #"{"type":"input","text":"late"}"#)
        // It came with the same read.
        move.bench.network.run(on: move.bench.loops[1]) {
            Array("{\"type\":\"input\",\"text\":\"held\"}".utf8).withUnsafeBytes {
                move.next.link.webSocketReceived(MessagePiece(bytes: $0, isText: true, isFirst: true, isLast: true))
            }
        }
        move.next.socket.lose()
        move.bench.network.settle()
        #expect(move.bench.target.text == "held")
    }

    @Test func `an evicted session can't be resumed, even before its eviction has run`() throws {
        let bench = try Bench { $0.leases.perAddress = 1 }
        let first = try bench.player()
        first.socket.lose()
        bench.network.wait(45 * 60 / 4 * second)
        // The job that tells it is on its way when its client asks for it on the other loop.
        let next = try first.again(on: 1)
        let newcomer = try bench.client(on: 0)
        newcomer.socket.send(text: #"{"type":"connect","host":"mud.example","port":4000}"#)
        next.socket.send(text: first.resumeMessage)
        #expect(newcomer.socket.deliver())
        bench.network.settle()
        bench.network.targets[0].end()
        bench.network.settle()
        #expect(bench.endings == ["session_evicted"])
        #expect(next.socket.messages.last?.text.contains("session_expired") == true)
    }
}

/// Another process is about to go on with a session.
struct SentAwayTests {
    @Test func `a client that is sent away is heard to its Close frame, and its session waits for it`() throws {
        let bench = try Bench()
        let player = try bench.player()
        player.socket.answersClose = false
        let readiness = bench.network.run(on: bench.loops[0]) {
            player.session?.prepareToMove(by: bench.tables[0].gate.carrier)
        }
        #expect(readiness == .leaving && player.closeCode == CloseReason.gatewayUpgrading.code)
        #expect(player.socket.inputLimit == bench.settings.session.closeFlush)
        player.type("late")
        #expect(bench.target.text == "late")
        player.socket.answersClose = true
        bench.network.settle()
        #expect(player.socket.isClosed && bench.endings.isEmpty && bench.sessionCount == 1)
    }
}
