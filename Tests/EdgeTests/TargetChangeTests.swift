import EdgeTestKit
import Testing

extension EdgeTests {
    /// A client that leaves one target for another while it reads nothing.
    @Suite struct TargetChangeTests {
        /// The first target is paused by back-pressure from the client when it is left; the second one must be paused
        /// too.
        @Test func `the next target waits for the client too`() async throws {
            let flood = try await TargetServer.start(.scripted)
            let edge = try await Edge.start(.scripted) {
                $0.setting("MUD_ROUTES", "flood=127.0.0.1:\(flood.port)").setting("DIALECT_WAIT_MS", 60_000)
                    .setting("REACTOR_THREADS", 1).setting("RESUME_GRACE_MINUTES", 0)
            }
            let socket = try await edge.gateway.open(receiveBuffer: 65_536)
            let neighbour = try await edge.gateway.open(Handshake().path("/mud/flood").offering("telnet"))
            let first = try await edge.target.connection()
            let mirror = try await flood.connection(0)
            let before = try ProcessMemory.residentKiB(of: edge.gateway.processID)
            // Its own errors fill the client's queue; the log shows that the last message is refused.
            try await socket.connection.setReading(false)
            let nonsense = WebSocketFrame.text(#"{"type":"\#(String(repeating: "x", count: 32))"}"#).encoded()
            socket.connection.post(Array([[UInt8]](repeating: nonsense, count: 40_000).joined()))
            try await socket.send(text: #"{"type":"connect","target":"nowhere"}"#)
            // The kernel drops what doesn't fit into a full receive buffer. From then on it takes no acknowledgement of
            // the gateway either, and sends nothing more, until the client has read a little.
            try await Poll.untilTrue("the refusal", within: .seconds(80)) {
                if edge.gateway.output.errorText.contains("target refused") { return true }
                try await socket.connection.sip()
                return false
            }
            try await first.send("more")
            try await expectEcho(neighbour, mirror, times: 4)
            try await socket.send(text: #"{"type":"connect","target":"flood"}"#)
            let second = try await flood.connection(1)
            second.post([UInt8](repeating: 0x62, count: 32 << 20))
            // After this many echoes of another session on the single reactor, a gateway that still reads would have
            // read everything.
            try await expectEcho(neighbour, mirror, times: 500)
            let grown = try ProcessMemory.residentKiB(of: edge.gateway.processID) - before
            #expect(grown < 16_384, "\(grown) KiB")
            try await socket.connection.setReading(true)
            var count = 0
            while count < 1 << 20 {
                let message = try await socket.nextMessage()
                if message["type"] == "data" { count += message.payload?.utf8.count ?? 0 }
            }
        }

        private func expectEcho(_ socket: TestWebSocket, _ target: TargetConnection, times: Int) async throws {
            for _ in 0..<times {
                try await socket.send(binary: [0x63])
                #expect(try await target.receive(1) == [0x63])
            }
        }
    }
}
