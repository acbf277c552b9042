import EdgeTestKit
import Testing

extension EdgeTests {
    /// Several connections that resume one session at once, and connections that close while it is being moved to them.
    @Suite struct ResumeRaceTests {
        /// A leaked slot would be noticed at the end.
        @Test func `a client that leaves while its session is handed over leaves nothing behind`() async throws {
            let edge = try await start { $0.setting("MAX_SESSIONS_GLOBAL", 60).setting("CLOSE_FLUSH_MS", 200) }
            for round in 0..<60 {
                let session = try await TypedSession.connect(try await edge.openEventually())
                let target = try await edge.target.connection(round)
                for isClosing in [true, false, true, true] {
                    let socket = try await edge.openEventually()
                    let frames = WebSocketFrame.text(session.message(after: 0)).encoded()
                    socket.connection.post(isClosing ? frames + WebSocketFrame.close(1001).encoded() : frames)
                }
                // When the service ends, the session ends, whichever connection has it.
                await target.close()
            }
            try await edge.expectRoom(for: 60)
        }

        @Test func `two concurrent resumes are served one after the other`() async throws {
            let edge = try await start { $0 }
            for _ in 0..<20 {
                let session = try await TypedSession.connect(edge.gateway.open())
                let sockets = [try await edge.gateway.open(), try await edge.gateway.open()]
                for socket in sockets { try await socket.send(text: session.message(after: 0)) }
                var tokens: [String] = []
                for socket in sockets { tokens.append(try #require(try await socket.nextTyped("resumed")["token"])) }
                #expect(Set(tokens).count == 2)
                // The connection that was served first has been replaced; the token of the other one is valid.
                let (_, resumed) = try await session.with(token: try await newest(tokens, at: edge, session))
                    .resumed(at: edge, after: 0)
                #expect(resumed["sessionId"] == session.id)
            }
        }

        private func newest(_ tokens: [String], at edge: Edge, _ session: TypedSession) async throws -> String {
            let socket = try await session.with(token: tokens[0]).attempt(at: edge, after: 0)
            let answer = try await socket.nextMessage()
            return try #require(answer["type"] == "resumed" ? answer["token"] : tokens[1])
        }

        @Test func `at capacity a client can still resume`() async throws {
            let edge = try await start { $0.setting("MAX_SESSIONS_GLOBAL", 1) }
            let socket = try await edge.gateway.open()
            let session = try await TypedSession.connect(socket)
            await socket.connection.reset()
            let (_, resumed) = try await session.resumed(at: edge, after: 0)
            #expect(resumed["sessionId"] == session.id)
        }

        @Test func `a flooding client doesn't slow its neighbours`() async throws {
            let edge = try await start {
                $0.setting("MESSAGES_PER_SECOND", 20).setting("MESSAGES_PER_SECOND_PER_IP", 60)
            }
            let (flooder, neighbour) = (try await edge.gateway.open(), try await edge.gateway.open())
            for socket in [flooder, neighbour] { _ = try await TypedSession.connect(socket) }
            let noise = WebSocketFrame.text(#"{"type":"input","text":"noise"}"#).encoded()
            flooder.connection.post(Array([[UInt8]](repeating: noise, count: 20_000).joined()))
            for number in 1...15 {
                try await neighbour.send(text: #"{"type":"input","text":"x","cid":\#(number)}"#)
                #expect(try await neighbour.nextText() == #"{"type":"inputAck","cid":\#(number)}"#)
            }
        }

        @Test func `a drain doesn't wait for sessions that can't be resumed`() async throws {
            let edge = try await start {
                $0.setting("SHUTDOWN_GRACE_MS", 600_000).setting("SHUTDOWN_DEADLINE_MS", 900_000)
            }
            let socket = try await edge.gateway.open()
            _ = try await TypedSession.connect(socket)
            await socket.connection.reset()
            try await edge.gateway.logLine("session detached")
            let target = try await edge.target.connection()
            edge.gateway.terminate()
            _ = try await target.receiveToEnd()
        }

        private func start(_ change: (GatewaySettings) -> GatewaySettings) async throws -> Edge {
            try await Edge.start(.scripted) { change($0.setting("REACTOR_THREADS", 4)) }
        }
    }
}

extension Edge {
    /// Places of ended sessions are released soon afterwards.
    func openEventually(_ handshake: Handshake = Handshake()) async throws -> TestWebSocket {
        let deadline = ContinuousClock.now.advanced(by: .seconds(30))
        while true {
            if case .open(let socket) = try await gateway.attempt(handshake) { return socket }
            try #require(ContinuousClock.now < deadline, "no place is given back")
        }
    }

    /// Shows that so many sessions can be open at once.
    func expectRoom(for count: Int) async throws {
        var open: [TestWebSocket] = []
        while open.count < count { open.append(try await openEventually(Handshake().offering("telnet"))) }
    }
}
