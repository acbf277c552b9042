import EdgeTestKit
import Testing

extension EdgeTests {
    /// When the process has no descriptor left for another connection.
    @Suite struct DescriptorTests {
        private static let maximumFiles = 100

        @Test func newConnectionsWaitWhileNoDescriptorIsFreeAndNothingSpins() async throws {
            let target = try await TargetServer.start(.echo)
            let settings = GatewaySettings(targetPort: target.port).setting("REACTOR_THREADS", 1)
                .setting("MAX_CONNECTIONS", 1000).setting("MAX_CONNECTIONS_PER_ADDRESS", 1000)
            let gateway = try await GatewayProcess.start(settings, maximumFiles: Self.maximumFiles)
            let standing = try await gateway.open()
            let clients = try await inParallel(Self.maximumFiles) { _ in try await gateway.connect() }
            try await gateway.errorLine("new connections wait")
            try await untilAsleep(gateway)
            // What stands goes on.
            try await Edge.expectEcho(standing)
            for client in clients { await client.close() }
            try await Edge.expectEcho(standing)
            #expect(try await gateway.get("/health").status == 200)
        }

        private func untilAsleep(_ gateway: GatewayProcess) async throws {
            let deadline = ContinuousClock.now.advanced(by: .seconds(30))
            while try !ProcessThreads.areAsleep(of: gateway.processID) {
                try #require(ContinuousClock.now < deadline, "a thread spins")
                await Task.yield()
            }
        }
    }
}
