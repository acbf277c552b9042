import EdgeTestKit
import Testing

extension EdgeTests {
    /// A browser sends its client certificate for any page; only the page's origin distinguishes them.
    @Suite struct OriginTests {
        @Test func `an upgrade without Origin is admitted`() async throws {
            let edge = try await Edge.start()
            try await Edge.expectEcho(edge.gateway.open())
        }

        @Test func `the gateway's own origin is admitted`() async throws {
            let edge = try await Edge.start()
            let host = "localhost:\(edge.gateway.port)"
            let handshake = Handshake(host: host).adding("Origin", "http://\(host)")
            try await Edge.expectEcho(edge.gateway.open(handshake))
        }

        @Test func `the gateway's own origin is admitted over TLS`() async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await Edge.start { $0.tls(certificates) }
            let host = "localhost:\(edge.gateway.port)"
            try await Edge.expectEcho(edge.gateway.open(Handshake(host: host).adding("Origin", "https://\(host)")))
            let downgraded = Handshake(host: host).adding("Origin", "http://\(host)")
            expectRefusal(try await edge.gateway.refusal(downgraded), 403, "origin_refused")
        }

        @Test(
            arguments: [
                "https://evil.example", "http://localhost", "http://localhost:1", "null", "*", "localhost",
                "http://localhost.evil.example", "http://evil.example/http://localhost", "file://",
            ])
        func `another origin is refused`(origin: String) async throws {
            let edge = try await Edge.start()
            let handshake = Handshake(host: "localhost:\(edge.gateway.port)").adding("Origin", origin)
            expectRefusal(try await edge.gateway.refusal(handshake), 403, "origin_refused")
            #expect(edge.target.connectionCount == 0)
        }

        @Test func `a listed origin is admitted and similar ones are refused`() async throws {
            let edge = try await Edge.start {
                $0.setting("ALLOWED_ORIGINS", "https://play.example,https://mud.example:8443")
            }
            for origin in ["https://play.example", "https://mud.example:8443"] {
                try await Edge.expectEcho(edge.gateway.open(Handshake().adding("Origin", origin)))
            }
            for origin in [
                "http://play.example", "https://play.example:8443", "https://mud.example", "https://play.example.evil",
                "https://xplay.example", "https://play.example/",
            ] {
                expectRefusal(
                    try await edge.gateway.refusal(Handshake().adding("Origin", origin)), 403, "origin_refused")
            }
        }
    }
}
