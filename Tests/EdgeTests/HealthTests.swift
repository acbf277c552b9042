import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Start, health, listening addresses and `check-config`.
    @Suite struct HealthTests {
        @Test func `health reports status and version`() async throws {
            let edge = try await Edge.start()
            let answer = try await edge.gateway.get("/health")
            #expect(answer.status == 200)
            #expect(answer.field("status") == "healthy")
            #expect(answer.field("version")?.isEmpty == false)
        }

        @Test func `health and log warn about a custom trust root`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple) }
            let answer = try await edge.gateway.get("/health")
            #expect(answer.status == 200)
            #expect(answer.text.lowercased().contains("root"), "\(answer)")
            try await edge.gateway.logLine("APPATTEST_ROOT_CA_PATH")
        }

        /// With IPv6 compiled in, libwebsockets takes "127.0.0.1" for every interface. The gateway's own sockets must
        /// not.
        @Test func `the gateway listens on its address only`() async throws {
            let edge = try await Edge.start()
            let connection = try await RawConnection.open(port: edge.gateway.port)
            try await connection.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try await connection.answer().status == 200)
            for host in ["127.0.0.2", "::1"] {
                await #expect(throws: (any Error).self, "\(host)") {
                    try await RawConnection.open(port: edge.gateway.port, host: host)
                }
            }
        }

        @Test(.enabled(if: Loopback.hasIPv6, "this machine has no ::1"))
        func `the gateway listens on IPv6 if configured`() async throws {
            let edge = try await Edge.start { $0.setting("BIND_HOST", "::1") }
            let connection = try await RawConnection.open(port: edge.gateway.port, host: "::1")
            try await connection.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try await connection.answer().status == 200)
        }

        @Test
        func `on all addresses it serves IPv4 and IPv6 and limits IPv4 clients by their own address`() async throws {
            let edge = try await Edge.start {
                $0.setting("BIND_HOST", "::").setting("ALLOW_INSECURE_INBOUND_NO_TLS", "true")
            }
            for host in Loopback.addresses {
                let connection = try await RawConnection.open(port: edge.gateway.port, host: host)
                try await connection.send("GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n")
                #expect(try await connection.answer().status == 404)
                try await edge.gateway.errorLine("request refused", "address=\(host)")
            }
        }

        @Test(.enabled(if: Loopback.hasIPv6, "this machine has no ::1"))
        func `the gateway listens on several addresses with one port and on no other`() async throws {
            let edge = try await Edge.start { $0.setting("BIND_HOST", "127.0.0.1, ::1,127.0.0.3") }
            let port = edge.gateway.port
            try await edge.gateway.errorLine(
                "listening on http://127.0.0.1:\(port) and http://[::1]:\(port) and http://127.0.0.3:\(port)")
            for host in ["127.0.0.1", "::1", "127.0.0.3"] {
                for _ in 0..<4 {
                    let connection = try await RawConnection.open(port: port, host: host)
                    try await connection.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    #expect(try await connection.answer().status == 200)
                }
            }
            await #expect(throws: (any Error).self) { try await RawConnection.open(port: port, host: "127.0.0.2") }
        }

        /// The sockets share their address among the reactors; they must not share it with another gateway's.
        @Test func `a second gateway on the same address doesn't start`() async throws {
            let first = try await Edge.start()
            let settings = GatewaySettings(targetPort: 1).setting("WS_PORT", first.gateway.port)
            let second = try await GatewayProcess.run(["serve"], settings)
            #expect(second.ending == .exited(1), "\(second)")
            #expect(
                second.errorText.contains("portcullis: error: 127.0.0.1:\(first.gateway.port) can't be listened on: "))
            try await first.expectHealthy()
            try await first.gateway.stop()
            let third = try await GatewayProcess.start(settings)
            #expect(third.port == first.gateway.port)
        }

        @Test func `Strict-Transport-Security is sent over TLS only`() async throws {
            let certificates = try await DevCertificates.shared()
            let plain = try await Edge.start()
            #expect(try await plain.gateway.get("/health")["strict-transport-security"] == nil)
            let secured = try await Edge.start { $0.tls(certificates) }
            #expect(try await secured.gateway.get("/health")["strict-transport-security"] == "max-age=31536000")
        }

        @Test func `the age of Strict-Transport-Security is a setting that a reload changes`() async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await Edge.start { $0.tls(certificates).setting("HSTS_MAX_AGE_SECONDS", 300) }
            #expect(try await edge.gateway.get("/health")["strict-transport-security"] == "max-age=300")
            let lines = edge.gateway.settings.setting("HSTS_MAX_AGE_SECONDS", 0).values.map {
                "\($0.key)=\($0.value)\n"
            }
            try edge.gateway.directory.write(lines.joined(), to: "portcullis.env")
            edge.gateway.child.signal(SIGHUP)
            try await edge.gateway.errorLine(" reloaded")
            #expect(try await edge.gateway.get("/health")["strict-transport-security"] == "max-age=0")
        }

        @Test func `plain text on a public address is refused`() async throws {
            let settings = GatewaySettings(targetPort: 1).setting("BIND_HOST", "0.0.0.0")
            let result = try await GatewayProcess.run(["check-config"], settings)
            #expect(result.ending != .exited(0))
            #expect((result.errorText + result.outputText).contains("ALLOW_INSECURE_INBOUND_NO_TLS"), "\(result)")
        }

        @Test func `check-config accepts a valid configuration without listening`() async throws {
            let certificates = try await DevCertificates.shared()
            let settings = GatewaySettings(targetPort: 1).tls(certificates).clientCA(certificates)
            let result = try await GatewayProcess.run(["check-config"], settings)
            #expect(result.ending == .exited(0), "\(result)")
        }

        @Test func `an unwritable store prevents the start`() async throws {
            let directory = try TemporaryDirectory()
            let blocked = try directory.write("not a folder", to: "blocked")
            let apple = try SimulatedApple()
            let settings = GatewaySettings(targetPort: 1).appAttest(apple)
                .setting("ATTESTED_KEYS_PATH", blocked + "/keys.sqlite")
            await #expect(throws: EdgeTestError.self) { try await GatewayProcess.start(settings) }
        }

        @Test func `a custom root requires its permission`() async throws {
            let apple = try SimulatedApple()
            let settings = GatewaySettings(targetPort: 1).appAttest(apple).removing("APPATTEST_ALLOW_CUSTOM_ROOT")
            let result = try await GatewayProcess.run(["check-config"], settings)
            #expect(result.ending != .exited(0))
            #expect((result.errorText + result.outputText).contains("APPATTEST_ALLOW_CUSTOM_ROOT"), "\(result)")
        }
    }
}
