import Admission
import RelayCore
import Testing

@testable import Relay

/// A whole session under random events: with its translation, what is pending, its pauses and its deadlines, its
/// connections one after the other on two loops.
struct RandomWalkTests {
    @Test(arguments: UInt64(0)..<60) func `nothing is lost or doubled under random connection losses`(
        seed: UInt64
    ) throws {
        var walk = try Walk(seed: seed)
        for _ in 0..<250 where !walk.hasEnded { walk.step() }
        try walk.comeBack()
        #expect(walk.problems.isEmpty, "\(walk.problems) after \(walk.trace.suffix(40))")
        #expect(walk.player.gaps == 0 && walk.player.text == walk.said)
        #expect(walk.target.text == walk.typed)
        #expect(walk.bench.sessionCount == 1 && walk.bench.leases.count == 1)
    }

    @Test(arguments: UInt64(0)..<120)
    func `in every state a session ends exactly once, in time, and leaves nothing behind`(
        seed: UInt64
    ) throws {
        var walk = try Walk(seed: 1_000 + seed)
        for _ in 0..<Int.random(in: 0...120, using: &walk.dice) { walk.step() }
        walk.end()
        let bench = walk.bench
        // Bytes queued at the beginning of the end may take the limit on both sides, one after the other.
        bench.network.wait(2 * bench.settings.session.closeFlush)
        #expect(walk.problems.isEmpty, "\(walk.problems) after \(walk.trace.suffix(40))")
        #expect(
            bench.isEmpty, "\(bench.sessionCount) sessions, \(bench.leases.count) leases after \(walk.trace.suffix(40))"
        )
        #expect(walk.connections.allSatisfy { $0.socket.closesOrdered <= 1 }, "\(walk.trace.suffix(40))")
        #expect(walk.target.isClosed && bench.network.targets.count == 1)
        #expect(bench.endings.count { $0 == walk.expectedEnd } >= 1, "\(bench.endings), not \(walk.expectedEnd)")
        #expect(walk.said.hasPrefix(walk.player.text) && walk.typed.hasPrefix(walk.target.text))
    }
}

/// A player, a MUD, and what must hold of them.
private struct Walk {
    let bench: Bench
    var dice: SeededGenerator
    private(set) var player: TestClient
    private(set) var connections: [TestClient] = []
    /// All that the MUD has sent.
    private(set) var said = ""
    /// All that the player has typed.
    private(set) var typed = ""
    private(set) var problems: [String] = []
    private(set) var trace: [String] = []
    private(set) var expectedEnd = ""
    private var inputs: [String] = []
    /// On the current connection the session has been asked for, and what wasn't acknowledged has been sent again.
    private var isBack = true
    private let clientMark: Int
    private let targetMark: Int

    init(seed: UInt64) throws {
        dice = SeededGenerator(seed: seed)
        let marks = [500, 4_000, 65_536]
        let (client, target) = (marks.randomElement(using: &dice) ?? 500, marks.randomElement(using: &dice) ?? 500)
        let rate = Int.random(in: 0...2, using: &dice) == 0 ? 20 : 0
        bench = try Bench {
            $0.session.clientBufferBytes = client
            $0.session.targetBufferBytes = target
            $0.dialects.outputBufferBytes = 1 << 22
            $0.dialects.tellsTargetOfClient = false
            $0.traffic.messagesPerSecond = rate
            $0.traffic.targetBytesPerSecond = rate * 1_000
        }
        (clientMark, targetMark) = (client, target)
        player = try bench.player()
        connections = [player]
        bench.target.pieceBytes = [7, 300, 65_536].randomElement(using: &dice) ?? 7
    }

    var target: MemoryTarget { bench.target }
    var hasEnded: Bool { bench.network.targets[0].isClosed }

    mutating func step() {
        switch Int.random(in: 0..<20, using: &dice) {
        case 0..<4: mudSends()
        case 4..<7: playerTypes()
        case 7: set("client reads") { $0.player.socket.reads.toggle() }
        case 8: set("target reads") { $0.target.reads.toggle() }
        case 9: set("client reads one") { $0.player.socket.read(1) }
        case 10: set("target reads some") { $0.target.read(100) }
        case 11: wait([1, millisecond, second, 20 * second].randomElement(using: &dice) ?? 1)
        case 12: lose()
        case 13: takeOver()
        case 14: set("one loop") { $0.turnOfOneLoop() }
        default: settle()
        }
    }

    private mutating func set(_ what: String, _ body: (inout Walk) -> Void) {
        trace.append(what)
        body(&self)
        listen()
    }

    private mutating func mudSends() {
        let text = "<\(said.count):\(String(repeating: "m", count: Int.random(in: 0...400, using: &dice)))>"
        said += text
        target.send(text)
        trace.append("MUD sends \(text.count)")
    }

    /// A player without a connection waits for one before typing.
    private mutating func playerTypes() {
        let text = "[\(inputs.count)]"
        inputs.append(text)
        typed += text
        if isBack, !player.socket.isClosed { send(inputs.count) }
        trace.append("player types \(text)")
    }

