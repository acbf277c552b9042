import EdgeTestKit
import Foundation
import Testing

@testable import PortcullisClient

@Suite("Inputs of a session")
struct SessionInputTests {
    private static let session =
        #"{"type":"session","sessionId":"s","token":"t","capabilities":["syncAck","gap","tokenRotation"]}"#
    private static let resumed =
        #"{"type":"resumed","sessionId":"s","token":"t2","capabilities":["syncAck","gap","tokenRotation"]}"#

    /// What is to be done, in order: `send …`, `ping …`, `event …`.
    private func words(_ orders: [SessionCore.Order]) -> [String] {
        orders.map {
            switch $0 {
            case .send(.text(let bytes)), .send(.binary(let bytes)): "send \(String(decoding: bytes, as: UTF8.self))"
            case .ping(let number): "ping \(number)"
            case .event(.input(let outcome)): "event \(outcome)"
            case .event(.state(let state)): "event \(state)"
            default: "\($0)"
            }
        }
    }

    private func text(_ core: inout SessionCore, _ text: String) -> [String] {
        words(core.receive(Array(text.utf8), isText: true))
    }

    private func live(_ session: String = session) -> SessionCore {
        var core = SessionCore(ConnectionOptions(), ClientLimits())
        _ = core.opened()
        _ = core.receive(Array(session.utf8), isText: true)
        return core
    }

    // MARK: What waits for a connection

    @Test func `what has waited goes before what the app sends when it hears of the connection`() {
        var core = live()
        _ = core.detached()
        _ = core.input(Array("n".utf8))
        _ = core.input(Array("s".utf8))
        _ = core.opened()
        #expect(
            text(&core, Self.resumed) == [
                #"send {"type":"input","text":"n","cid":1}"#, #"send {"type":"input","text":"s","cid":2}"#,
                "event connected(isResumed: true)",
            ])
    }

    @Test(arguments: [
        (
            SessionDialect.typed, session, resumed, #"send {"type":"naws","width":100,"height":30}"#
        ),
        (
            .gmcp, #"Portcullis.Session {"id":"s","token":"t","seq":0}"#,
            #"Portcullis.Session {"id":"s","token":"t","seq":0,"resumed":true}"#,
            #"send Portcullis.Size {"cols":100,"rows":30}"#
        ),
    ])
    func `a size that changes without a connection is told with the next one`(
        dialect: SessionDialect, session: String, resumed: String, message: String
    ) throws {
        var core = SessionCore(
            ConnectionOptions(dialect: dialect, size: TerminalSize(columns: 80, rows: 24)), ClientLimits())
        _ = core.opened()
        #expect(text(&core, session) == ["event connected(isResumed: false)"])
        _ = core.detached()
        let size = try #require(TerminalSize(columns: 100, rows: 30))
        #expect(core.resize(size).isEmpty)
        for _ in 0..<2 {
            _ = core.opened()
            #expect(text(&core, resumed) == [message, "event connected(isResumed: true)"])
            _ = core.detached()
        }
        // Also while the gateway hasn't named the session yet.
        var new = SessionCore(ConnectionOptions(dialect: dialect), ClientLimits())
        _ = new.opened()
        #expect(new.resize(size).isEmpty)
        #expect(text(&new, session) == [message, "event connected(isResumed: false)"])
    }

    // MARK: Confirmations that don't come

    @Test func `an input whose confirmation was left out is sent again when the gateway has caught up`() {
        var core = live()
        let first = words(core.input(Array("n".utf8)).1)
        #expect(core.look().isEmpty)
        let second = words(core.input(Array("s".utf8)).1)
        // Nothing has answered the first one at two looks, and the second one at one.
        #expect(words(core.look()) == ["ping 1"])
        #expect(core.look().isEmpty)
        #expect(words(core.pong(upTo: 1)) == first)
        #expect(words(core.look()) == ["ping 2"])
        #expect(text(&core, #"{"type":"inputAck","cid":2}"#) == ["event delivered(2)"])
        #expect(core.pong(upTo: 2).isEmpty)
        #expect(text(&core, #"{"type":"inputAck","cid":1}"#) == ["event delivered(1)"])
        #expect(core.look().isEmpty && core.look().isEmpty && second.count == 1)
    }

    @Test func `nothing is sent again while a gateway doesn't answer pings`() {
        var core = live()
        _ = core.input(Array("n".utf8))
        var done: [String] = []
        for _ in 0..<100 { done += words(core.look()) }
        #expect(done == ["ping 1"])
        // Another connection begins anew.
        _ = core.detached()
        _ = core.opened()
        #expect(core.look().isEmpty)
        #expect(text(&core, Self.resumed).count == 2)
        #expect(core.look().isEmpty)
        #expect(words(core.look()) == ["ping 1"])
    }

    @Test func `nothing is sent again to a gateway that may know no numbers`() {
        var core = live(#"{"type":"session","sessionId":"s","token":"t","capabilities":["syncAck"]}"#)
        _ = core.input(Array("n".utf8))
        for _ in 0..<10 { #expect(core.look().isEmpty) }
    }

    @Test func `a driver looks, and sends it again`() async throws {
        let inputs = Awaited<[String]>([])
        let server = try await StandIn { _ in
            .webSocket { socket in
                _ = try await socket.message()
                try await socket.send(Self.session)
                while true {
                    let input = try await socket.message()
                    inputs.update { $0.append(input) }
                    if inputs.current.count > 1 { try await socket.send(#"{"type":"inputAck","cid":1}"#) }
                }
            }
        }
        let bench = try Bench(server.url) { $0.reconnection.probeAfter = 0.4 }
        let player = Player(bench.client.connect(ConnectionOptions(.none)), at: server)
        let number = try await player.connection.send("look")
        try await player.wait(for: "the confirmation") { $0.outcomes == [.delivered(number)] }
        #expect(inputs.current.count >= 2 && Set(inputs.current).count == 1)
        #expect(player.seen.current.connections == 1)
    }
}
