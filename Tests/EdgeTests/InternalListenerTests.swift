import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Metrics and probes on the internal listener, and who may ask.
    @Suite struct InternalListenerTests {
        private static let token = "token-of-thirty-two-letters-or-more"

        private func start(_ change: (GatewaySettings) -> GatewaySettings = { $0 }) async throws -> Edge {
            try await Edge.start { change($0.setting("ADMIN_BIND", "127.0.0.1:0")) }
        }

        private func get(_ path: String, _ fields: String = "", of edge: Edge) async throws -> ReceivedAnswer {
            try await edge.gateway.ask("GET \(path) HTTP/1.1\r\nHost: x\r\n\(fields)\r\n")
        }

        /// The gateway finds out a problem by itself: asks until it has.
        private func ask(
            _ path: String, of edge: Edge, until isExpected: (ReceivedAnswer) -> Bool
        ) async throws -> ReceivedAnswer {
            try await Poll.until("another answer of \(path)", within: .seconds(60)) {
                let answer = try await get(path, of: edge)
                return isExpected(answer) ? answer : nil
            }
        }

        @Test func `a gateway that is well is live and ready`() async throws {
            let edge = try await start()
            for (path, status) in [("/livez", "live"), ("/readyz", "ready")] {
                let answer = try await get(path, of: edge)
                #expect(answer.status == 200 && answer.text == #"{"status":"\#(status)"}"#, "\(answer)")
            }
            let list = try await get("/readyz?verbose", of: edge)
            #expect(list["content-type"] == "text/plain; charset=utf-8")
            #expect(
                list.text.split(separator: "\n")
                    == ["[+]draining ok", "[+]reactors ok", "[+]store ok", "[+]certificate ok", "[+]audit ok", "ready"])
            #expect(try await get("/health", of: edge).field("status") == "healthy")
        }

        @Test func `metrics come in both formats and to readers alone`() async throws {
            let edge = try await start()
            let socket = try await edge.gateway.open()
            try await Edge.expectEcho(socket)
            let text = try await get("/metrics", of: edge)
            #expect(text["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
            #expect(text.text.contains("\nportcullis_sessions_opened_total 1\n"), "\(text.text)")
            #expect(text.text.contains("# TYPE portcullis_sessions_opened_total counter\n"))
            let open = try await get("/metrics", "Accept: application/openmetrics-text;version=1.0.0\r\n", of: edge)
            #expect(open["content-type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8")
            #expect(open.text.hasSuffix("\n# EOF\n"))
            #expect(open.text.contains("# TYPE portcullis_sessions_opened counter\n"))
            #expect(open.text.contains(#",route="default"} 1"# + "\n"), "\(open.text)")
            try await Edge.expectEcho(socket)
            for path in ["/metrics", "/livez", "/readyz"] {
                let posted = try await edge.gateway.ask("POST \(path) HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
                #expect(posted.status == 405 && posted["allow"] == "GET, HEAD", "\(posted)")
            }
            let head = try await RawConnection.open(port: edge.gateway.internalPort())
            try await head.send("HEAD /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            let bytes = String(decoding: try await head.receiveToEnd(), as: UTF8.self)
            #expect(bytes.hasPrefix("HTTP/1.1 200 ") && bytes.hasSuffix("\r\n\r\n"), "\(bytes)")
        }

        /// Metrics are put together on another thread, so the client's end comes before its answer.
        @Test func `a client that ends its side with a request is answered before the end`() async throws {
            let edge = try await start()
            let connection = try await RawConnection.open(port: edge.gateway.internalPort())
            connection.post(Array("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
            try await connection.finishSending()
            let answer = String(decoding: try await connection.receiveToEnd(), as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.contains("\nportcullis_sessions_open 0\n"))
        }

        @Test func `sessions are counted by dialect and route while they last`() async throws {
            let edge = try await start { $0.setting("MUD_ROUTES", "side=127.0.0.1:\($0["TN_PORT"] ?? "")") }
            func counts() async throws -> [String: Int] {
                let lines = try await get("/metrics", of: edge).text.split(separator: "\n")
                let found = lines.compactMap { $0.wholeMatch(of: /portcullis_route_sessions\{([^}]*)\} (\d+)/) }
                return Dictionary(uniqueKeysWithValues: found.map { (String($0.1), Int($0.2) ?? -1) })
                    .filter { $0.value != 0 }
            }
            let first = try await edge.gateway.open(Handshake().offering("telnet.mudstandards.org"))
            try await first.send(binary: [1])
            _ = try await first.receive(1)
            let second = try await edge.gateway.open(Handshake().path("/mud/side").offering("json.mudstandards.org"))
            _ = try await second.nextFrame()
            #expect(try await counts() == [#"dialect="raw",route="default""#: 1, #"dialect="json",route="side""#: 1])
            try await first.close()
            try await second.close()
            // The ends are noticed by themselves.
            try await Poll.untilTrue("the ends of the sessions") { try await counts().isEmpty }
        }

        @Test func `clients can reach neither metrics nor probes`() async throws {
            let edge = try await start()
            for path in ["/metrics", "/livez", "/readyz"] {
                expectRefusal(try await edge.gateway.get(path), 404, "not_found")
            }
        }

        @Test func `with a token every request has to show it`() async throws {
            let directory = try TemporaryDirectory()
            let path = try directory.write(Self.token + "\n", to: "admin.token")
            chmod(path, 0o600)
            let edge = try await start { $0.setting("ADMIN_TOKEN_PATH", path) }
            let wrong = Self.token.dropLast() + "x"
            for path in ["/metrics", "/livez", "/readyz", "/health", "/console", "/nothing"] {
                for fields in [
                    "", "Authorization: Bearer \(wrong)\r\n", "Authorization: Bearer\r\n",
                    "Authorization: Basic \(Self.token)\r\n", "Authorization: Bearer \(Self.token) x\r\n",
                    "Authorization: Bearer \(Self.token)x\r\n", "X-Portcullis-Internal-Token: \(wrong)\r\n",
                ] {
                    let answer = try await get(path, fields, of: edge)
                    #expect(answer.status == 401 && answer["www-authenticate"] == "Bearer realm=\"portcullis\"")
                }
            }
            for field in ["Authorization: bearer", "X-Portcullis-Internal-Token:"] {
                #expect(try await get("/livez", "\(field) \(Self.token)\r\n", of: edge).status == 200)
                #expect(try await get("/nothing", "\(field) \(Self.token)\r\n", of: edge).status == 404)
            }
            // As a browser shows it.
            func basic(_ password: some StringProtocol) -> String {
                "Authorization: Basic \(Data("operator:\(password)".utf8).base64EncodedString())\r\n"
            }
            #expect(try await get("/livez", basic(Self.token), of: edge).status == 200)
            #expect(try await get("/livez", basic(wrong), of: edge).status == 401)
            let metrics = try await get("/metrics", "Authorization: Bearer \(Self.token)\r\n", of: edge)
            #expect(metrics.text.contains("\nportcullis_internal_requests_refused_total 43\n"), "\(metrics.text)")
        }

        /// What it answers reaches the proxy's clients, whose own `Authorization` it repeats.
        @Test func `a proxy without the token asks no client for it, and gets no answer by a client's means`()
            async throws
        {
            let directory = try TemporaryDirectory()
            let path = try directory.write(Self.token + "\n", to: "admin.token")
            let edge = try await start { $0.setting("ADMIN_TOKEN_PATH", path) }
            let basic = Data("operator:\(Self.token)".utf8).base64EncodedString()
            for path in ["/authz", "/authz/v1?x", "/admit/token/authz", "/route/a/authz"] {
                for fields in [
                    "", "Authorization: Bearer \(Self.token)\r\n", "Authorization: Basic \(basic)\r\n",
                    "X-Portcullis-Internal-Token: \(Self.token)x\r\n",
                ] {
                    let answer = try await get(path, fields, of: edge)
                    expectRefusal(answer, 500, "proxy_not_authorized")
                    #expect(answer["www-authenticate"] == nil && answer["x-refusal-code"] == "proxy_not_authorized")
                }
                let shown = "X-Portcullis-Internal-Token: \(Self.token)\r\nAuthorization: Basic \(basic)\r\n"
                #expect(try await get(path, shown, of: edge).status == 404)
            }
            _ = try await edge.gateway.errorLine("/authz without showing the internal token")
        }

        @Test func `a reload replaces the token`() async throws {
            let directory = try TemporaryDirectory()
            let path = try directory.write(Self.token, to: "admin.token")
            let edge = try await start { $0.setting("ADMIN_TOKEN_PATH", path) }
            let new = String(Self.token.reversed())
            _ = try directory.write(new, to: "admin.token")
            edge.gateway.child.signal(SIGHUP)
            try await edge.gateway.errorLine(" reloaded")
            #expect(try await get("/livez", "Authorization: Bearer \(new)\r\n", of: edge).status == 200)
            #expect(try await get("/livez", "Authorization: Bearer \(Self.token)\r\n", of: edge).status == 401)
        }

        /// The listener moves with a restart only.
        @Test func `a reload doesn't open a listener that other machines reach`() async throws {
            let directory = try TemporaryDirectory()
            let path = try directory.write(Self.token, to: "admin.token")
            let edge = try await start {
                $0.setting("ADMIN_BIND", "0.0.0.0:0,tls=off").setting("ADMIN_TOKEN_PATH", path)
            }
            let settings = edge.gateway.settings.setting("ADMIN_BIND", "127.0.0.1:0").removing("ADMIN_TOKEN_PATH")
            let lines = settings.values.map { "\($0.key)=\($0.value)\n" }
            try edge.gateway.directory.write(lines.joined(), to: "portcullis.env")
            edge.gateway.child.signal(SIGHUP)
            try await edge.gateway.errorLine(" reloaded")
            #expect(try await get("/livez", of: edge).status == 401)
            #expect(try await get("/livez", "Authorization: Bearer \(Self.token)\r\n", of: edge).status == 200)
        }

        @Test func `a reload without the listener's address doesn't take its token away`() async throws {
            let directory = try TemporaryDirectory()
            let path = try directory.write(Self.token, to: "admin.token")
            let edge = try await start { $0.setting("ADMIN_TOKEN_PATH", path) }
            try await edge.gateway.reload(edge.gateway.settings.removing("ADMIN_BIND"))
            #expect(try await get("/livez", of: edge).status == 401)
            #expect(try await get("/livez", "Authorization: Bearer \(Self.token)\r\n", of: edge).status == 200)
            // The address stays, and its token isn't wanted any more.
            try await edge.gateway.reload(edge.gateway.settings.removing("ADMIN_TOKEN_PATH"))
            #expect(try await get("/livez", of: edge).status == 200)
        }

        @Test func `without a valid certificate the gateway isn't ready`() async throws {
            let folder = try TemporaryDirectory()
            let certificates = try await DevCertificates.shared()
            let identity = try certificates.server(from: -200_000, to: -100_000, in: folder)
            let edge = try await start {
                $0.tls(certificates).setting("TLS_CERT_PATH", identity.certificate)
                    .setting("TLS_KEY_PATH", identity.key)
            }
            let answer = try await get("/readyz", of: edge)
            #expect(answer.status == 503 && answer.field("status") == "not ready")
            #expect(answer.text.contains("certificate: The server's certificate expired at"), "\(answer)")
            #expect(try await get("/livez", of: edge).status == 200)
            #expect(try await get("/health", of: edge).field("status") == "degraded")
            let metrics = try await get("/metrics", of: edge).text
            #expect(metrics.contains("\nportcullis_ready 0\n"))
            #expect(metrics.contains("\nportcullis_certificate_expiry_timestamp_seconds{certificate=\"server\"} "))
        }

        @Test(.enabled(if: StoreLock.isAvailable, "needs the sqlite3 program"))
        func `while its store can't be written the gateway isn't ready`() async throws {
            let apple = try SimulatedApple()
            let edge = try await start { $0.appAttest(apple) }
            #expect(try await get("/readyz", of: edge).status == 200)
            let lock = try await StoreLock.take(edge.gateway.storePath)
            try await edge.gateway.logLine("the key store can't be written", within: .seconds(60))
            let answer = try await get("/readyz", of: edge)
            #expect(answer.status == 503 && answer.text.contains("store: The key store is busy"), "\(answer)")
            #expect(try await get("/livez", of: edge).status == 200)
            try await lock.release()
            try await edge.gateway.logLine("the key store can be written again", within: .seconds(60))
            #expect(try await get("/readyz", of: edge).status == 200)
        }

        @Test func `a gateway that shuts down isn't ready and stays live`() async throws {
            let edge = try await start { $0.setting("SHUTDOWN_GRACE_MS", 10_000) }
            let socket = try await edge.gateway.open()
            try await Edge.expectEcho(socket)
            edge.gateway.terminate()
            let answer = try await ask("/readyz", of: edge) { $0.status == 503 }
            #expect(answer.text.contains("draining: the gateway is shutting down"), "\(answer)")
            #expect(try await get("/livez", of: edge).status == 200)
            try await Edge.expectEcho(socket)
        }

        @Test func `without a line in the audit log nobody is admitted and the gateway isn't ready`() async throws {
            let edge = try await start { $0.setting("AUDIT_LOG_PATH", "/dev/full") }
            #expect(try await edge.gateway.refusal(Handshake()).status == 503)
            let answer = try await get("/readyz", of: edge)
            #expect(answer.status == 503 && answer.text.contains("audit: the audit log can't be written"), "\(answer)")
        }
    }
}
