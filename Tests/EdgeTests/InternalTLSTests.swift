import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// TLS and client certificates on the internal listener, with real clients.
    @Suite struct InternalTLSTests {
        private static let token = "token-of-thirty-two-letters-or-more"
        private let directory: TemporaryDirectory
        private let certificates: DevCertificates

        init() async throws {
            directory = try TemporaryDirectory()
            certificates = try await DevCertificates.shared()
        }

        /// Reachable by other machines, and with the server's certificate.
        private func start(_ change: (GatewaySettings) -> GatewaySettings = { $0 }) async throws -> GatewayProcess {
            try await Edge.start {
                change(
                    $0.tls(certificates).setting("ADMIN_BIND", "0.0.0.0:0")
                        .setting("ADMIN_CLIENT_CA_PATH", certificates.clientCA))
            }.gateway
        }

        private func get(
            _ path: String, of gateway: GatewayProcess, _ identity: DevCertificates.Identity? = nil,
            fields: String = "", trusting authority: String? = nil, only version: TLSChoice.Version? = nil
        ) async throws -> ReceivedAnswer {
            let tls = TLSChoice(
                trustedCA: authority ?? certificates.serverCA, identity: identity, only: version)
            return try await gateway.ask("GET \(path) HTTP/1.1\r\nHost: x\r\n\(fields)\r\n", tls: tls)
        }

        /// The connection ends, and the request that was sent on it has no answer.
        private func expectClosed(
            _ gateway: GatewayProcess, _ identity: DevCertificates.Identity?, only version: TLSChoice.Version? = nil,
            _ comment: Comment? = nil
        ) async throws {
            let tls = TLSChoice(identity: identity, only: version)
            let connection = try await RawConnection.open(port: gateway.internalPort(), tls: tls)
            connection.post(Array("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
            #expect(try await connection.receiveToEnd().isEmpty, comment)
        }

        private func refusals(_ reason: String, of gateway: GatewayProcess) async throws -> Int? {
            let metrics = try await get("/metrics", of: gateway, certificates.client).text
            let name = "portcullis_internal_connections_refused_total{reason=\"\(reason)\"} "
            let line = metrics.split(separator: "\n").first { $0.hasPrefix(name) }
            return line.flatMap { Int($0.dropFirst(name.count)) }
        }

        private var wrong: [DevCertificates.Identity] {
            [
                certificates.expiredClient, certificates.foreignClient, certificates.selfSignedClient,
                certificates.clientOfServerCA, certificates.serverOnlyClient,
            ]
        }

        @Test(arguments: [TLSChoice.Version.tls12, .tls13])
        func `a certificate of the authority admits, and no other does`(version: TLSChoice.Version) async throws {
            let gateway = try await start()
            let answer = try await get("/livez", of: gateway, certificates.client, only: version)
            #expect(answer.status == 200, "\(answer)")
            for identity in wrong { try await expectClosed(gateway, identity, only: version, "\(identity)") }
            try await expectClosed(gateway, nil, only: version)
            #expect(try await refusals("no_certificate", of: gateway) == wrong.count + 1)
            try await gateway.errorLine("internal connection refused", "no_certificate", "127.0.0.1")
        }

        @Test func `with a token and an authority either suffices`() async throws {
            let path = try directory.write(Self.token, to: "admin.token")
            let gateway = try await start { $0.setting("ADMIN_TOKEN_PATH", path) }
            let field = "Authorization: Bearer \(Self.token)\r\n"
            #expect(try await get("/livez", of: gateway, certificates.client).status == 200)
            #expect(try await get("/livez", of: gateway, fields: field).status == 200)
            #expect(try await get("/livez", of: gateway, certificates.foreignClient, fields: field).status == 200)
            for identity in wrong.map(Optional.some) + [nil] {
                let answer = try await get("/livez", of: gateway, identity)
                #expect(answer.status == 401 && answer["www-authenticate"] != nil, "\(answer)")
            }
        }

        /// The listener stays until a restart.
        @Test func `a reload without the listener's address takes neither its token nor its authority away`()
            async throws
        {
            let path = try directory.write(Self.token, to: "admin.token")
            let gateway = try await start { $0.setting("ADMIN_TOKEN_PATH", path) }
            try await gateway.reload(gateway.settings.removing("ADMIN_BIND"))
            let field = "Authorization: Bearer \(Self.token)\r\n"
            #expect(try await get("/livez", of: gateway, certificates.client).status == 200)
            #expect(try await get("/livez", of: gateway, fields: field).status == 200)
            #expect(try await get("/livez", of: gateway, nil).status == 401)
            let metrics = try await get("/metrics", of: gateway, certificates.client).text
            #expect(metrics.contains("_expiry_timestamp_seconds{certificate=\"admin_client_ca\"}"), "\(metrics)")
        }

        @Test func `on a loopback address a certificate of its own makes the listener speak TLS`() async throws {
            let other = certificates.otherServer
            let gateway = try await start {
                $0.setting("ADMIN_BIND", "127.0.0.1:0").removing("ADMIN_CLIENT_CA_PATH")
                    .setting("ADMIN_TLS_CERT_PATH", other.certificate).setting("ADMIN_TLS_KEY_PATH", other.key)
            }
            let answer = try await get("/livez", of: gateway, trusting: certificates.otherServerCA)
            #expect(answer.status == 200, "\(answer)")
            await #expect(throws: (any Error).self) { try await get("/livez", of: gateway) }
        }

        @Test func `what isn't TLS 1_2 or later is closed and counted`() async throws {
            let gateway = try await start()
            let port = try await gateway.internalPort()
            let plain = "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
            for text in [plain, "\u{16}\u{3}\u{1}", String(repeating: "x", count: 70_000)] {
                let connection = try await RawConnection.open(port: port)
                connection.post(Array(text.utf8))
                if text.utf8.count == 3 { try await connection.finishSending() }
                let bytes = try await connection.receiveToEnd()
                #expect(!String(decoding: bytes, as: UTF8.self).contains("HTTP/"), "\(bytes)")
            }
            #expect(try await refusals("handshake_failed", of: gateway) == 3)
            for version in ["-tls1", "-tls1_1"] {
                let old = try await ChildProcess.run(
                    "openssl",
                    [
                        "s_client", "-connect", "127.0.0.1:\(port)", version, "-cipher", "ALL:@SECLEVEL=0", "-cert",
                        certificates.client.certificate, "-key", certificates.client.key, "-ign_eof",
                    ], input: "")
                #expect(old.ending != .exited(0), "\(old)")
            }
            #expect(try await refusals("handshake_failed", of: gateway) == 5)
            #expect(gateway.output.errorLines.count { $0.contains("internal connection refused") } == 1)
        }

        @Test func `a peer that doesn't finish its handshake is closed`() async throws {
            let gateway = try await start()
            let silent = try await RawConnection.open(port: gateway.internalPort())
            #expect(try await silent.receiveToEnd().isEmpty)
            #expect(try await refusals("handshake_timed_out", of: gateway) == 1)
        }

        @Test func `a reload replaces the certificate and the authority, also under open connections`() async throws {
            let files = ["server.crt", "server.key", "ca.pem"].map { directory.file($0) }
            func put(_ sources: [String]) throws {
                for (source, path) in zip(sources, files) {
                    try Data(contentsOf: URL(fileURLWithPath: source)).write(to: URL(fileURLWithPath: path))
                }
            }
            let (old, new) = (certificates.server, certificates.otherServer)
            try put([old.certificate, old.key, certificates.clientCA])
            let gateway = try await start {
                $0.setting("ADMIN_TLS_CERT_PATH", files[0]).setting("ADMIN_TLS_KEY_PATH", files[1])
                    .setting("ADMIN_CLIENT_CA_PATH", files[2])
            }
            let tls = TLSChoice(trustedCA: certificates.serverCA, identity: certificates.client)
            let open = try await RawConnection.open(port: gateway.internalPort(), tls: tls)
            let request = "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
            try await open.send(request)
            #expect(try await open.answer().status == 200)

            try put([new.certificate, new.key])
            try await gateway.reload()
            let authority = certificates.otherServerCA
            #expect(try await get("/livez", of: gateway, certificates.client, trusting: authority).status == 200)
            try await open.send(request)
            #expect(try await open.answer().status == 200)

            try put([new.certificate, new.key, certificates.foreignCA])
            try await gateway.reload()
            try await expectClosed(gateway, certificates.client)
            #expect(try await get("/livez", of: gateway, certificates.foreignClient, trusting: authority).status == 200)
            try await open.send(request)
            #expect(try await open.lastAnswer().status == 401)
        }

        @Test func `a revoked certificate doesn't admit`() async throws {
            let gateway = try await start { $0.setting("ADMIN_CLIENT_CRL_PATH", certificates.revokingCRL) }
            try await expectClosed(gateway, certificates.client)
            #expect(try await get("/livez", of: gateway, certificates.secondClient).status == 200)
        }

        @Test func `a reload can neither take TLS away nor open the listener`() async throws {
            let gateway = try await start()
            let plain = gateway.settings.removing("ADMIN_CLIENT_CA_PATH")
                .setting("ADMIN_BIND", "0.0.0.0:0,tls=off")
                .setting("ADMIN_TOKEN_PATH", try directory.write(Self.token, to: "admin.token"))
            try await gateway.reload(plain)
            try await gateway.errorLine("changes with a restart only", "ADMIN_CLIENT_CA_PATH")
            #expect(try await get("/livez", of: gateway, certificates.client).status == 200)
            let field = "Authorization: Bearer \(Self.token)\r\n"
            #expect(try await get("/livez", of: gateway, fields: field).status == 200)
            #expect(try await get("/livez", of: gateway).status == 401)
            try await gateway.reload(plain.removing("ADMIN_TOKEN_PATH").setting("ADMIN_BIND", "127.0.0.1:0"))
            #expect(try await get("/livez", of: gateway, certificates.client).status == 200)
            // The old certificates still admit, so a connection without one is closed.
            try await expectClosed(gateway, nil)
        }

        @Test func `an expired certificate of its own is shown, and doesn't keep clients out`() async throws {
            let identity = try certificates.server(from: -200_000, to: -100_000, in: directory)
            let gateway = try await start {
                $0.setting("ADMIN_TLS_CERT_PATH", identity.certificate).setting("ADMIN_TLS_KEY_PATH", identity.key)
            }
            func ask(_ path: String) async throws -> ReceivedAnswer {
                let tls = TLSChoice(identity: certificates.client)
                return try await gateway.ask("GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n", tls: tls)
            }
            let health = try await ask("/health")
            #expect(health.text.contains("The internal listener's certificate expired at"), "\(health)")
            #expect(health.field("status") == "healthy")
            #expect(try await ask("/readyz").status == 200)
            let metrics = try await ask("/metrics").text
            for name in ["server", "admin", "admin_client_ca"] {
                #expect(metrics.contains("portcullis_certificate_expiry_timestamp_seconds{certificate=\"\(name)\"} "))
            }
            try await gateway.logLine("ADMIN_TLS_CERT_PATH", "expired at")
        }

        @Test func `large answers and pipelined requests and byte by byte pass through TLS`() async throws {
            let gateway = try await start()
            let tls = TLSChoice(trustedCA: certificates.serverCA, identity: certificates.client)
            let connection = try await RawConnection.open(port: gateway.internalPort(), tls: tls)
            let filler = String(repeating: "f", count: 9_000)
            let request = Array("GET /metrics HTTP/1.1\r\nHost: x\r\nX-Filler: \(filler)\r\n\r\n".utf8)
            connection.post(request + request + request)
            for _ in 0..<3 {
                let answer = try await connection.answer()
                #expect(answer.status == 200 && answer.body.count > 5_000)
            }
            let last = "GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
            for byte in last.utf8 { try await connection.send([byte]) }
            #expect(try await connection.lastAnswer().status == 200)
        }
    }
}
