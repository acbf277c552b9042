import RelayCore
import Testing

@testable import Relay

/// A side that doesn't read keeps the other one waiting, and costs no more memory than the marks say.
struct BackPressureTests {
    private let bench: Bench

    init() throws {
        bench = try Bench {
            $0.session.clientBufferBytes = 10_000
            $0.session.targetBufferBytes = 10_000
        }
    }

    @Test(arguments: [DialectKind.raw, .typed]) func `a client that doesn't read pauses its target and loses nothing`(
        dialect: DialectKind
    ) throws {
        var client = dialect == .raw ? try bench.client(.raw) : try bench.player()
        bench.network.settle()
        client.socket.reads = false
        bench.target.pieceBytes = 1_000
        let text = String(repeating: "0123456789", count: 10_000)
        bench.target.send(text)
        bench.network.settle()
        #expect(!bench.target.isRead && bench.target.unreadBytes > 80_000)
        // One read more than the mark, in base64 and JSON.
        #expect(client.socket.queuedBytes > 10_000 && client.socket.queuedBytes <= 10_000 + 2_000)
        client.socket.read(2)
        bench.network.settle()
        client.socket.reads = true
        client.hear()
        let heard = dialect == .raw ? client.socket.messages.map(\.text).joined() : client.text
        #expect(heard == text && bench.target.isRead)
    }

    @Test(arguments: [DialectKind.raw, .typed]) func `a target that doesn't read pauses its client and loses nothing`(
        dialect: DialectKind
    ) throws {
        let client = dialect == .raw ? try bench.client(.raw) : try bench.player()
        bench.network.settle()
        bench.target.reads = false
        let word = String(repeating: "w", count: 500)
        let message = dialect == .raw ? word : #"{"type":"input","text":"\#(word)"}"#
        for _ in 0..<100 { client.socket.send(text: message) }
        bench.network.settle()
        #expect(!client.socket.isRead && client.socket.unreadCount > 70)
        #expect(bench.target.queuedBytes > 10_000 && bench.target.queuedBytes <= 10_500)
        bench.target.read(5_600)
        #expect(client.socket.isRead)
        bench.target.reads = true
        bench.network.settle()
        #expect(bench.target.text == String(repeating: "w", count: 50_000))
    }

