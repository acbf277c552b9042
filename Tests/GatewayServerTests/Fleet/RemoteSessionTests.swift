import EdgeTestKit
import Foundation
import KeyStore
import KeyStoreTestKit
import Logging
import Observability
import Reactors
import Relay
import Testing

@testable import GatewayServer

/// A typed client that asks for its session by a message, at another gateway than the one that has it.
@Suite(.timeLimit(.minutes(5)))
struct RemoteSessionTests {
    private struct Typed {
        let fields: [String: Any]

        init(_ text: String) throws {
            fields = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:]
        }

        subscript(name: String) -> String { fields[name] as? String ?? "" }
        var payload: String { String(decoding: Data(base64Encoded: self["payload"]) ?? Data(), as: UTF8.self) }
    }

    /// The next message of this type; others are dropped.
    private func next(_ type: String, on socket: TestWebSocket) async throws -> Typed {
        while true {
            let message = try Typed(try await socket.message())
            if message["type"] == type { return message }
        }
    }

    private func begin(_ gateway: FleetBench.Gateway, _ bench: FleetBench) async throws -> (TestWebSocket, Typed) {
        let socket = try await gateway.open(Handshake().path("/?dialect=typed"))
        try await socket.send(text: Self.connect(bench))
        return (socket, try await next("session", on: socket))
    }

    private static func connect(_ bench: FleetBench) -> String {
        #"{"type":"connect","host":"127.0.0.1","port":\#(bench.target.port)}"#
    }

    private func ask(_ gateway: FleetBench.Gateway, for session: Typed, token: String? = nil) async throws
        -> TestWebSocket
    {
        let socket = try await gateway.open(Handshake().path("/?dialect=typed"))
        let message =
            #"{"type":"resume","sessionId":"\#(session["sessionId"])","token":"\#(token ?? session["token"])","lastSeq":0}"#
        try await socket.send(text: message)
        return socket
    }

    @Test func `its session goes on through the other gateway`() async throws {
        let bench = try await FleetBench()
        let (a, b) = (try await bench.gateway("a"), try await bench.gateway("b"))
        let (socket, session) = try await begin(a, bench)
        let mud = try await bench.target.connection()
        try await mud.send("Hello")
        #expect(try await next("data", on: socket).payload == "Hello")
        await socket.connection.reset()
        let back = try await ask(b, for: session)
        let resumed = try await next("resumed", on: back)
        #expect(resumed["sessionId"] == session["sessionId"] && resumed["token"] != session["token"])
        #expect(try await next("data", on: back).payload == "Hello")
        try await back.send(text: #"{"type":"input","text":"look"}"#)
        #expect(try await mud.receiveText(4) == "look")
        try await mud.send("A room")
        var text = ""
        while text.utf8.count < 6 { text += try await next("data", on: back).payload }
        #expect(text == "A room")
        // The client answers pings, through both: its token is confirmed, and it may come again.
        await back.connection.reset()
        let home = try await ask(a, for: resumed)
        #expect(try await next("resumed", on: home)["sessionId"] == session["sessionId"])
        let ids = b.log.values(of: LogKeys.requestID, in: "upgrade passed on")
        #expect(ids.count == 1 && a.log.values(of: LogKeys.session, in: "session resumed").contains(ids[0]))
        try await b.passesNothingOn()
    }

    /// At the other gateway: there it is counted against the client's rate.
    @Test func `a client's pings are passed on`() async throws {
        let bench = try await FleetBench()
        let (a, b) = (try await bench.gateway("a"), try await bench.gateway("b"))
        let (_, session) = try await begin(a, bench)
        let socket = try await ask(b, for: session)
        _ = try await next("resumed", on: socket)
        for _ in 0..<100 { try await socket.send(WebSocketFrame(WebSocketFrame.Opcode.ping, Array("here".utf8))) }
        try await socket.send(text: #"{"type":"input","text":"x"}"#)
        let mud = try await bench.target.connection()
        #expect(try await mud.receiveText(1) == "x")
        await mud.close()
        #expect(try await socket.closedByServer().code == 1000)
        var ended: [String] = []
        while ended.isEmpty {
            try Task.checkCancellation()
            await Task.yield()
            ended = a.log.values(of: LogKeys.framesFromClient, in: "session ended")
        }
        #expect(try #require(Int(ended[0])) >= 600)
    }

    @Test func `a wrong token is an error there, and the client may begin anew`() async throws {
        let bench = try await FleetBench()
        let (a, b) = (try await bench.gateway("a"), try await bench.gateway("b"))
        let (_, session) = try await begin(a, bench)
        let socket = try await ask(b, for: session, token: String(repeating: "0", count: 64))
        #expect(try await next("error", on: socket)["code"] == "invalid_resume")
        try await socket.send(text: Self.connect(bench))
        #expect(try await next("session", on: socket)["sessionId"] != session["sessionId"])
    }

    /// The directory still names the address of the process that had it.
    @Test func `a session of a gateway whose address another process has taken has expired`() async throws {
        let bench = try await FleetBench()
        let (a, b) = (try await bench.gateway("a"), try await bench.gateway("b"))
        let nobodys = try Typed(
            #"{"sessionId":"00000000-0000-4000-8000-000000000000","token":"\#(String(repeating: "0", count: 64))"}"#)
        bench.directory.set(.init(id: "c", address: "localhost:\(try bench.port(of: "b"))", silence: 0))
        let c = FleetSessions(
            bench.directory, gateway: "c", members: bench, logger: .init(label: "c") { _ in LineLog() })
        c.announce(in: nil) { c.began(nobodys["sessionId"], whenFound: nil) }
        let socket = try await ask(a, for: nobodys)
        #expect(try await next("error", on: socket)["code"] == "session_expired")
        #expect(a.log.values(of: LogKeys.status, in: "upgrade passed on") == ["401"])
        try await socket.send(text: Self.connect(bench))
        #expect(try await next("session", on: socket)["sessionId"] != nobodys["sessionId"])
        #expect(await b.server.sessionCount() == 0)
    }

    @Test func `a session of a dead gateway has expired`() async throws {
        let bench = try await FleetBench()
        let (a, b) = (try await bench.gateway("a"), try await bench.gateway("b"))
        let (_, session) = try await begin(a, bench)
        try bench.silence("a", isGone: true)
        let socket = try await ask(b, for: session)
        #expect(try await next("error", on: socket)["code"] == "session_expired")
    }

    @Test func `its end comes through, in both directions`() async throws {
        let bench = try await FleetBench()
        let (a, b) = (try await bench.gateway("a"), try await bench.gateway("b"))
        let (_, session) = try await begin(a, bench)
        let socket = try await ask(b, for: session)
        _ = try await next("resumed", on: socket)
        try await bench.target.connection().close()
        #expect(try await socket.closedByServer().code == 1000)
        try await b.passesNothingOn()
        _ = a
    }

    @Test func `what its client has sent before its Close frame arrives, although its gateway drains`() async throws {
        let bench = try await FleetBench()
        let (a, b) = (try await bench.gateway("a"), try await bench.gateway("b"))
        let (_, session) = try await begin(a, bench)
        let socket = try await ask(b, for: session)
        let resumed = try await next("resumed", on: socket)
        b.server.beginDraining()
        var frame = try await socket.nextFrame()
        while frame.opcode != WebSocketFrame.Opcode.close { frame = try await socket.nextFrame() }
        try await socket.send(text: #"{"type":"input","text":"last"}"#)
        try await socket.send(WebSocketFrame(WebSocketFrame.Opcode.close, frame.payload))
        #expect(try await bench.target.connection().receiveText(4) == "last")
        try await b.passesNothingOn()
        // The session waits for its client.
        let home = try await ask(a, for: resumed)
        #expect(try await next("resumed", on: home)["sessionId"] == session["sessionId"])
    }

    @Test func `a client that takes nothing is dropped after the limit, and its session stays`() async throws {
        var limits = RelayLimits()
        limits.idleSeconds = 1
        let bench = try await FleetBench(limits)
        let (a, b) = (try await bench.gateway("a"), try await bench.gateway("b"))
        let (_, session) = try await begin(a, bench)
        let mud = try await bench.target.connection()
        let socket = try await ask(b, for: session)
        let resumed = try await next("resumed", on: socket)
        try await socket.connection.setReading(false)
        // More than the sockets between hold.
        mud.post([UInt8](repeating: 0x61, count: 16 << 20))
        try await b.passesNothingOn()
        let home = try await ask(a, for: resumed)
        #expect(try await next("resumed", on: home)["sessionId"] == session["sessionId"])
    }

    @Test func `when the other gateway is found dead the client is told at once`() async throws {
        let bench = try await FleetBench()
        let (a, b) = (try await bench.gateway("a"), try await bench.gateway("b"))
        let (_, session) = try await begin(a, bench)
        let socket = try await ask(b, for: session)
        _ = try await next("resumed", on: socket)
        b.server.gatewayDied("a")
        #expect(try await socket.closedByServer().code == 1012)
    }
}
