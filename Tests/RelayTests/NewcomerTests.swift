import Admission
import Observability
import Reactors
import RelayCore
import Testing
import WireText

@testable import Relay

/// A client whose session hasn't begun.
struct NewcomerTests {
    private static let connect = #"{"type":"connect","host":"mud.example","port":4000}"#

    /// What is known of the client.
    enum Knowledge: CaseIterable {
        /// Not its dialect; the MUD has to speak first, and is connected.
        case nothing
        /// Not its dialect; nothing is dialled, because it may come back to a session.
        case maybeComesBack
        /// Its dialect; it may name a target, or a session.
        case dialect
        /// Its dialect and its target, which isn't connected yet.
        case target
    }

    private let bench: Bench

    init() throws { bench = try Bench() }

    private func newcomer(_ knowledge: Knowledge) throws -> TestClient {
        switch knowledge {
        case .nothing:
            let client = try bench.client(nil)
            bench.network.settle()
            return client
        case .maybeComesBack:
            try bench.player().socket.lose()
            let client = try bench.client(nil)
            bench.network.settle()
            #expect(bench.network.targets.count == 1)
            return client
        case .dialect: return try bench.client(.typed)
        case .target:
            bench.network.answer = .hangs
            let client = try bench.client(.typed)
            client.say(Self.connect)
            return client
        }
    }

    private func expectClosed(_ client: TestClient, _ reason: CloseReason, _ word: String) {
        bench.network.settle()
        #expect(client.closeCode == reason.code && client.closeReason == reason.text && client.closesOnce)
        client.socket.lose()
        for target in bench.network.targets { target.end() }
        bench.network.wait(20 * second)
        #expect(bench.isEmpty && bench.endings.allSatisfy { $0 == word } && !bench.endings.isEmpty)
    }

    private func sum(_ name: MetricName, _ labels: [String: String] = [:]) -> Int {
        TallyTotals(bench.settings.metrics.tally.entries).sum(name, labels)
    }

    // MARK: Limits and ends

    @Test(arguments: Knowledge.allCases) func `holds a lease and counts as a session, but is none`(
        knowledge: Knowledge
    ) throws {
        let client = try newcomer(knowledge)
        let others = knowledge == .maybeComesBack ? 1 : 0
        #expect(client.newcomer != nil && client.session == nil)
        #expect(client.newcomer?.globalLease != nil && bench.leases.count == others + 1)
        #expect(bench.sessionCount == others + 1)
        #expect(sum(.sessionsOpened) - sum(.sessionsEnded) == others + 1)
        client.socket.lose()
        bench.network.wait(20 * second)
        #expect(bench.leases.count == others && bench.sessionCount == others)
    }

    @Test(arguments: [Knowledge.nothing, .target]) func `counts among its address' sessions once a MUD is dialled`(
        knowledge: Knowledge
    ) throws {
        let bench = try Bench { $0.leases = SessionLeaseLimits(perDevice: 100, perAddress: 1) }
        bench.network.answer = .hangs
        let first = try bench.client(knowledge == .nothing ? nil : .typed)
        if knowledge == .target { first.say(Self.connect) }
        let second = try bench.client(.raw)
        bench.network.settle()
        #expect(first.closeCode == nil && second.closeCode == CloseReason.tooManySessions.code)
        #expect(bench.network.targets.count == 1)
    }

    @Test(arguments: Knowledge.allCases) func `is closed by a revocation`(knowledge: Knowledge) throws {
        let client = try newcomer(knowledge)
        bench.onEachTable { $0.close(.deviceBlocked) { principal, _ in principal.identity == .anonymous } }
        expectClosed(client, .deviceBlocked, "device_blocked")
    }

