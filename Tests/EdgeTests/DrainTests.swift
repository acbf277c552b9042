import EdgeTestKit
import Testing

extension EdgeTests {
    /// SIGTERM: no new clients, every client is told, and the process ends in time.
    @Suite struct DrainTests {
        @Test func `a drain tells all clients and exits with status 0`() async throws {
            let edge = try await Edge.start { $0.setting("SHUTDOWN_GRACE_MS", 8000) }
            let socket = try await edge.gateway.open()
            try await Edge.expectEcho(socket)
            edge.gateway.terminate()
            let health = try await drainingHealth(of: edge.gateway)
            #expect(health.field("status") == "draining")
            #expect(health.field("version")?.isEmpty == false)
            let refused = try await edge.gateway.refusal(Handshake())
            expectRefusal(refused, 503, "draining")
            #expect(refused["retry-after"] != nil)
            try await Edge.expectEcho(socket)
            #expect(try await socket.closedByServer().code == 1001)
            #expect(try await edge.gateway.child.ended().ending == .exited(0))
        }

        @Test func `a drain spends no challenge`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start {
                $0.appAttest(apple).setting("SHUTDOWN_GRACE_MS", 600_000).setting("SHUTDOWN_DEADLINE_MS", 3_600_000)
            }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let held = try await edge.gateway.open(device.handshake(at: edge.gateway))
            try await Edge.expectEcho(held)
            let handshake = try await device.handshake(at: edge.gateway)
            edge.gateway.terminate()
            _ = try await drainingHealth(of: edge.gateway)
            for _ in 0..<2 { expectRefusal(try await edge.gateway.refusal(handshake), 503, "draining") }
            try await Edge.expectEcho(held)
        }

        /// A client that never answers the Close can't delay the exit.
        @Test func `a client that doesn't leave is dropped at the deadline`() async throws {
            let edge = try await Edge.start(.deaf) {
                $0.setting("SHUTDOWN_GRACE_MS", 100).setting("SHUTDOWN_DEADLINE_MS", 2000)
            }
            let stubborn = try await edge.gateway.open()
            for _ in 0..<100 {
                stubborn.connection.post(WebSocketFrame.binary([UInt8](repeating: 0, count: 65_536)).encoded())
            }
            try await stubborn.connection.setReading(false)
            edge.gateway.terminate()
            let output = try await edge.gateway.child.ended(within: .seconds(15))
            if case .signalled = output.ending { Issue.record("it was killed: \(output)") }
        }

        @Test func `without sessions the gateway exits with status 0`() async throws {
            let edge = try await Edge.start()
            let output = try await edge.gateway.stop()
            #expect(output.ending == .exited(0), "\(output)")
        }

        /// The grace period is for sessions: without any, or after the last one has ended, the process doesn't wait.
        @Test(arguments: [false, true])
        func `the grace period ends with the last session`(hasSession: Bool) async throws {
            let edge = try await Edge.start {
                $0.setting("SHUTDOWN_GRACE_MS", 600_000).setting("SHUTDOWN_DEADLINE_MS", 3_600_000)
            }
            let socket = hasSession ? try await edge.gateway.open() : nil
            if let socket { try await Edge.expectEcho(socket) }
            edge.gateway.terminate()
            try await edge.gateway.errorLine("draining", "count=\(hasSession ? 1 : 0)", "600000")
            if let socket {
                try await Edge.expectEcho(socket)
                try await socket.close()
            }
            #expect(try await edge.gateway.child.ended().ending == .exited(0))
        }

        @Test func `the target's bytes reach the client before 1001`() async throws {
            let edge = try await Edge.start(.scripted) { $0.setting("SHUTDOWN_GRACE_MS", 500) }
            let socket = try await edge.gateway.open(Handshake().offering("binary"))
            let target = try await edge.target.connection()
            let payload = [UInt8](repeating: 3, count: 100_000)
            target.post(payload)
            edge.gateway.terminate()
            let (received, close) = try await socket.receiveToClose()
            #expect(received == payload)
            #expect(close.code == 1001)
            #expect(try await target.receiveToEnd() == [])
        }

        /// Polls `/health` until it reports the drain.
        private func drainingHealth(of gateway: GatewayProcess) async throws -> ReceivedAnswer {
            let deadline = ContinuousClock.now.advanced(by: .seconds(20))
            while ContinuousClock.now < deadline {
                let answer = try await gateway.get("/health")
                if answer.status == 503 { return answer }
            }
            throw EdgeTestError("no drain")
        }
    }
}
