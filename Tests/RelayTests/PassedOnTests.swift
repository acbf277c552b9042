import RelayCore
import Testing

@testable import Relay

/// A client that another gateway has passed on, to a session that has ended between the gate's look and the 101.
struct PassedOnTests {
    private static let ended = ResumeRequest(
        sessionID: "00000000-0000-4000-8000-000000000000", token: String(repeating: "0", count: 64), lastSeq: 0)
    private static let connect = #"{"type":"connect","host":"mud.example","port":4000}"#
    private static let messages = [
        connect, "look", "", "{}",
        #"{"type":"resume","sessionId":"\#(ended.sessionID)","token":"\#(ended.token)","lastSeq":0}"#,
        #"{"action":"connect","host":"mud.example","port":4000}"#, #"{"id":"","data":""}"#,
    ]

    @Test(arguments: [nil] + DialectKind.allCases, messages)
    func `is closed with the code of a failed resume, and no target is dialled`(kind: DialectKind?, message: String)
        throws
    {
        let bench = try Bench()
        var client = try bench.client(kind, resuming: Self.ended, isPassedOn: true)
        client.say(message)
        client.say(Self.connect)
        bench.network.wait(70 * second)
        client.hear()
        #expect(client.closeCode == 1008)
        #expect(["session_expired", "invalid_resume"].contains(client.closeReason))
        #expect(bench.network.targets.isEmpty && client.sessionID.isEmpty)
        #expect(bench.isEmpty)
    }

    /// The gate would have to admit it without a session.
    @Test(arguments: [nil] + DialectKind.allCases, messages)
    func `has no permit to begin a session, whatever it says`(kind: DialectKind?, message: String) throws {
        let bench = try Bench()
        var client = try bench.client(kind, isPassedOn: true)
        client.say(message)
        client.say(Self.connect)
        bench.network.wait(70 * second)
        client.hear()
        #expect(client.closeCode == 1008)
        #expect(bench.network.targets.isEmpty && client.sessionID.isEmpty)
        #expect(bench.isEmpty)
    }

    @Test func `goes on with its session while that is there`() throws {
        let bench = try Bench()
        var first = try bench.player()
        bench.target.send("one ")
        first.hear()
        let passedOn = try bench.client(.typed, resuming: first.resumeRequest, isPassedOn: true)
        var second = TestClient(link: passedOn.link, socket: passedOn.socket, bench: bench)
        bench.target.send("two")
        second.hear()
        #expect(second.text == "two" && second.types.first == "resumed")
        #expect(bench.network.targets.count == 1)
    }
}