    @Test func `a client that sends before its target is connected is paused and loses nothing`() throws {
        bench.network.answer = .hangs
        let client = try bench.client(.typed)
        client.say(#"{"type":"connect","host":"mud.example","port":4000}"#)
        let words = (0..<400).map { "[\($0)\(String(repeating: "x", count: 100))]" }
        for word in words { client.socket.send(text: #"{"type":"input","text":"\#(word)"}"#) }
        bench.network.settle()
        #expect(!client.socket.isRead && client.socket.unreadCount > 100)
        bench.network.run(on: bench.loops[0]) { bench.target.connect() }
        bench.network.settle()
        #expect(bench.target.text == words.joined())
        #expect(client.socket.isRead && !client.socket.messages.contains { $0.text.contains("error") })
    }

    @Test func `a target that sends before the dialect is known waits, in bounded memory`() throws {
        let client = try bench.client(nil)
        bench.network.settle()
        bench.target.pieceBytes = 4_096
        bench.target.send([UInt8](repeating: 0x61, count: 100_000))
        bench.network.settle()
        #expect(!bench.target.isRead && bench.target.unreadBytes >= 100_000 - DialectChooser.maximumHeldOutput - 4_096)
        #expect(client.socket.messages.isEmpty)
        bench.network.wait(bench.settings.dialects.wait + 2 * millisecond)
        #expect(client.socket.messages.reduce(0) { $0 + $1.bytes.count } == 100_000)
    }

    @Test func `a target is read until the output held for an undecided client has reached its limit`() throws {
        let client = try bench.client(nil)
        bench.network.settle()
        bench.target.send([UInt8](repeating: 0x61, count: DialectChooser.maximumHeldOutput - 1))
        bench.network.settle()
        #expect(bench.target.isRead && bench.target.unreadBytes == 0)
        bench.target.send("a")
        bench.network.settle()
        #expect(!bench.target.isRead && client.socket.messages.isEmpty)
        bench.network.wait(bench.settings.dialects.wait + 2 * millisecond)
        #expect(bench.target.isRead)
        #expect(client.socket.messages.reduce(0) { $0 + $1.bytes.count } == DialectChooser.maximumHeldOutput)
    }

    @Test func `a client that reads too slowly loses its connection and keeps its session`() throws {
        var client = try bench.player()
        client.socket.reads = false
        bench.target.send([UInt8](repeating: 0x61, count: 30_000))
        bench.network.wait(bench.settings.session.slowClient - 1)
        #expect(!client.socket.isClosed)
        bench.network.wait(1)
        #expect(client.socket.isClosed && bench.log.lines(of: "session detached").count == 1)
        client.hear()
        let next = try client.resumed()
        #expect(next.text.count == 30_000)
    }

    /// Bytes waiting here aren't bytes that the client has read.
    @Test func `a client that reads almost nothing is too slow, whatever the queue's length`() throws {
        let bench = try Bench {
            $0.session.clientBufferBytes = 10_000
            // So that messages are small.
            $0.dialects.outputBufferBytes = 4_096
        }
        let client = try bench.player()
        client.socket.reads = false
        bench.target.pieceBytes = 30_000
        bench.target.send([UInt8](repeating: 0x61, count: 300_000))
        bench.network.settle()
        let patience = bench.settings.session.slowClient
        for _ in 0..<3 {
            bench.network.wait(patience / 3 - 1)
            #expect(!client.socket.isClosed)
            client.socket.read(1)
        }
        bench.network.wait(3)
        #expect(client.socket.isClosed)
    }

    @Test(arguments: [true, false]) func `a target that sends a lot at once doesn't starve the others`(
        isAttached: Bool
    ) throws {
        let bench = try Bench()
        let loud = try bench.player()
        if !isAttached { loud.socket.lose() }
        bench.network.settle()
        let target = bench.target
        // Each of these is an event of its own.
        for _ in 0..<20_000 { target.send([255, 251, 1, 255, 252, 1]) }
        bench.network.run(on: bench.loops[0]) { _ = target.deliver() }
        #expect(!target.isRead)
        bench.network.settle()
        #expect(target.isRead && target.unreadBytes == 0)
    }

    @Test func `a client that sends too fast isn't read until its allowance has recovered`() throws {
        let bench = try Bench { $0.traffic.clientBytesPerSecond = 1_000 }
        let client = try bench.client(.raw)
        for _ in 0..<5 { client.socket.send(text: String(repeating: "b", count: 800)) }
        bench.network.settle()
        #expect(!client.socket.isRead && bench.target.received.count == 1_600)
        bench.network.wait(3 * second)
        bench.network.wait(3 * second)
        #expect(bench.target.received.count == 4_000)
    }

    @Test func `frames and reads without content use up a client's bytes`() throws {
        let bench = try Bench { $0.traffic.clientBytesPerSecond = 10 * TrafficMeter.stepBytes }
        let client = try bench.client(.raw)
        bench.network.run(on: bench.loops[0]) {
            for _ in 0..<10 { client.link.webSocketWasRead(octets: 0, steps: 1) }
        }
        #expect(client.socket.isRead)
        bench.network.run(on: bench.loops[0]) { client.link.webSocketWasRead(octets: 1, steps: 0) }
        #expect(!client.socket.isRead)
        bench.network.wait(second / 9)
        #expect(client.socket.isRead)
    }

    @Test func `a target's commands use up its bytes, whatever they contain`() throws {
        let count = 20
        // A read, and the two commands of each round.
        let price = (1 + 2 * count) * PacingBucket.targetStepBytes + 6 * count
        for (rate, isRead) in [(price, true), (price - 1, false)] {
            let bench = try Bench { $0.traffic.targetBytesPerSecond = rate }
            _ = try bench.player()
            bench.network.wait(2 * second)
            for _ in 0..<count { bench.target.send([255, 251, 1, 255, 252, 1]) }
            bench.network.settle()
            #expect(bench.target.isRead == isRead && bench.target.unreadBytes == 0)
            bench.network.wait(second)
            #expect(bench.target.isRead)
        }
    }

    @Test func `a target's TLS records use up its bytes`() throws {
        let bench = try Bench { $0.traffic.targetBytesPerSecond = 10 * PacingBucket.targetStepBytes }
        let client = try bench.client(.raw)
        bench.network.wait(2 * second)
        bench.network.run(on: bench.loops[0]) { client.session?.targetDecrypted(records: 10) }
        #expect(bench.target.isRead)
        bench.network.run(on: bench.loops[0]) { client.session?.targetDecrypted(records: 1) }
        #expect(!bench.target.isRead)
        bench.network.wait(second)
        #expect(bench.target.isRead)
    }

    /// Each negotiation is answered, so the answers count the commands that were translated.
    @Test func `a target's commands are translated up to a bound, and the rest after the other sessions`() throws {
        let bench = try Bench()
        _ = try bench.player()
        bench.network.settle()
        let target = bench.target
        let before = target.received.count + target.queuedBytes
        for _ in 0..<TurnBudget.maximumSteps { target.send([255, 251, 1, 255, 252, 1]) }
        bench.network.run(on: bench.loops[0]) { _ = target.deliver() }
        #expect(target.received.count + target.queuedBytes - before == 3 * TurnBudget.maximumSteps)
        #expect(!target.isRead)
        bench.network.settle()
        #expect(target.received.count + target.queuedBytes - before == 6 * TurnBudget.maximumSteps)
        #expect(target.isRead)
    }

    @Test func `a ping costs a client as much as a message`() throws {
        let bench = try Bench { $0.traffic.messagesPerSecond = 5 }
        let client = try bench.client(.raw)
        bench.network.run(on: bench.loops[0]) {
            for _ in 0..<6 { client.link.webSocketReceivedControlFrame(bytes: 0) }
        }
        #expect(!client.socket.isRead)
    }
}
