import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// The examples in `config/`, with the real nginx and Caddy: an API behind them that streams server-sent events.
    @Suite struct FrontProxyTests {
        @Test(arguments: FrontProxy.Kind.allCases)
        func `events are streamed with the provider's key and the verified identity`(kind: FrontProxy.Kind) async throws
        {
            let house = try await House(kind)
            let (client, token) = try await house.developer()
            let url = house.proxy.origin + "/v1/chat?model=x"
            let connection = try await house.proxy.connect()
            let body = #"{"prompt":"hello"}"#
            let forged = "X-Portcullis-Subject: admin\r\nX-Portcullis-Expires: 9\r\nX_Portcullis_Subject: admin\r\n"
            try await connection.send(
                "POST /v1/chat?model=x HTTP/1.1\r\nHost: localhost:\(house.proxy.port)\r\n"
                    + client.headers("POST", url, token) + forged + "Content-Length: \(body.utf8.count)\r\n\r\n" + body)

            let api = try await house.api.connection()
            let request = try await api.receiveRequest(bodyBytes: body.utf8.count)
            #expect(request.line == "POST /v1/chat?model=x HTTP/1.1" && request.body == body)
            #expect(request["authorization"] == ["Bearer \(FrontProxy.providerKey)"])
            #expect(request["dpop"].isEmpty && !request.text.contains(token))
            #expect(request["x-portcullis-subject"].count == 1 && request["x_portcullis_subject"].isEmpty)
            #expect(request["x-portcullis-subject"].first?.hasSuffix("." + client.thumbprint) == true)
            #expect(request["x-portcullis-mode"] == ["dev"] && request["x-portcullis-expires"].isEmpty)
            #expect(!request.text.contains("admin"))

            // Each event has to arrive before the next one is sent.
            try await api.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
            var received = ""
            for event in ["data: one\n\n", "data: two\n\n", "data: three\n\n"] {
                try await api.send(event)
                received += try await connection.receive(through: event)
            }
            await api.close()
            #expect(received.hasPrefix("HTTP/1.1 200 OK\r\n") && !received.contains(FrontProxy.providerKey))
            #expect(!received.lowercased().contains("x-portcullis"))
        }

        @Test(arguments: FrontProxy.Kind.allCases)
        func `a client without a token gets a usable 401 and nothing reaches the API`(kind: FrontProxy.Kind)
            async throws
        {
            let house = try await House(kind)
            let answer = try await house.get("/v1/models", "")
            expectTokenRefusal(answer, 401, "invalid_token")
            #expect(answer.headers.count { $0.name == "www-authenticate" } == 1, "\(answer)")
            #expect(answer["www-authenticate"]?.hasPrefix("DPoP ") == true, "\(answer)")
            #expect(answer["cache-control"]?.contains("no-store") == true)
            #expect(house.api.connectionCount == 0)
        }

        @Test(arguments: FrontProxy.Kind.allCases)
        func `the nonce retry works through the proxy`(kind: FrontProxy.Kind) async throws {
            let house = try await House(kind) { $0.setting("DPOP_NONCE", "always") }
            let client = try TokenClient.simulator(at: house.gateway)
            let issued = try await house.gateway.issueDevelopmentToken()
            let firstNonce = try await client.requestToken(for: issued.token)["dpop-nonce"]
            let second = try await client.requestToken(for: issued.token, nonce: firstNonce)
            let token = try #require(second.field("access_token"))
            let url = house.proxy.origin + "/v1/models"
            let demand = try await house.get("/v1/models", client.headers("GET", url, token))
            expectTokenRefusal(demand, 401, "use_dpop_nonce")
            #expect(demand.headers.count { $0.name == "dpop-nonce" } == 1, "\(demand)")
            let nonce = try #require(demand["dpop-nonce"])
            try await house.expectPassed("/v1/models", client.headers("GET", url, token, nonce: nonce))
        }

        @Test(arguments: FrontProxy.Kind.allCases)
        func `a proof for another request is refused whatever headers the client adds`(kind: FrontProxy.Kind)
            async throws
        {
            let house = try await House(kind)
            let (client, token) = try await house.developer()
            let other = house.proxy.origin + "/v1/models"
            let host = "localhost:\(house.proxy.port)"
            for lie in [
                "", "X-Original-Method: GET\r\nX-Original-URL: \(other)\r\n",
                "X-Forwarded-Method: GET\r\nX-Forwarded-Uri: /v1/models\r\nX-Forwarded-Host: \(host)\r\n"
                    + "X-Forwarded-Proto: https\r\n",
                "X-Http-Method-Override: GET\r\nX-Original-Url: \(other)\r\n",
            ] {
                let headers = try lie + client.headers("GET", other, token)
                expectTokenRefusal(try await house.get("/v1/secrets", headers), 401, "invalid_dpop_proof")
            }
            #expect(house.api.connectionCount == 0)
            // The same forged fields don't prevent a valid request.
            let lie =
                "X-Original-Method: PUT\r\nX-Forwarded-Uri: /x\r\nForwarded: for=192.0.2.1\r\n"
                + "Connection: X-Portcullis-Subject, X-Portcullis-Mode\r\n"
            try await house.expectPassed("/v1/models", lie + client.headers("GET", other, token))
        }

        @Test(arguments: FrontProxy.Kind.allCases)
        func `a revoked device is forbidden`(kind: FrontProxy.Kind) async throws {
            let house = try await House(kind)
            let device = try house.apple.device()
            let client = TokenClient(house.apple, device: device, at: house.gateway)
            let token = try await client.firstToken()
            let url = house.proxy.origin + "/v1/models"
            try await house.expectPassed("/v1/models", client.headers("GET", url, token))
            _ = try await house.gateway.keys("revoke", device.keyID)
            let refused = try await house.get("/v1/models", client.headers("GET", url, token))
            expectTokenRefusal(refused, 403, "device_blocked")
        }

        @Test(arguments: FrontProxy.Kind.allCases)
        func `no client request causes a server error`(kind: FrontProxy.Kind) async throws {
            let house = try await House(kind)
            let (client, token) = try await house.developer()
            let headers = try client.headers("GET", house.proxy.origin + "/", token)
            for odd in [
                "Authorization: Basic eDp5\r\n", "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n",
                headers + "DPoP: x\r\n", "DPoP: \(String(repeating: "x", count: 7_000))\r\n",
                headers + "X-Odd: \u{1}\r\n",
                "X-Forwarded-Proto: ftp\r\nX-Forwarded-For: nonsense\r\n", (0..<90).map { "X-\($0): y\r\n" }.joined(),
                "Upgrade: websocket\r\nConnection: Upgrade\r\n",
            ] {
                let connection = try await house.proxy.connect()
                try await connection.send(
                    "GET /\(String(repeating: "%61", count: 100)) HTTP/1.1\r\nHost: localhost:\(house.proxy.port)\r\n"
                        + odd + "Connection: close\r\n\r\n")
                let answer = try await connection.answer()
                #expect((400..<500).contains(answer.status), "\(odd.prefix(40)): \(answer)")
            }
        }

        @Test(arguments: FrontProxy.Kind.allCases)
        func `without the gateway every request is refused`(kind: FrontProxy.Kind) async throws {
            let house = try await House(kind)
            let (client, token) = try await house.developer()
            let headers = try client.headers("GET", house.proxy.origin + "/", token)
            try await house.gateway.killNow()
            #expect(try await house.get("/", headers).status >= 500)
            #expect(house.api.connectionCount == 0)
        }

        // MARK: Support

        /// A gateway, an API, and a proxy between it and clients.
        private struct House {
            let apple: SimulatedApple
            let gateway: GatewayProcess
            let api: TargetServer
            let proxy: FrontProxy
            private let directory: TemporaryDirectory

            init(_ kind: FrontProxy.Kind, _ change: (GatewaySettings) -> GatewaySettings = { $0 }) async throws {
                let directory = try TemporaryDirectory()
                let socket = directory.file("admin.sock")
                self.directory = directory
                let apple = try SimulatedApple()
                self.apple = apple
                let certificates = try await DevCertificates.shared()
                api = try await TargetServer.start(tls: certificates.server)
                let settings = GatewaySettings(targetPort: 9).appAttest(apple).setting("ALLOW_DEV_TOKENS", "true")
                    .setting("AUTHZ_ADMIT", "token+dev").setting("ADMIN_BIND", "unix:" + socket)
                    .setting("PUBLIC_ORIGIN", "http://localhost")
                gateway = try await GatewayProcess.start(change(settings))
                proxy = try await FrontProxy.start(kind, asking: socket, apiPort: api.port)
            }

            func developer() async throws -> (client: TokenClient, token: String) {
                let client = try TokenClient.simulator(at: gateway)
                let issued = try await gateway.issueDevelopmentToken()
                return (client, try await client.token(for: issued.token))
            }

            private func send(_ path: String, _ headers: String) async throws -> RawConnection {
                let connection = try await proxy.connect()
                try await connection.send(
                    "GET \(path) HTTP/1.1\r\nHost: localhost:\(proxy.port)\r\n\(headers)Connection: close\r\n\r\n")
                return connection
            }

            func get(_ path: String, _ headers: String) async throws -> ReceivedAnswer {
                try await send(path, headers).answer()
            }

            /// The request reaches the API, and its answer the client.
            func expectPassed(
                _ path: String, _ headers: String, sourceLocation: SourceLocation = #_sourceLocation
            ) async throws {
                let index = api.connectionCount
                let connection = try await send(path, headers)
                let served = try await api.connection(index)
                let request = try await served.receiveRequest()
                #expect(request.line == "GET \(path) HTTP/1.1", sourceLocation: sourceLocation)
                try await served.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
                let answer = try await connection.answer()
                #expect(answer.status == 200 && answer.text == "hi", "\(answer)", sourceLocation: sourceLocation)
                await served.close()
            }
        }

        private func expectTokenRefusal(
            _ answer: ReceivedAnswer, _ status: Int, _ code: String, sourceLocation: SourceLocation = #_sourceLocation
        ) {
            #expect(answer.status == status, "\(answer)", sourceLocation: sourceLocation)
            #expect(answer.field("error") == code, "\(answer)", sourceLocation: sourceLocation)
            #expect(answer.field("code") == code, "\(answer)", sourceLocation: sourceLocation)
            #expect(
                answer.field("error_description")?.hasPrefix(code + ":") == true, "\(answer)",
                sourceLocation: sourceLocation)
            #expect(answer.field("requestId")?.isEmpty == false, "\(answer)", sourceLocation: sourceLocation)
        }
    }
}
