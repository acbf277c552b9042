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

/// Whole sessions of a client that comes back through another gateway than that which has its session.
@Suite(.timeLimit(.minutes(5)))
struct TwoGatewaysTests {
    private static let nobody = "00000000-0000-4000-8000-000000000000"

    private func begin(_ gateway: FleetBench.Gateway, _ bench: FleetBench) async throws -> (TestWebSocket, GMCPSession)
    {
        let socket = try await gateway.open(Handshake().offering(FleetBench.gmcp))
        return (socket, try GMCPSession(try await socket.message()))
    }

    @Test func `a session goes on through another gateway, byte for byte, and the MUD notices nothing`() async throws {
        let bench = try await FleetBench()
        let (a, b) = (try await bench.gateway("a"), try await bench.gateway("b"))
        let (socket, session) = try await begin(a, bench)
        let mud = try await bench.target.connection()
        try await mud.send("Hello ")
        #expect(try await socket.receiveText(6) == "Hello ")
        await socket.connection.reset()
        try await mud.send("World")
        let back = try await b.open(session.handshake(after: 3))
        let resumed = try GMCPSession(try await back.message())
        #expect(resumed.id == session.id && resumed.token != session.token)
        #expect(try await back.receiveText(8) == "lo World")
        let long = String(repeating: "0123456789abcdef", count: 20_000)
        async let received = mud.receiveText(long.utf8.count)
        for start in stride(from: 0, to: long.utf8.count, by: 40_000) {
            try await back.send(binary: Array(long.utf8.dropFirst(start).prefix(40_000)))
        }
        #expect(try await received == long)
        mud.post(Array(long.utf8))
        #expect(try await back.receiveText(long.utf8.count) == long)
        // And a third time, with the newer token, through the gateway that has it.
        await back.connection.reset()
        let home = try await a.open(resumed.handshake(after: 11 + long.utf8.count))
        #expect(try GMCPSession(try await home.message()).id == session.id)
        try await home.send(binary: Array("end".utf8))
        #expect(try await mud.receiveText(3) == "end")
        #expect(bench.target.connectionCount == 1)
        let ids = b.log.values(of: LogKeys.requestID, in: "upgrade passed on")
        #expect(ids.count == 1 && a.log.values(of: LogKeys.session, in: "session resumed").contains(ids[0]))
    }

    @Test func `a client that its gateway blocks isn't passed on`() async throws {
        let bench = try await FleetBench()
        let (a, b) = (try await bench.gateway("a"), try await bench.gateway("b", blocking: "127.0.0.1"))
        let (_, session) = try await begin(a, bench)
        guard case .refused(let answer, _) = try await b.attempt(session.handshake(after: 0)) else {
            throw EdgeTestError("admitted")
        }
        #expect(answer.status == 403 && answer.text.contains("device_blocked"))
        #expect(b.log.values(of: LogKeys.requestID, in: "upgrade passed on").isEmpty)
    }

    @Test func `a session may be resumed through every gateway at once, and one client has it in the end`() async throws
    {
        let bench = try await FleetBench()
        let gateways = [try await bench.gateway("a"), try await bench.gateway("b"), try await bench.gateway("c")]
        var (_, session) = try await begin(gateways[0], bench)
        for gateway in [1, 2, 0, 1, 1, 2] {
            let socket = try await gateways[gateway].open(session.handshake(after: 0))
            session = try GMCPSession(try await socket.message())
        }
        let passedOn = gateways.map { $0.log.values(of: LogKeys.status, in: "upgrade passed on") }
        #expect(passedOn == [[], ["101", "101", "101"], ["101", "101"]])
        #expect(bench.target.connectionCount == 1)
    }

    @Test func `the gateway that has the session decides: a wrong token is refused there`() async throws {
        let bench = try await FleetBench()
        let (a, b) = (try await bench.gateway("a"), try await bench.gateway("b"))
        let (_, session) = try await begin(a, bench)
        let wrong = session.handshake(after: 0, token: String(repeating: "0", count: 64))
        guard case .refused(let answer, _) = try await b.attempt(wrong) else { throw EdgeTestError("admitted") }
        #expect(answer.status == 401 && answer["x-refusal-code"] == "invalid_resume")
    }

