import EdgeTestKit
import Testing

extension EdgeTests {
    /// Another process holds the store's write lock: the reactors must not wait for it.
    @Suite(.enabled(if: StoreLock.isAvailable, "needs the sqlite3 program"))
    struct StoreLockTests {
        @Test func `echo continues and upgrades get 503`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple).setting("REACTOR_THREADS", 1) }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let live = try await edge.gateway.open(device.handshake(at: edge.gateway))
            let lock = try await StoreLock.take(edge.gateway.storePath)
            for _ in 0..<3 {
                let refused = try await edge.gateway.refusal(device.handshake(at: edge.gateway))
                expectRefusal(refused, 503, "store_unavailable")
                #expect(refused["retry-after"] != nil)
                try await Edge.expectEcho(live)
            }
            try await edge.expectHealthy()
            try await lock.release()
            try await Edge.expectEcho(edge.gateway.open(device.handshake(at: edge.gateway)))
        }

        @Test func `echo continues while a registration waits`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple).setting("REACTOR_THREADS", 1) }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let live = try await edge.gateway.open(device.handshake(at: edge.gateway))
            let lock = try await StoreLock.take(edge.gateway.storePath)
            let gateway = edge.gateway
            async let registration = apple.device().register(at: gateway)
            for _ in 0..<20 { try await Edge.expectEcho(live) }
            let answer = try await registration
            #expect(answer.status == 503, "\(answer)")
            #expect(answer.code == "attestation_unavailable")
            try await lock.release()
            #expect(try await apple.device().register(at: gateway).status == 200)
        }
    }
}
