import EdgeTestKit
import Testing

extension EdgeTests {
    /// How many sessions one identity and one address may have.
    @Suite struct SessionLimitTests {
        @Test func `an address has a limited number of sessions`() async throws {
            let edge = try await Edge.start(.scripted) { $0.setting("MAX_SESSIONS_PER_IP", 2) }
            let typed = try await edge.gateway.open()
            _ = try await edge.target.connection(0)
            let raw = try await edge.gateway.open(Handshake().offering("telnet"))
            _ = try await TypedSession.connect(typed)
            let close = try await edge.gateway.open(Handshake().offering("telnet")).closedByServer()
            #expect(close.code == 1013 && close.reason == "too many sessions")
            let third = try await edge.gateway.open()
            try await third.send(text: #"{"type":"connect","host":"mud.example","port":4000}"#)
            let error = try await third.nextTyped("error")
            #expect(error["code"] == "rate_limited")
            #expect(error["message"] == "Connection limit exceeded for this IP address")
            #expect(edge.target.connectionCount == 2)
            // When a place is free again, it gets it.
            try await raw.close()
            let ended = try await edge.target.connection(1)
            _ = try await ended.receiveToEnd()
            await ended.close()
            // The refused client's session has a line too.
            try await edge.gateway.child.output.wait(for: "the ends of two sessions") { output in
                output.errorLines.count { $0.contains("session ended") } == 2 ? true : nil
            }
            _ = try await TypedSession.connect(third)
        }

        /// More than a person tries, and too few for a scan.
        @Test func `a client may ask for a limited number of targets`() async throws {
            let edge = try await Edge.start(.scripted) {
                $0.setting("TARGET_MODE", "allowlist").setting("DEFAULT_DIALECT", "typed")
                    .setting("TARGET_ALLOWLIST", "mud.example:4000")
            }
            let socket = try await edge.gateway.open()
            for _ in 0..<16 {
                try await socket.send(text: #"{"type":"connect","host":"other.example","port":4000}"#)
                #expect(try await socket.nextTyped("error")["message"] == "host is not allowed")
            }
            try await socket.send(text: #"{"type":"connect","host":"other.example","port":4000}"#)
            let close = try await socket.closedByServer()
            #expect(close.code == 1008 && close.reason == "too many connects")
        }

        @Test func `a device's oldest session without a client is ended for a new one`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start(.scripted) { $0.appAttest(apple).setting("MAX_SESSIONS_PER_DEVICE", 2) }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            var sessions: [(session: TypedSession, socket: TestWebSocket)] = []
            for _ in 0..<2 {
                let socket = try await edge.gateway.open(device.handshake(at: edge.gateway))
                sessions.append((try await TypedSession.connect(socket), socket))
            }
            let third = try await edge.gateway.open(device.handshake(at: edge.gateway))
            try await third.send(text: #"{"type":"connect","host":"mud.example","port":4000}"#)
            #expect(try await third.nextTyped("error")["code"] == "rate_limited")
            await sessions[0].socket.connection.reset()
            try await edge.gateway.logLine("session detached")
            _ = try await TypedSession.connect(third)
            // The detached session has ended, and its target was told.
            let back = try await edge.gateway.open(device.handshake(at: edge.gateway))
            try await back.send(text: sessions[0].session.message(after: 0))
            #expect(try await back.nextTyped("error")["code"] == "session_expired")
            try await sessions[1].socket.send(text: #"{"type":"input","text":"x"}"#)
        }
    }
}
