import EdgeTestKit
import Testing

extension EdgeTests {
    /// The disk of the key store is full: what can't be stored isn't granted.
    @Suite(.enabled(if: SmallDisk.isAvailable, "this user may not mount a tmpfs in a namespace (unshare)"))
    struct FullDiskTests {
        @Test func `no client is admitted whose counter can't be stored until the disk has room again`() async throws {
            let apple = try SimulatedApple()
            let disk = try SmallDisk()
            let target = try await TargetServer.start(.echo)
            let settings = GatewaySettings(targetPort: target.port).appAttest(apple).setting("REACTOR_THREADS", 1)
            let gateway = try await GatewayProcess.start(settings, disk: disk)
            let device = try await apple.enrolledDevice(at: gateway)
            let live = try await gateway.open(device.handshake(at: gateway, counter: 10))

            try disk.fill(of: gateway.processID)
            let refused = try await firstRefusedCounter(of: device, from: 11, at: gateway)
            try await Edge.expectEcho(live)
            let late = try apple.device()
            let answer = try await late.register(at: gateway)
            expectRefusal(answer, 503, "attestation_unavailable")
            #expect(answer["retry-after"] != nil)
            expectRefusal(try await gateway.refusal(late.handshake(at: gateway)), 401, "unknown_key")
            try await Edge.expectEcho(live)

            try disk.empty(of: gateway.processID)
            // It wasn't used up then, and is now.
            try await Edge.expectEcho(gateway.open(device.handshake(at: gateway, counter: refused)))
            let again = try await gateway.refusal(device.handshake(at: gateway, counter: refused))
            expectRefusal(again, 401, "assertion_rejected")
            #expect(try await late.register(at: gateway).status == 200)
            try await Edge.expectEcho(gateway.open(late.handshake(at: gateway)))
            try await Edge.expectEcho(live)
        }

        /// The store's WAL may already have space for a few writes, so a few requests may succeed before the first
        /// refusal.
        private func firstRefusedCounter(
            of device: TestDevice, from first: UInt32, at gateway: GatewayProcess
        ) async throws -> UInt32 {
            for counter in first..<first + 100 {
                switch try await gateway.attempt(device.handshake(at: gateway, counter: counter)) {
                case .open(let socket):
                    await socket.connection.close()
                    let replay = try await gateway.refusal(device.handshake(at: gateway, counter: counter))
                    expectRefusal(replay, 401, "assertion_rejected")
                case .refused(let answer, _):
                    expectRefusal(answer, 503, "store_unavailable")
                    #expect(answer["retry-after"] != nil)
                    return counter
                }
            }
            throw EdgeTestError("nobody was refused")
        }
    }
}