    /// Its gateway says whose it is, and then the one that the client has reached admits that client.
    @Test func `a session's token is enough elsewhere too where it is enough at its own gateway`() async throws {
        let bench = try await FleetBench()
        let a = try await bench.gateway("a", tokens: .forEverySession)
        let b = try await bench.gateway("b", tokens: .forEverySession)
        let (_, session) = try await begin(a, bench)
        let socket = try await b.open(session.handshake(after: 0))
        let resumed = try GMCPSession(try await socket.message())
        #expect(resumed.id == session.id && resumed.token != session.token)
        try await socket.send(binary: Array("look".utf8))
        let mud = try await bench.target.connection()
        #expect(try await mud.receiveText(4) == "look")
        #expect(b.log.values(of: LogKeys.status, in: "upgrade passed on") == ["101"])
        let wrong = session.handshake(after: 0, token: String(repeating: "0", count: 64))
        guard case .refused(let answer, _) = try await b.attempt(wrong) else { throw EdgeTestError("admitted") }
        #expect(answer.status == 401 && answer["x-refusal-code"] == "invalid_resume")
        // Its gateway was asked once, and has counted it once.
        #expect(b.log.values(of: LogKeys.status, in: "upgrade passed on") == ["101", "401"])
    }

    @Test func `a client whose token isn't enough is admitted elsewhere by what else it has`() async throws {
        let bench = try await FleetBench()
        let a = try await bench.gateway("a", tokens: .forNoSession)
        let b = try await bench.gateway("b", tokens: .forNoSession)
        let (_, session) = try await begin(a, bench)
        let socket = try await b.open(session.handshake(after: 0))
        #expect(try GMCPSession(try await socket.message()).id == session.id)
        #expect(b.log.values(of: LogKeys.status, in: "upgrade passed on") == ["401", "101"])
    }

    @Test func `a session that nobody has is refused as by a single gateway`() async throws {
        let bench = try await FleetBench()
        let b = try await bench.gateway("b")
        for id in [Self.nobody, "x"] {
            let path = "/?session=\(id)&token=\(String(repeating: "0", count: 64))&lastSeq=0"
            let socket = try await b.open(Handshake().path(path).offering(FleetBench.gmcp))
            _ = try? await socket.message()
            #expect(try await socket.closedByServer() == (try CloseFrame(parsing: .close(1008, "session_expired"))))
        }
    }

    @Test func `a client is told of its session when the others find it, and not before`() async throws {
        let bench = try await FleetBench()
        let (a, b) = (try await bench.gateway("a"), try await bench.gateway("b"))
        bench.directory.hold(true)
        let socket = try await a.open(Handshake().offering(FleetBench.gmcp))
        while bench.directory.heldCount == 0 {
            try Task.checkCancellation()
            await Task.yield()
        }
        // What was sent before would come before the pong.
        try await socket.send(WebSocketFrame(WebSocketFrame.Opcode.ping, Array("here".utf8)))
        #expect(try await socket.nextFrame().opcode == WebSocketFrame.Opcode.pong)
        bench.directory.hold(false)
        let session = try GMCPSession(try await socket.message())
        #expect(try GMCPSession(try await b.open(session.handshake(after: 0)).message()).id == session.id)
    }

    /// A store that doesn't answer keeps nobody from playing.
    @Test func `a client is told of its session after a while, whether the others find it or not`() async throws {
        let bench = try await FleetBench()
        let a = try await bench.gateway("a")
        bench.directory.hold(true)
        let (socket, session) = try await begin(a, bench)
        #expect(!session.id.isEmpty && bench.directory.heldCount == 1)
        try await bench.target.connection().send("Hello")
        #expect(try await socket.receiveText(5) == "Hello")
        bench.directory.hold(false)
    }

    @Test func `while a gateway is in doubt a session may be asked for again`() async throws {
        let bench = try await FleetBench()
        let b = try await bench.gateway("b")
        bench.directory.set(doubtful: ["a"])
        let path = "/?session=\(Self.nobody)&token=\(String(repeating: "0", count: 64))&lastSeq=0"
        let answer = try await refusal(by: b, Handshake().path(path).offering(FleetBench.gmcp))
        #expect(answer.status == 503 && answer["x-refusal-code"] == "store_unavailable" && answer["retry-after"] != nil)
    }

    private func refusal(by gateway: FleetBench.Gateway, _ handshake: Handshake) async throws -> ReceivedAnswer {
        switch try await gateway.attempt(handshake) {
        case .refused(let answer, _): return answer
        case .open: throw EdgeTestError("not refused")
        }
    }