    private func send(_ cid: Int) {
        player.socket.send(text: #"{"type":"input","text":"\#(inputs[cid - 1])","cid":\#(cid)}"#)
    }

    private mutating func wait(_ time: UInt64) {
        trace.append("wait \(time)")
        bench.network.wait(time)
        listen()
        check()
    }

    private mutating func settle() {
        trace.append("settle")
        bench.network.settle()
        listen()
        check()
        if !isBack || player.socket.isClosed { leaveAndConnect() }
    }

    private mutating func turnOfOneLoop() {
        let connection = connections.randomElement(using: &dice)
        switch Int.random(in: 0..<3, using: &dice) {
        case 0: _ = connection?.socket.deliver()
        case 1: _ = target.deliver()
        default: bench.network.turn(of: bench.loops[Int.random(in: 0...1, using: &dice)])
        }
    }

    private mutating func lose() {
        listen()
        trace.append("lose")
        switch Int.random(in: 0..<3, using: &dice) {
        case 0: player.socket.close([nil, 1000, 1001].randomElement(using: &dice) ?? nil)
        default: player.socket.lose()
        }
        isBack = false
    }

    /// The player comes over another connection. The gateway doesn't know yet that nothing goes over the one before any
    /// more.
    private mutating func takeOver() {
        listen()
        isBack = false
        player.socket.vanish()
        connect()
    }

    /// On a connection without a session there is nothing to wait for.
    private mutating func leaveAndConnect() {
        player.socket.lose()
        connect()
    }

    private mutating func connect() {
        let loop = Int.random(in: 0...1, using: &dice)
        trace.append("connect on \(loop)")
        do {
            player = try player.again(on: loop)
        } catch {
            problems.append("no connection")
        }
        connections.append(player)
        isBack = true
        player.socket.send(text: player.resumeMessage)
        // One that was acknowledged is not sent again.
        for cid in inputs.indices.map({ $0 + 1 }) where !player.acknowledged.contains(cid) { send(cid) }
    }

    private mutating func listen() {
        let errors = player.errors.count
        player.listen()
        // Not now: it tries again.
        if player.errors.count > errors { isBack = false }
        for error in player.errors.dropFirst(errors) where error != "rate_limited" { problems.append(error) }
    }

    /// The invariants whenever the loops are idle.
    private mutating func check() {
        for (index, connection) in connections.enumerated() {
            // One event in base64; and what is said again after a resume.
            let more = 12_000 + (index > 0 ? 2 * said.utf8.count + 10_000 : 0)
            let (queued, pending) = (connection.socket.queuedBytes, connection.link.stage?.pending.count ?? 0)
            if queued > clientMark + more { problems.append("\(queued) bytes wait for connection \(index)") }
            if pending > clientMark + target.pieceBytes { problems.append("\(pending) bytes are pending") }
        }
        if target.queuedBytes > targetMark + 3_000 {
            problems.append("\(target.queuedBytes) bytes wait for the target")
        }
        let sessions = Set(connections.compactMap { $0.link.stage.map(ObjectIdentifier.init) })
        if bench.sessionCount < sessions.count { problems.append("a session isn't in a table") }
        for connection in connections where connection.link.resumption?.isMoving == true {
            problems.append("a session is still on its way")
        }
        for connection in connections where connection.socket.closesOrdered > 1 { problems.append("closed twice") }
    }

    /// In the end both sides read, and the player is there.
    mutating func comeBack() throws {
        target.reads = true
        player.socket.reads = true
        for _ in 0..<20 {
            bench.network.wait(10 * second)
            listen()
            if isBack, !player.socket.isClosed, player.types.contains("resumed") || connections.count == 1 { break }
            leaveAndConnect()
        }
        // Connections that vanished before they asked for anything are closed meanwhile.
        bench.network.wait(bench.settings.dialects.connectWait + 2 * bench.settings.session.closeFlush)
        listen()
    }

    // MARK: Ends

    mutating func end() {
        player.listen()
        // Nobody answers any more than they did.
        switch Int.random(in: 0..<4, using: &dice) {
        case 0:
            trace.append("target ends")
            target.end()
            target.reads = true
            expectedEnd = "target_closed"
            // Pauses of both kinds hold up a FIN.
            for connection in connections { connection.socket.reads = true }
            bench.network.wait(200 * second)
        case 1:
            trace.append("target breaks")
            target.breakDown()
            expectedEnd = "target_lost"
            for connection in connections { connection.socket.reads = true }
            bench.network.wait(200 * second)
        case 2:
            trace.append("revoked")
            bench.onEachTable { $0.close(.deviceBlocked) }
            expectedEnd = "device_blocked"
        default:
            trace.append("shut down")
            bench.drain.beginDraining()
            bench.onEachTable { $0.beginDraining() }
            bench.onEachTable { $0.close(.shuttingDown) }
            expectedEnd = "shutting_down"
        }
        for connection in connections { connection.socket.lose() }
        bench.network.settle()
        bench.onEachTable { $0.close(.shuttingDown) }
    }
}