    @Test(arguments: Knowledge.allCases) func `is closed by the block list, and nobody else`(
        knowledge: Knowledge
    ) throws {
        let client = try newcomer(knowledge)
        bench.onEachTable { $0.close(.deviceBlocked) { _, address in address.text == "198.51.100.7" } }
        #expect(client.closeCode == nil)
        bench.onEachTable { $0.close(.deviceBlocked) { _, address in address.text == "192.0.2.1" } }
        expectClosed(client, .deviceBlocked, "device_blocked")
    }

    @Test(arguments: Knowledge.allCases) func `is closed when its credential expires`(knowledge: Knowledge) throws {
        let client = try newcomer(knowledge)
        bench.onEachTable { $0.close(.sessionExpired) { principal, _ in principal.identity == .anonymous } }
        expectClosed(client, .sessionExpired, "session_expired")
    }

    @Test(arguments: Knowledge.allCases) func `is closed at the end of a drain`(knowledge: Knowledge) throws {
        let client = try newcomer(knowledge)
        bench.drain.beginDraining()
        bench.onEachTable { $0.beginDraining() }
        #expect(client.closeCode == nil)
        bench.onEachTable { $0.close(.shuttingDown) }
        expectClosed(client, .shuttingDown, "shutting_down")
    }

    @Test func `is raw at its deadline, and its MUD is dialled then if it wasn't`() throws {
        let client = try newcomer(.maybeComesBack)
        bench.network.wait(DialectChooser.defaultWait - millisecond)
        #expect(client.newcomer?.isUndecided == true && bench.network.targets.count == 1)
        bench.network.wait(5 * millisecond)
        #expect(bench.network.targets.count == 2 && client.session?.passesUnchanged == true)
        bench.target.send("Welcome")
        bench.network.settle()
        #expect(client.socket.messages.map(\.text) == ["Welcome"])
    }

    @Test func `is closed at its deadline if it names no target`() throws {
        let client = try newcomer(.dialect)
        bench.network.wait(bench.settings.dialects.connectWait)
        expectClosed(client, .noTargetNamed, "no_target_named")
    }

    @Test(arguments: [
        (Knowledge.nothing, MoveReadiness.undecided), (.maybeComesBack, .undecided), (.dialect, .staying),
        (.target, .undecided),
    ])
    func `is waited for by a process that another one replaces, unless it can begin anew`(
        knowledge: Knowledge, readiness: MoveReadiness
    ) throws {
        let client = try newcomer(knowledge)
        let found = bench.network.run(on: bench.loops[0]) {
            client.newcomer?.prepareToMove(by: bench.tables[0].gate.carrier)
        }
        #expect(found == readiness)
        #expect(client.closeCode == (readiness == .staying ? CloseReason.gatewayUpgrading.code : nil))
    }

    /// What it has typed was accepted.
    @Test func `that leaves before its target is connected is heard to its end`() throws {
        bench.network.answer = .hangs
        let client = try bench.client(.raw)
        client.say("look")
        client.socket.lose()
        bench.network.run(on: bench.loops[0]) { bench.target.connect() }
        bench.network.settle()
        #expect(bench.target.text == "look" && bench.target.hasSeenEnd)
        bench.target.end()
        bench.network.settle()
        #expect(bench.endings == ["client_lost"] && bench.isEmpty)
    }

    @Test func `that is closed while its target is dialled ends once`() throws {
        bench.network.answer = .hangs
        let client = try bench.client(.raw)
        client.say("look")
        bench.onEachTable { $0.close(.deviceBlocked) }
        #expect(client.closeCode == nil, "what it has typed is written first")
        bench.network.run(on: bench.loops[0]) { bench.target.connect() }
        bench.network.settle()
        #expect(bench.target.text == "look")
        expectClosed(client, .deviceBlocked, "device_blocked")
    }

    // MARK: A resume