    @Test func `a session of a silent gateway goes on there, and one of a gateway that is gone has expired`()
        async throws
    {
        let bench = try await FleetBench()
        let (a, b) = (try await bench.gateway("a"), try await bench.gateway("b"))
        var (_, session) = try await begin(a, bench)
        try bench.silence("a", isGone: false)
        session = try GMCPSession(try await b.open(session.handshake(after: 0)).message())
        try bench.silence("a", isGone: true)
        let socket = try await b.open(session.handshake(after: 0))
        _ = try? await socket.message()
        #expect(try await socket.closedByServer() == (try CloseFrame(parsing: .close(1008, "session_expired"))))
    }

    @Test func `a gateway that can't be reached is a refusal with a time`() async throws {
        let bench = try await FleetBench()
        let (a, b) = (try await bench.gateway("a"), try await bench.gateway("b"))
        let (_, session) = try await begin(a, bench)
        bench.directory.set(.init(id: "a", address: "localhost:1", silence: 0))
        guard case .refused(let answer, _) = try await b.attempt(session.handshake(after: 0)) else {
            Issue.record("not refused")
            return
        }
        #expect(
            answer.status == 503 && answer["x-refusal-code"] == "gateway_unreachable" && answer["retry-after"] == "1")
        #expect(b.fleetRelay.current == 0)
    }

    /// The directory is wrong, or two gateways take each other for the holder.
    @Test func `an upgrade is passed on once`() async throws {
        let bench = try await FleetBench()
        let (a, b) = (try await bench.gateway("a"), try await bench.gateway("b"))
        // As a says of a session that only it could have, b has it; b says that c has it.
        bench.directory.set(.init(id: "c", address: "localhost:\(try bench.port(of: "b"))", silence: 0))
        let c = FleetSessions(
            bench.directory, gateway: "c", members: bench, logger: .init(label: "c") { _ in LineLog() })
        c.announce(in: nil) { c.began(Self.nobody, whenFound: nil) }
        let path = "/?session=\(Self.nobody)&token=\(String(repeating: "0", count: 64))&lastSeq=0"
        let outcome = try await a.attempt(Handshake().path(path).offering(FleetBench.gmcp))
        // As of a session that nobody has.
        guard case .open(let socket) = outcome else { throw EdgeTestError("refused") }
        _ = try? await socket.message()
        #expect(try await socket.closedByServer() == (try CloseFrame(parsing: .close(1008, "session_expired"))))
        #expect(b.fleetRelay.current == 0)
        #expect(b.log.values(of: LogKeys.status, in: "upgrade passed on").isEmpty)
    }

    @Test func `a gateway that drains sends away the clients of others, whose sessions go on`() async throws {
        let bench = try await FleetBench()
        let (a, b) = (try await bench.gateway("a"), try await bench.gateway("b"))
        let (_, session) = try await begin(a, bench)
        let socket = try await b.open(session.handshake(after: 0))
        let resumed = try GMCPSession(try await socket.message())
        b.server.beginDraining()
        #expect(try await socket.closedByServer().code == 1012)
        let home = try await a.open(resumed.handshake(after: 0))
        #expect(try GMCPSession(try await home.message()).id == session.id)
        while await b.server.sessionCount() > 0 {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    @Test func `clients of a gateway that is found dead are told at once`() async throws {
        let bench = try await FleetBench()
        let (a, b) = (try await bench.gateway("a"), try await bench.gateway("b"))
        let (_, session) = try await begin(a, bench)
        let socket = try await b.open(session.handshake(after: 0))
        _ = try await socket.message()
        b.server.gatewayDied("c")
        b.server.gatewayDied("a")
        let close = try await socket.closedByServer()
        #expect(close == (try CloseFrame(parsing: .close(1012, "gateway of the session was lost"))))
    }

    @Test func `a session that has ended is in no directory`() async throws {
        let bench = try await FleetBench()
        let a = try await bench.gateway("a")
        let (socket, session) = try await begin(a, bench)
        let peer = FleetPeer(id: "a", host: "localhost", port: try bench.port(of: "a"))
        #expect(await whereabouts(of: session.id, bench) == .elsewhere(peer))
        try await socket.close(1000)
        while await whereabouts(of: session.id, bench) != .unknown {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    private func whereabouts(of id: String, _ bench: FleetBench) async -> Whereabouts {
        let other = FleetSessions(
            bench.directory, gateway: "z", members: bench, logger: .init(label: "z") { _ in LineLog() })
        return await withCheckedContinuation { continuation in other.find(id) { continuation.resume(returning: $0) } }
    }
}
