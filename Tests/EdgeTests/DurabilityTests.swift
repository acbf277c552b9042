import EdgeTestKit
import Testing

extension EdgeTests {
    /// Answers remain true after a `kill -9`.
    @Suite struct DurabilityTests {
        @Test func `a key survives a kill right after its 200`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple) }
            var gateway = edge.gateway
            var devices: [TestDevice] = []
            for _ in 0..<5 {
                devices.append(try await apple.enrolledDevice(at: gateway))
                try await gateway.killNow()
                gateway = try await GatewayProcess.start(gateway.settings, in: gateway.directory)
                for device in devices { try await Edge.expectEcho(gateway.open(device.handshake(at: gateway))) }
            }
        }

        @Test func `an assertion can't be replayed after a kill right after its 101`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple) }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            var gateway = edge.gateway
            for round in 1...5 as ClosedRange<UInt32> {
                let handshake = try await device.handshake(at: gateway, counter: round * 10)
                _ = try await gateway.open(handshake)
                try await gateway.killNow()
                gateway = try await GatewayProcess.start(gateway.settings, in: gateway.directory)
                expectRefusal(try await gateway.refusal(handshake), 401, "invalid_nonce")
                for counter in [round * 10, round * 10 - 1] {
                    let replay = try await device.handshake(at: gateway, counter: counter)
                    expectRefusal(try await gateway.refusal(replay), 401, "assertion_rejected")
                }
            }
        }

        @Test func `a revocation survives a kill`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple) }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let revoked = try await edge.gateway.keys("revoke", device.keyID)
            #expect(revoked.ending == .exited(0), "\(revoked)")
            try await edge.gateway.killNow()
            let again = try await GatewayProcess.start(edge.gateway.settings, in: edge.gateway.directory)
            expectRefusal(try await again.refusal(device.handshake(at: again)), 403, "key_revoked")
        }
    }
}