    @Test(arguments: [0, 1]) func `has no session of its own if it resumes one`(loop: Int) throws {
        let first = try bench.player()
        let session = try #require(first.session)
        let second = try first.again(on: loop)
        #expect(second.session == nil)
        second.say(first.resumeMessage)
        #expect(second.session === session && second.newcomer == nil && second.link.arrival == nil)
        #expect(sum(.sessionsOpened) == 2 && sum(.sessionsEnded, ["reason": "session_replaced"]) == 1)
        #expect(bench.endings.isEmpty && bench.sessionCount == 1 && bench.leases.count == 1)
    }

    /// It comes from another address, so nobody knew that it would.
    @Test func `leaves the MUD that was dialled for it if it resumes a session`() throws {
        var first = try bench.player()
        let session = try #require(first.session)
        first.socket.lose()
        let other = try bench.client(nil, from: "198.51.100.7")
        bench.network.settle()
        let dialled = bench.target
        dialled.send("Welcome")
        #expect(bench.network.targets.count == 2 && dialled.isConnected)
        other.say(first.resumeMessage)
        first = TestClient(link: other.link, socket: other.socket, bench: bench)
        first.hear()
        #expect(first.types.first == "resumed" && first.text.isEmpty && first.session === session)
        #expect(dialled.isClosed && bench.sessionCount == 1 && bench.leases.count == 1)
    }

    @Test(arguments: [0, 1]) func `may still resume a session when it has asked for a target that can't be reached`(
        loop: Int
    ) throws {
        let first = try bench.player()
        let session = try #require(first.session)
        first.socket.lose()
        bench.network.answer = .fails(.notConnected("refused"))
        var other = try first.again(on: loop)
        other.say(Self.connect)
        other.hear()
        #expect(other.errors.count == 1 && other.session == nil && other.newcomer != nil)
        other.say(first.resumeMessage)
        other.hear()
        #expect(other.types.last == "resumed" && other.session === session)
        #expect(bench.sessionCount == 1 && bench.leases.count == 1)
    }

    // MARK: Its session

    @Test func `has a session once its target is connected, with all that has been counted`() throws {
        let client = try newcomer(.target)
        client.type("north")
        let newcomer = try #require(client.newcomer)
        bench.network.wait(3 * second)
        bench.network.run(on: bench.loops[0]) { bench.target.connect() }
        bench.network.settle()
        let session = try #require(client.session)
        #expect(bench.target.text.contains("north") && client.newcomer == nil && newcomer.isOver)
        #expect(session.openedAt == newcomer.openedAt && session.dialCount == 1)
        #expect(session.counters.bytesFromClient == client.socket.payloadRead)
        #expect(session.globalLease != nil && newcomer.globalLease == nil && bench.leases.count == 1)
        #expect(bench.sessionCount == 1 && sum(.sessionsOpened) == 1 && sum(.sessionsEnded) == 0)
    }

    /// A session of a hundred lines and telnet commands takes more than one turn to tell them.
    @Test(arguments: [3, 100]) func `tells all that its MUD said, though that ended before the choice`(
        lines: Int
    ) throws {
        let expected = (0..<lines).map { "line \($0)\r\n" }
        var client = try newcomer(.nothing)
        for line in expected { bench.target.send(Array(line.utf8) + [0xFF, 0xF9]) }
        bench.target.end()
        bench.network.settle()
        client.say(Self.connect)
        bench.network.wait(second)
        client.hear()
        #expect(client.text == expected.joined() && client.types.last == "disconnected")
        expectClosed(client, .targetClosed, EndReason.targetClosed.rawValue)
    }

    @Test func `is visited once by a walk during which its session begins`() throws {
        bench.network.answer = .hangs
        for _ in 0..<100 { _ = try bench.client(.raw) }
        var found: [String]?
        bench.network.run(on: bench.loops[0]) {
            SessionSurvey(bench.tables[0], on: bench.loops[0], into: [String](), slice: 0) {
                $0.append($1.client.session)
            } done: {
                found = $0
            }.advance()
            for target in bench.network.targets { target.connect() }
        }
        bench.network.settle()
        #expect(found?.count == 100 && Set(found ?? []).count == 100)
    }
}
