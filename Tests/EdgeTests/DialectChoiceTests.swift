import EdgeTestKit
import Testing

extension EdgeTests {
    /// `DEFAULT_DIALECT=auto`: the first message decides, or the timeout for it; nothing that either side sends
    /// meanwhile is lost.
    @Suite struct DialectChoiceTests {
        private typealias T = TelnetBytes
        private static let greeting: [UInt8] = [T.iac, T.will, T.echo] + Array("login: ".utf8)

        @Test func `a silent client is raw after the wait`() async throws {
            let play = try await start(wait: 100)
            let (socket, target) = (play.socket, play.target)
            try await target.send(Self.greeting)
            #expect(try await socket.receive(Self.greeting.count) == Self.greeting)
            try await target.send([T.iac, T.do, T.terminalType])
            #expect(try await socket.receive(3) == [T.iac, T.do, T.terminalType])
            #expect(target.stream.current.count == 0)
        }

        @Test func `plain text selects raw immediately and for the whole session`() async throws {
            let play = try await start()
            let (socket, target) = (play.socket, play.target)
            try await target.send(Self.greeting)
            try await socket.send(text: "look")
            #expect(try await target.receiveText(4) == "look")
            #expect(try await socket.receive(Self.greeting.count) == Self.greeting)
            for text in [#"{"type":"input","text":"x"}"#, #"{"connect":1}"#] {
                try await socket.send(text: text)
                #expect(try await target.receiveText(text.utf8.count) == text)
            }
            try await target.send("still raw")
            #expect(try await socket.receiveText(9) == "still raw")
        }

        /// A fragmented first message is examined when it is complete, and each of its bytes arrives once.
        @Test func `a first message in fragments is judged as a whole`() async throws {
            let play = try await start()
            let (socket, target) = (play.socket, play.target)
            try await socket.send(WebSocketFrame(WebSocketFrame.Opcode.text, Array(#"{"ty"#.utf8), isFinal: false))
            try await socket.send(WebSocketFrame(WebSocketFrame.Opcode.continuation, Array(#"p":1}"#.utf8)))
            #expect(try await target.receiveText(9) == #"{"typ":1}"#)
        }

        @Test func `output of a target that ends before the dialect is chosen is delivered`() async throws {
            let play = try await start(wait: 300)
            let (socket, target) = (play.socket, play.target)
            try await target.send(Self.greeting)
            try await target.finish()
            let (payload, close) = try await socket.receiveToClose()
            #expect(payload == Self.greeting && close.code == 1000)
        }

        @Test func `a typed client gets the output of a target that has ended`() async throws {
            let play = try await start()
            let (socket, target) = (play.socket, play.target)
            try await target.send("Closed for repairs")
            try await target.finish()
            try await settle(play.edge)
            try await socket.connectTyped()
            #expect(try await socket.typedText(18) == "Closed for repairs")
            _ = try await socket.nextTyped("disconnected")
            #expect(try await socket.closedByServer().code == 1000)
        }

        @Test func `a Close frame before the dialect is chosen is answered and the target gets a FIN`() async throws {
            let play = try await start()
            let (socket, target) = (play.socket, play.target)
            try await target.send(Self.greeting)
            #expect(try await socket.close(1000).code == 1000)
            #expect(try await target.receiveToEnd() == [])
        }

        @Test func `a Close frame within the first message leaves no connection behind`() async throws {
            let play = try await start()
            let (socket, target) = (play.socket, play.target)
            try await socket.send(WebSocketFrame(WebSocketFrame.Opcode.text, Array(#"{"ty"#.utf8), isFinal: false))
            await socket.connection.reset()
            #expect(try await target.receiveToEnd() == [])
        }

        /// 16 KiB are buffered; above that the target is paused, and everything arrives.
        @Test func `output above the limit waits at the target until the dialect is chosen`() async throws {
            var generator = SeededGenerator(seed: 9)
            let output = generator.bytes(1_000_000)
            let play = try await start()
            let (socket, target) = (play.socket, play.target)
            target.post(output)
            try await settle(play.edge)
            try await socket.send(text: "go")
            #expect(try await target.receiveText(2) == "go")
            #expect(try await socket.receive(output.count) == output)
        }

        @Test func `output above the limit reaches a typed client in order`() async throws {
            let output = (0..<60_000).map { "line \($0)\r\n" }.joined()
            let play = try await start()
            let (socket, target) = (play.socket, play.target)
            target.post(Array(output.utf8))
            try await settle(play.edge)
            try await socket.connectTyped()
            #expect(try await socket.typedText(output.utf8.count) == output)
        }

        @Test func `a shutdown before the dialect is chosen delivers the greeting before 1001`() async throws {
            let play = try await start()
            let (socket, target) = (play.socket, play.target)
            try await target.send(Self.greeting)
            try await settle(play.edge)
            play.edge.gateway.terminate()
            let (payload, close) = try await socket.receiveToClose()
            #expect(payload == Self.greeting)
            #expect(close.code == 1001)
            #expect(try await target.receiveToEnd() == [])
            socket.connection.post(WebSocketFrame.close(1001).encoded())
            #expect(try await play.edge.gateway.child.ended().ending == .exited(0))
        }

        // MARK: The query

        /// The query overrides the default, and no target is dialled that the client hasn't requested.
        @Test(arguments: ["raw", "legacy", "auto"])
        func `the query selects a dialect whatever the default is`(standard: String) async throws {
            let edge = try await Edge.start(.scripted) {
                $0.setting("DIALECT_WAIT_MS", 0).setting("DEFAULT_DIALECT", standard).setting("REACTOR_THREADS", 1)
            }
            let socket = try await edge.gateway.open(Handshake().path("/?dialect=typed"))
            try await settle(edge)
            #expect(edge.target.connectionCount == 0)
            try await socket.connectTyped()
            try await edge.target.connection().send("typed")
            #expect(try await socket.nextTyped("data").payload == "typed")
        }

        @Test func `a subprotocol takes precedence over the query`() async throws {
            let edge = try await Edge.start()
            let handshake = Handshake().path("/?dialect=typed").offering("telnet")
            try await Edge.expectEcho(edge.gateway.open(handshake), #"{"type":"connect","target":""}"#)
        }

        @Test(arguments: ["", "auto", "Typed", "typed&dialect=typed", "%ff"])
        func `an unknown dialect is answered with 404`(name: String) async throws {
            let edge = try await Edge.start()
            expectRefusal(try await edge.gateway.refusal(Handshake().path("/?dialect=" + name)), 404, "not_found")
        }

        /// The single reactor has run: it has read everything that it is going to read of the target's earlier output.
        private func settle(_ edge: Edge) async throws {
            for _ in 0..<5 { try await edge.expectHealthy() }
        }

        private func start(wait: Int = 60_000) async throws -> Play {
            let edge = try await Edge.start(.scripted) {
                $0.setting("DIALECT_WAIT_MS", wait).setting("REACTOR_THREADS", 1)
            }
            let socket = try await edge.gateway.open()
            return Play(edge: edge, socket: socket, target: try await edge.target.connection())
        }
    }
}
