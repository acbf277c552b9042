import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// The guide's own client code against the real binary.
    @Suite struct GuideFlowTests {
        @Test func `the guide's client registers and its headers open the WebSocket`() async throws {
            let certificates = try await DevCertificates.shared()
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple).tls(certificates) }
            let tls = TLSChoice(trustedCA: certificates.serverCA)
            let tunnel = try await TLSTunnel.start(to: edge.gateway.port, tls: tls)
            let proxyBaseURL = try #require(URL(string: "http://127.0.0.1:\(tunnel.port)"))
            let manager = AppAttestManager(service: SimulatedKeyService(apple: apple))
            try await manager.registerIfNeeded(proxyBaseURL: proxyBaseURL)
            #expect(await manager.loadKeyId() != nil)
            for _ in 0..<3 {
                let headers = try await manager.assertionHeaders(proxyBaseURL: proxyBaseURL)
                try await Edge.expectEcho(edge.gateway.open(Handshake().adding(headers), tls: tls))
            }
        }

        @Test func `the guide's client is told of a wrong bundle in the guide's words`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start {
                $0.appAttest(apple).setting("APPATTEST_BUNDLE_ID", "com.example.another")
            }
            let proxyBaseURL = try #require(URL(string: "http://127.0.0.1:\(edge.gateway.port)"))
            let manager = AppAttestManager(service: SimulatedKeyService(apple: apple))
            let error = await #expect(throws: AttestError.self) {
                try await manager.registerIfNeeded(proxyBaseURL: proxyBaseURL)
            }
            guard case .registrationFailed(let body) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(body.contains("rpIdHash does not match bundleId"))
            #expect(await manager.loadKeyId() == nil)
        }

        /// The guide's table of errors: the server that wasn't configured for App Attest.
        @Test func `the guide's client fails if App Attest isn't configured`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start()
            let proxyBaseURL = try #require(URL(string: "http://127.0.0.1:\(edge.gateway.port)"))
            let manager = AppAttestManager(service: SimulatedKeyService(apple: apple))
            await #expect(throws: (any Error).self) { try await manager.registerIfNeeded(proxyBaseURL: proxyBaseURL) }
        }
    }
}
