import EdgeTestKit
import Testing

extension EdgeTests {
    /// A client that fails too often must wait; a valid credential is still accepted.
    @Suite struct FailureLimitTests {
        @Test func `after ten failures further upgrades get 429`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple) }
            for _ in 0..<10 {
                expectRefusal(try await edge.gateway.refusal(Handshake()), 401, "app_auth_required")
            }
            let refused = try await edge.gateway.refusal(Handshake())
            expectRefusal(refused, 429, "rate_limited")
            let wait = try #require(refused["retry-after"].flatMap { Int($0) })
            #expect(wait >= 1 && wait <= 60)
        }

        @Test func `a valid assertion is admitted above the failure limit`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple) }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            for _ in 0..<11 { _ = try await edge.gateway.refusal(Handshake()) }
            try await Edge.expectEcho(edge.gateway.open(device.handshake(at: edge.gateway)))
        }

        @Test func `a valid certificate is admitted above the failure limit`() async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await Edge.start {
                $0.tls(certificates).clientCA(certificates).setting("REQUIRE_APP_AUTH", "true")
            }
            for _ in 0..<11 { _ = try await edge.gateway.refusal(Handshake()) }
            try await Edge.expectEcho(edge.gateway.open(tls: TLSChoice(identity: certificates.client)))
        }

        @Test func `successes don't count as failures`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple) }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            for _ in 0..<15 { try await Edge.expectEcho(edge.gateway.open(device.handshake(at: edge.gateway))) }
            expectRefusal(try await edge.gateway.refusal(Handshake()), 401, "app_auth_required")
        }
    }
}
