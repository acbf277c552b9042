import Admission
import Reactors
import RelayCore
import Testing

@testable import Relay

/// What a client has asked for by its upgrade, which its link has for a while.
struct ArrivalTests {
    private static let connect = #"{"type":"connect","host":"mud.example","port":4000}"#

    private let bench: Bench

    init() throws { bench = try Bench() }

    private func connectTarget() {
        bench.network.run(on: bench.loops[0]) { bench.target.connect() }
        bench.network.settle()
    }

    @Test(arguments: [DialectKind.raw, .terminal, .gmcp]) func `is forgotten once the session is connected`(
        kind: DialectKind
    ) throws {
        bench.network.answer = .hangs
        let client = try bench.client(kind)
        bench.network.settle()
        #expect(client.link.arrival != nil && client.link.arrival?.globalLease == nil && bench.leases.count == 1)
        connectTarget()
        #expect(client.link.arrival == nil)
    }

    @Test func `is kept while the dialect isn't known, whether the target is connected or not`() throws {
        let client = try bench.client(nil)
        bench.network.settle()
        #expect(bench.target.isConnected && client.link.arrival?.isUndecided == true)
        client.say(#"{"type":"hello"}"#)
        #expect(client.link.arrival?.isUndecided == false && client.newcomer?.dialectKind == .typed)
        client.say(Self.connect)
        #expect(client.link.arrival == nil && bench.network.targets.count == 1)
    }

    @Test(arguments: [true, false]) func `is forgotten once the client of a connected target turns out to be raw`(
        speaks: Bool
    ) throws {
        let client = try bench.client(nil)
        bench.network.settle()
        #expect(bench.target.isConnected && client.link.arrival?.isUndecided == true)
        if speaks { client.say("look") } else { bench.network.wait(DialectChooser.defaultWait + 5 * millisecond) }
        #expect(client.session?.passesUnchanged == true && client.link.arrival == nil)
        client.say("north")
        bench.target.send("You see")
        bench.network.settle()
        #expect(client.socket.messages.map(\.text).joined() == "You see")
    }

    @Test func `is kept by a raw client until the target is connected`() throws {
        bench.network.answer = .hangs
        let client = try bench.client(nil)
        client.say("look")
        #expect(client.newcomer?.passesUnchanged == true && client.link.arrival != nil)
        connectTarget()
        #expect(client.link.arrival == nil)
    }

    @Test func `is kept for another attempt while the target can't be reached`() throws {
        bench.network.answer = .fails(.notConnected("refused"))
        var client = try bench.client(.typed)
        client.say(Self.connect)
        #expect(client.link.arrival != nil)
        bench.network.answer = .connects
        client.say(Self.connect)
        client.hear()
        #expect(client.types.last == "session" && client.link.arrival == nil)
    }

    @Test(arguments: [0, 1]) func `is forgotten when the session that the client resumes has come`(loop: Int) throws {
        let first = try bench.player()
        let second = try first.resumed(on: loop)
        #expect(second.types.last == "resumed" && second.link.arrival == nil)
        #expect(second.link.session?.link === second.link)
    }
}
