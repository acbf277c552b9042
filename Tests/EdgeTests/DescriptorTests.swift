import EdgeTestKit
import Testing

extension EdgeTests {
    /// The process has no descriptor left for another connection.
    @Suite struct DescriptorTests {
        private static let maximumFiles = 100

        @Test func `without a free descriptor new connections wait and no thread spins`() async throws {
            let target = try await TargetServer.start(.echo)
            let settings = GatewaySettings(targetPort: target.port).setting("REACTOR_THREADS", 1)
                .setting("MAX_CONNECTIONS", 1000).setting("MAX_CONNECTIONS_PER_ADDRESS", 1000)
            let gateway = try await GatewayProcess.start(settings, maximumFiles: Self.maximumFiles)
            let standing = try await gateway.open()
            let clients = try await inParallel(Self.maximumFiles) { _ in try await gateway.connect() }
            try await gateway.errorLine("new connections wait")
            try await untilAsleep(gateway)
            // Existing sessions continue.
            try await Edge.expectEcho(standing)
            for client in clients { await client.close() }
            try await Edge.expectEcho(standing)
            #expect(try await gateway.get("/health").status == 200)
        }

        /// A tool that connects to the control socket then waits too, and is answered afterwards.
        @Test func `without a free descriptor the control socket doesn't spin`() async throws {
            let directory = try TemporaryDirectory()
            let path = directory.file("control.sock")
            let target = try await TargetServer.start(.echo)
            let settings = GatewaySettings(targetPort: target.port).setting("REACTOR_THREADS", 1)
                .setting("MAX_CONNECTIONS", 1000).setting("MAX_CONNECTIONS_PER_ADDRESS", 1000)
                .setting("CONTROL_SOCKET_PATH", path)
            let gateway = try await GatewayProcess.start(settings, maximumFiles: Self.maximumFiles)
            let clients = try await inParallel(Self.maximumFiles) { _ in try await gateway.connect() }
            try await gateway.errorLine("new connections wait")
            let tool = try await RawConnection.open(socketPath: path)
            try await tool.send("{}\n")
            try await untilAsleep(gateway)
            #expect(tool.stream.current.totalReceived == 0, "it has calmed down only when descriptors came free")
            for client in clients { await client.close() }
            #expect(try await !tool.receiveToEnd().isEmpty)
        }

        private func untilAsleep(_ gateway: GatewayProcess) async throws {
            try await Poll.untilTrue("all threads asleep", within: .seconds(30)) {
                try ProcessThreads.areAsleep(of: gateway.processID)
            }
        }
    }
}
