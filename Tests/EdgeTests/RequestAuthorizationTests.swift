import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// `/authz` on the internal listener, asked as proxies ask.
    @Suite struct RequestAuthorizationTests {
        private let url = "https://api.example.com/v1/chat?stream=1"

        @Test func `a bound token with its proof is authorized and its holder is named`() async throws {
            let edge = try await start()
            let (client, token) = try await developer(edge.gateway)
            let answer = try await edge.gateway.ask(nginx("POST", url, client.headers("POST", url, token)))
            #expect(answer.status == 204, "\(answer)")
            #expect(answer["x-portcullis-mode"] == "dev" && answer["x-portcullis-app"] == "com.example.simulator")
            #expect(answer["x-portcullis-key"] == client.thumbprint)
            #expect(answer["x-portcullis-subject"]?.hasSuffix("." + client.thumbprint) == true)
            #expect(answer["x-portcullis-dev-token"]?.hasSuffix("%20edge%20tests") == true)
            #expect(answer["dpop-nonce"] == nil && answer["content-length"] == nil)
        }

        @Test func `an attested device is authorized as production`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start {
                $0.appAttest(apple).setting("ADMIN_BIND", "127.0.0.1:0").setting("PUBLIC_ORIGIN", "http://localhost")
            }
            let device = try apple.device()
            let client = TokenClient(apple, device: device, at: edge.gateway)
            let token = try await client.firstToken()
            let answer = try await edge.gateway.ask(nginx("GET", url, client.headers("GET", url, token)))
            #expect(answer.status == 204 && answer["x-portcullis-mode"] == "production", "\(answer)")
            #expect(answer["x-portcullis-method"] == "app_attest" && answer["x-portcullis-subject"] == device.keyID)
            #expect(answer["x-portcullis-app"] == "\(apple.app)" && answer["x-portcullis-dev-token"] == nil)
            _ = try await edge.gateway.keys("revoke", device.keyID)
            let refused = try await edge.gateway.ask(nginx("GET", url, client.headers("GET", url, token)))
            expectRefusal(refused, 403, "device_blocked")
        }

        @Test func `every form of a proxy is understood`() async throws {
            let edge = try await start()
            let (client, token) = try await developer(edge.gateway)
            let caddy = try forwarded("GET", client.headers("PUT", "https://api.example.com/a/b", token))
            #expect(try await edge.gateway.ask(caddy).status == 204)
            let traefik = try forwarded("PUT", client.headers("PUT", "wss://api.example.com/a/b?x=y", token))
            #expect(try await edge.gateway.ask(traefik).status == 204)
            let envoy =
                try "DELETE /authz/a/b?c=d HTTP/1.1\r\nHost: api.example.com\r\nX-Forwarded-Proto: https\r\n"
                + client.headers("DELETE", "https://api.example.com/a/b", token) + "\r\n"
            // Envoy takes no other status for a yes.
            #expect(try await edge.gateway.ask(envoy).status == 200)
        }

        @Test func `a proof is valid once, for its own request`() async throws {
            let edge = try await start()
            let (client, token) = try await developer(edge.gateway)
            let headers = try client.headers("GET", url, token)
            for (method, other) in [
                ("POST", url), ("GET", "https://api.example.com/v1/other"), ("GET", "http://api.example.com/v1/chat"),
                ("GET", "https://other.example.com/v1/chat"), ("get", url),
            ] {
                expectRefusal(try await edge.gateway.ask(nginx(method, other, headers)), 401, "invalid_dpop_proof")
            }
            #expect(try await edge.gateway.ask(nginx("GET", url, headers)).status == 204)
            let replayed = try await edge.gateway.ask(nginx("GET", url, headers))
            expectRefusal(replayed, 401, "invalid_dpop_proof")
            #expect(replayed["www-authenticate"]?.hasPrefix("DPoP ") == true && replayed["dpop-nonce"] == nil)
            #expect(replayed["x-refusal-code"] == "invalid_dpop_proof")
            #expect(replayed["x-refusal-description"]?.hasPrefix("invalid_dpop_proof: ") == true)
            #expect(replayed["x-refusal-request-id"] == replayed.requestID)
        }

        @Test func `a request that is described twice is refused`() async throws {
            let edge = try await start()
            let (client, token) = try await developer(edge.gateway)
            for extra in [
                "X-Forwarded-Method: GET\r\n", "X-Forwarded-Uri: /\r\n", "X-Original-Method: GET\r\n",
                "X-Original-URL: https://api.example.com/\r\n",
            ] {
                let question = try nginx("GET", url, extra + client.headers("GET", url, token))
                expectRefusal(try await edge.gateway.ask(question), 403, "invalid_request")
            }
            for extra in ["X-Original-Method: GET\r\n", "X-Forwarded-Host: x\r\n", "X-Forwarded-Uri: /\r\n"] {
                let headers = try client.headers("GET", "https://api.example.com/a/b", token)
                expectRefusal(try await edge.gateway.ask(forwarded("GET", extra + headers)), 403, "invalid_request")
            }
            let nothing = try "GET /authz HTTP/1.1\r\nHost: x\r\n" + client.headers("GET", url, token) + "\r\n"
            expectRefusal(try await edge.gateway.ask(nothing), 403, "invalid_request")
        }

        /// nginx makes a 500 of every status but 401 and 403.
        @Test func `no client can cause a status other than 401 or 403`() async throws {
            let edge = try await start()
            let (client, token) = try await developer(edge.gateway)
            let good = try client.headers("GET", url, token)
            let bearer = "Authorization: Bearer \(token)\r\n"
            let cases: [(String, Int, String)] = [
                ("", 401, "invalid_token"), (bearer, 401, "invalid_token"),
                ("Authorization: Bearer x\r\n", 401, "invalid_token"),
                ("Authorization: Basic eDp5\r\n", 401, "invalid_token"), ("Authorization: x\r\n", 401, "invalid_token"),
                ("Authorization:\r\n" + "DPoP: x\r\n", 401, "invalid_token"),
                (bearer + good, 403, "invalid_request"), (good + "DPoP: x\r\n", 401, "invalid_dpop_proof"),
                (bearer + "DPoP: x\r\n", 401, "invalid_dpop_proof"),
                (
                    bearer
                        + "DPoP: \(try client.proof("GET", url, claims: ["iat": "\(Int(Date.now.timeIntervalSince1970) - 60)"]))\r\n",
                    401, "clock_skew"
                ),
                ("X-Bad: \u{1}\r\n" + good, 403, "invalid_request"),
                ("X-Long: \(String(repeating: "x", count: 20_000))\r\n" + good, 403, "invalid_request"),
                (String(repeating: "X: y\r\n", count: 300) + good, 403, "invalid_request"),
            ]
            for (headers, status, code) in cases {
                let answer = try await edge.gateway.ask(nginx("GET", url, headers))
                #expect(answer.status == status && answer["x-refusal-code"] == code, "\(headers.prefix(60)): \(answer)")
                #expect((answer["www-authenticate"] != nil) == (status == 401), "\(answer)")
                // RFC 6750 §3.1: without a token there is no error to tell.
                let isWithout = !headers.contains("Bearer") && status == 401
                #expect(!isWithout || answer["www-authenticate"] == #"DPoP algs="ES256""#, "\(answer)")
                #expect(isWithout || answer["www-authenticate"]?.contains("error=\"\(code)\"") ?? true, "\(answer)")
            }
            #expect(try await edge.gateway.ask(nginx("GET", url, good)).status == 204)
        }

        @Test func `a nonce is demanded and renewed`() async throws {
            let edge = try await start { $0.setting("DPOP_NONCE", "always") }
            let client = try TokenClient.simulator(at: edge.gateway)
            let issued = try await edge.gateway.issueDevelopmentToken()
            let first = try await client.requestToken(for: issued.token)
            let nonce = try #require(first["dpop-nonce"])
            #expect(first.status == 401)
            let second = try await client.requestToken(for: issued.token, nonce: nonce)
            let token = try #require(second.field("access_token"))
            let demand = try await edge.gateway.ask(nginx("GET", url, client.headers("GET", url, token)))
            #expect(demand.status == 401 && demand["x-refusal-code"] == "use_dpop_nonce", "\(demand)")
            #expect(demand["www-authenticate"]?.contains("use_dpop_nonce") == true)
            let fresh = try #require(demand["dpop-nonce"])
            let answer = try await edge.gateway.ask(
                nginx("GET", url, client.headers("GET", url, token, nonce: fresh)))
            #expect(answer.status == 204, "\(answer)")
        }

        @Test func `development tokens are refused where production is demanded`() async throws {
            let edge = try await start { $0.setting("AUTHZ_ADMIT", "token") }
            let (client, token) = try await developer(edge.gateway)
            let headers = try client.headers("GET", url, token)
            expectRefusal(try await edge.gateway.ask(nginx("GET", url, headers)), 401, "invalid_token")
            // The location of a proxy can't demand less.
            let asking = nginx("GET", url, headers, path: "/admit/token+dev/authz")
            expectRefusal(try await edge.gateway.ask(asking), 401, "invalid_token")
        }

        @Test func `a location may demand production or a route`() async throws {
            let edge = try await start()
            let (client, token) = try await developer(edge.gateway, "--route", "chat")
            func ask(_ path: String) async throws -> Int {
                try await edge.gateway.ask(
                    nginx("GET", url, client.headers("GET", url, token), path: path)
                ).status
            }
            #expect(try await ask("/route/chat/authz") == 204)
            #expect(try await ask("/route/chat/admit/token+dev/authz") == 204)
            #expect(try await ask("/admit/token/route/chat/authz") == 401)
            #expect(try await ask("/route/images/authz") == 401)
            #expect(try await ask("/authz") == 401)
            // Caddy appends its client's query.
            #expect(try await ask("/authz?route=chat") == 401)
            for path in ["/route/chat/route/chat/authz", "/route//authz", "/route/authz", "/x/y/authz", "/authz2"] {
                #expect(try await ask(path) == 404, "\(path)")
            }
            let envoy =
                try "GET /route/chat/authz/route/images/authz HTTP/1.1\r\nHost: a.example\r\n"
                + "X-Forwarded-Proto: https\r\n"
                + client.headers("GET", "https://a.example/route/images/authz", token) + "\r\n"
            #expect(try await edge.gateway.ask(envoy).status == 200)
        }

        @Test func `uses of development tokens and refusals are audited`() async throws {
            let edge = try await start()
            let (client, token) = try await developer(edge.gateway)
            let question = try nginx(
                "GET", url, "X-Forwarded-For: 203.0.113.9\r\n" + client.headers("GET", url, token))
            #expect(try await edge.gateway.ask(question).status == 204)
            let line = try await edge.gateway.auditLine("authorization", "admitted", "203.0.113.9")
            #expect(line.contains("development_token") && line.contains("edge tests") && !line.contains(token))
            _ = try await edge.gateway.ask(question)
            let refused = try await edge.gateway.auditLine("authorization", "refused", "203.0.113.9")
            #expect(refused.contains("invalid_dpop_proof") && !refused.contains(token))
        }

        @Test func `a revoked development token is refused at once`() async throws {
            let edge = try await start()
            let client = try TokenClient.simulator(at: edge.gateway)
            let issued = try await edge.gateway.issueDevelopmentToken()
            let token = try await client.token(for: issued.token)
            #expect(try await edge.gateway.ask(nginx("GET", url, client.headers("GET", url, token))).status == 204)
            _ = try await edge.gateway.developmentTokens("revoke", issued.id)
            let refused = try await edge.gateway.ask(nginx("GET", url, client.headers("GET", url, token)))
            expectRefusal(refused, 401, "invalid_token")
        }

        @Test func `the public listener doesn't serve /authz`() async throws {
            let edge = try await start()
            let (client, token) = try await developer(edge.gateway)
            let question = try nginx("GET", url, client.headers("GET", url, token))
            expectRefusal(try await edge.gateway.request(question), 404, "not_found")
        }

        // MARK: The listener

        @Test func `a connection is reused and may be pipelined`() async throws {
            let edge = try await start()
            let (client, token) = try await developer(edge.gateway)
            let connection = try await RawConnection.open(port: edge.gateway.internalPort())
            for _ in 0..<3 {
                try await connection.send(nginx("GET", url, client.headers("GET", url, token)))
                #expect(try await connection.answer().status == 204)
            }
            let questions = try (0..<50).map { _ in try nginx("GET", url, client.headers("GET", url, token)) }
            try await connection.send(questions.joined())
            for _ in questions { #expect(try await connection.answer().status == 204) }
            try await connection.send("GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            #expect(try await connection.lastAnswer().status == 200)
        }

        @Test func `an unknown path is 404 and a malformed request ends its connection`() async throws {
            let edge = try await start()
            expectRefusal(try await edge.gateway.ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), 404, "not_found")
            let connection = try await RawConnection.open(port: edge.gateway.internalPort())
            try await connection.send("GET /authz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n")
            #expect(try await connection.lastAnswer().status == 403)
        }

        /// `InternalServer.maximumConnections`
        @Test func `a connection above the limit is closed`() async throws {
            let edge = try await start()
            let port = try await edge.gateway.internalPort()
            let health = "GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
            var connections: [RawConnection] = []
            for _ in 0..<1_024 { connections.append(try await RawConnection.open(port: port)) }
            for connection in [connections[0], connections[1_023]] {
                try await connection.send(health)
                #expect(try await connection.answer().status == 200)
            }
            let oneMore = try await RawConnection.open(port: port)
            #expect(try await oneMore.receiveToEnd().isEmpty)
            // The others are served as before.
            try await connections[1_023].send(health)
            #expect(try await connections[1_023].answer().status == 200)
        }

        @Test func `a request may arrive byte by byte`() async throws {
            let edge = try await start()
            let (client, token) = try await developer(edge.gateway)
            let connection = try await RawConnection.open(port: edge.gateway.internalPort())
            for byte in try nginx("GET", url, client.headers("GET", url, token)).utf8 {
                try await connection.send([byte])
            }
            #expect(try await connection.answer().status == 204)
        }

        @Test func `a body is read and ignored`() async throws {
            let edge = try await start()
            let connection = try await RawConnection.open(port: edge.gateway.internalPort())
            for _ in 0..<2 {
                try await connection.send(
                    "POST /health HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
                #expect(try await connection.answer().status == 100)
                try await connection.send("hello")
                #expect(try await connection.answer().status == 200)
            }
        }

        @Test func `a Unix socket is open to its group and is removed with the gateway`() async throws {
            let directory = try TemporaryDirectory()
            let path = directory.file("admin.sock")
            let edge = try await start { $0.setting("ADMIN_BIND", "unix:" + path) }
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o660)
            let (client, token) = try await developer(edge.gateway)
            let connection = try await RawConnection.open(socketPath: path)
            try await connection.send(nginx("GET", url, client.headers("GET", url, token)))
            #expect(try await connection.answer().status == 204)
            #expect(try await edge.gateway.stop().ending == .exited(0))
            #expect(!FileManager.default.fileExists(atPath: path))
        }

        // MARK: Support

        private func start(_ change: (GatewaySettings) -> GatewaySettings = { $0 }) async throws -> Edge {
            let apple = try SimulatedApple()
            return try await Edge.start {
                change(
                    $0.appAttest(apple).setting("ALLOW_DEV_TOKENS", "true").setting("ADMIN_BIND", "127.0.0.1:0")
                        .setting("AUTHZ_ADMIT", "token+dev").setting("PUBLIC_ORIGIN", "http://localhost"))
            }
        }

        private func developer(
            _ gateway: GatewayProcess, _ option: String...
        ) async throws -> (client: TokenClient, token: String) {
            let client = try TokenClient.simulator(at: gateway)
            let issued =
                option.isEmpty
                ? try await gateway.issueDevelopmentToken()
                : try await gateway.issueDevelopmentToken(option[0], option[1])
            return (client, try await client.token(for: issued.token))
        }

        private func nginx(_ method: String, _ url: String, _ headers: String, path: String = "/authz") -> String {
            "GET \(path) HTTP/1.1\r\nHost: portcullis\r\nX-Original-Method: \(method)\r\n"
                + "X-Original-URL: \(url)\r\n\(headers)\r\n"
        }

        /// As Caddy and Traefik ask: a PUT of https://api.example.com/a/b.
        private func forwarded(_ method: String, _ headers: String) -> String {
            "\(method) /authz HTTP/1.1\r\nHost: portcullis\r\nX-Forwarded-Method: PUT\r\nX-Forwarded-Proto: https\r\n"
                + "X-Forwarded-Host: api.example.com\r\nX-Forwarded-Uri: /a/b?x=y\r\n\(headers)\r\n"
        }
    }
}
