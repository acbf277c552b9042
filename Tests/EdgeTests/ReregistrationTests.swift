import EdgeTestKit
import Testing

extension EdgeTests {
    /// The data that a key keeps when it is registered again.
    @Suite struct ReregistrationTests {
        let apple: SimulatedApple

        init() throws {
            apple = try SimulatedApple()
        }

        @Test func `registering again never lowers the counter`() async throws {
            let edge = try await Edge.start { $0.appAttest(apple) }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            _ = try await edge.gateway.open(device.handshake(at: edge.gateway, counter: 5))
            #expect(try await device.register(at: edge.gateway).text == #"{"registered":true}"#)
            let replayed = try await edge.gateway.refusal(device.handshake(at: edge.gateway, counter: 5))
            expectRefusal(replayed, 401, "assertion_rejected")
            try await Edge.expectEcho(edge.gateway.open(device.handshake(at: edge.gateway, counter: 6)))
        }

        @Test func `a known key is verified in full again`() async throws {
            let edge = try await Edge.start { $0.appAttest(apple) }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let body = try device.registration(
                nonce: try await edge.gateway.challenge(), signing: String(repeating: "1", count: 64))
            expectRefusal(try await edge.gateway.post("/attest/register", body), 400, "attestation_rejected")
        }

        @Test func `a key of an app that is no longer configured is unknown`() async throws {
            try await expectUnknown { $0.setting("APPATTEST_BUNDLE_ID", "com.example.renamed") }
        }

        @Test func `a key of a root that is no longer trusted is unknown`() async throws {
            let another = try SimulatedApple()
            try await expectUnknown { $0.setting("APPATTEST_ROOT_CA_PATH", another.rootPath) }
        }

        @Test func `a key of an environment that is no longer allowed is unknown`() async throws {
            try await expectUnknown { $0.setting("APPATTEST_ENVIRONMENT", "development") }
        }

        /// Enrols a device, restarts the gateway with other settings on the same store, and offers an assertion.
        private func expectUnknown(after change: (GatewaySettings) -> GatewaySettings) async throws {
            let edge = try await Edge.start { $0.appAttest(apple) }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            try await edge.gateway.stop()
            let restarted = try await GatewayProcess.start(change(edge.gateway.settings), in: edge.gateway.directory)
            let answer = try await restarted.refusal(device.handshake(at: restarted))
            expectRefusal(answer, 401, "unknown_key")
            #expect(answer.errorText == "Unknown key: requires re-attestation")
        }
    }
}
