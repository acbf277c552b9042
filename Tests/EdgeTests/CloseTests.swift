import EdgeTestKit
import Testing

extension EdgeTests {
    /// How sessions end, and that nothing queued is lost at the end.
    @Suite struct CloseTests {
        @Test func `a client's Close frame is answered and the target gets a FIN`() async throws {
            let edge = try await Edge.start(.scripted)
            let socket = try await edge.gateway.open()
            let target = try await edge.target.connection()
            let close = try await socket.close(1000)
            #expect(close.code == 1000)
            #expect(try await target.receiveToEnd() == [])
        }

        @Test(arguments: [1000, 1001, 1003, 1007, 1008, 1011, 3000, 4999] as [UInt16])
        func `every code that a client may send is answered`(code: UInt16) async throws {
            let edge = try await Edge.start()
            let socket = try await edge.gateway.open()
            #expect(try await socket.close(code).code == Int(code))
        }

        @Test func `an empty Close frame is answered`() async throws {
            let edge = try await Edge.start()
            let socket = try await edge.gateway.open()
            try await socket.send(.close(nil))
            let close = try await socket.receiveToClose().close
            #expect(close.code == nil || close.code == 1000)
            _ = try await socket.connection.receiveToEnd()
        }

        @Test func `what the client sent before its Close frame is written before the FIN`() async throws {
            let edge = try await Edge.start(.deaf)
            let socket = try await edge.gateway.open()
            let target = try await edge.target.connection()
            var generator = SeededGenerator(seed: 3)
            let payload = generator.bytes(50_000)
            socket.connection.post(WebSocketFrame.binary(payload).encoded() + WebSocketFrame.close(1000).encoded())
            try await target.setReading(true)
            #expect(try await target.receiveToEnd() == payload)
        }

        @Test func `nothing after the client's Close frame is delivered`() async throws {
            let edge = try await Edge.start(.scripted)
            let socket = try await edge.gateway.open()
            let target = try await edge.target.connection()
            socket.connection.post(
                WebSocketFrame.text("before").encoded() + WebSocketFrame.close(1000).encoded()
                    + WebSocketFrame.text("after").encoded())
            #expect(try await target.receiveToEnd() == Array("before".utf8))
        }

        @Test func `the loss of the client ends the target's connection`() async throws {
            let edge = try await Edge.start(.scripted)
            let socket = try await edge.gateway.open()
            let target = try await edge.target.connection()
            try await socket.send(text: "x")
            _ = try await target.receive(1)
            await socket.connection.reset()
            #expect(try await target.receiveToEnd() == [])
            try await edge.expectHealthy()
        }

        @Test func `the target's last bytes reach the client before the Close frame with 1000`() async throws {
            let edge = try await Edge.start(.scripted)
            let socket = try await edge.gateway.open()
            let target = try await edge.target.connection()
            var generator = SeededGenerator(seed: 4)
            let farewell = generator.bytes(300_000)
            target.post(farewell)
            try await target.finish()
            let (payload, close) = try await socket.receiveToClose()
            #expect(payload == farewell)
            #expect(close.code == 1000)
        }

        @Test func `a slow client gets the target's last bytes`() async throws {
            let edge = try await Edge.start(.scripted)
            let socket = try await edge.gateway.open(receiveBuffer: 262_144)
            let target = try await edge.target.connection()
            try await socket.connection.setReading(false)
            let farewell = [UInt8](repeating: 9, count: 4_000_000)
            target.post(farewell)
            target.postFinish()
            for _ in 0..<5 { try await edge.expectHealthy() }
            try await socket.connection.setReading(true)
            let (payload, close) = try await socket.receiveToClose()
            #expect(payload == farewell)
            #expect(close.code == 1000)
        }

        /// The target has closed only its sending direction: the gateway's buffered data is still written to it. The
        /// gateway's log shows the amount beyond the kernel's buffers.
        @Test func `bytes queued for a target that has half-closed are still written`() async throws {
            let edge = try await Edge.start(.deaf)
            let socket = try await edge.gateway.open()
            let target = try await edge.target.connection()
            var generator = SeededGenerator(seed: 5)
            let payload = generator.bytes(65_536)
            for _ in 0..<160 { socket.connection.post(WebSocketFrame.binary(payload).encoded()) }
            try await edge.expectHealthy()
            try await target.finish()
            try await target.setReading(true)
            let received = try await target.receiveToEnd()
            #expect(try await socket.closedByServer().code == 1000)
            let line = try await edge.gateway.logLine("session ended")
            let taken = try #require(line.firstMatch(of: /bytesFromClient=([0-9]+)/)).1
            #expect(received.count == Int(taken))
            #expect(received.count > 262_144)
            #expect(received == Array([[UInt8]](repeating: payload, count: 160).joined().prefix(received.count)))
        }

        @Test func `a target that resets the connection ends the session`() async throws {
            let edge = try await Edge.start(.scripted)
            let socket = try await edge.gateway.open()
            let target = try await edge.target.connection()
            try await target.send("x")
            #expect(try await socket.receiveText(1) == "x")
            await target.reset()
            let close = try await socket.closedByServer()
            #expect(close.code != nil)
            try await edge.expectHealthy()
        }

        @Test func `a refused dial closes the session with 1014`() async throws {
            let edge = try await Edge.start()
            await edge.target.stopListening()
            let socket = try await edge.gateway.open()
            let close = try await socket.closedByServer()
            #expect(close.code == 1014)
            #expect(!close.reason.isEmpty && close.reason.utf8.count <= 123)
        }

        @Test func `a dial without an answer closes the session with 1014 at its time limit`() async throws {
            let silent = try SilentPort()
            let edge = try await Edge.start {
                $0.setting("TN_PORT", silent.port).setting("MUD_DIAL_TIMEOUT_MS", 300)
            }
            #expect(try await edge.gateway.open().closedByServer().code == 1014)
        }

        @Test func `a client that leaves during the dial leaves no connection behind`() async throws {
            let silent = try SilentPort()
            let edge = try await Edge.start {
                $0.setting("TN_PORT", silent.port).setting("MUD_DIAL_TIMEOUT_MS", 60_000)
            }
            _ = try await edge.gateway.open().close()
            let before = try ProcessMemory.openFiles(of: edge.gateway.processID)
            for _ in 0..<20 { await (try await edge.gateway.open()).connection.reset() }
            _ = try await edge.gateway.open().close()
            let deadline = ContinuousClock.now.advanced(by: .seconds(20))
            while try ProcessMemory.openFiles(of: edge.gateway.processID) > before + 3 {
                try #require(ContinuousClock.now < deadline, "sockets are left over")
                try await edge.expectHealthy()
            }
        }
    }
}
