import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// One base URL for an app, with the real nginx and Caddy: registrations, tokens, sessions and the API on one
    /// origin.
    @Suite struct OneOriginTests {
        private struct House {
            let apple: SimulatedApple
            let edge: Edge
            let api: TargetServer
            let proxy: FrontProxy
            private let directory: TemporaryDirectory

            init(_ kind: FrontProxy.Kind) async throws {
                let (directory, apple) = (try TemporaryDirectory(), try SimulatedApple())
                let (port, socket) = (try FrontProxy.freePort(), directory.file("admin.sock"))
                (self.directory, self.apple) = (directory, apple)
                api = try await TargetServer.start(tls: try await DevCertificates.shared().server)
                edge = try await Edge.start {
                    $0.appAttest(apple).setting("ADMIN_BIND", "unix:" + socket)
                        .setting("PUBLIC_ORIGIN", "https://localhost:\(port)").setting(
                            "TRUSTED_PROXY_CIDRS", "127.0.0.1"
                        )
                        .setting("MAX_CONNECTIONS_PER_ADDRESS", "100000").setting("ALLOW_DEV_TOKENS", "true")
                        .setting("AUTHZ_ADMIT", "token+dev")
                }
                proxy = try await FrontProxy.start(
                    kind, asking: socket, apiPort: api.port, gatewayPort: edge.gateway.port, port: port)
            }

            func get(_ path: String) async throws -> ReceivedAnswer { try await send("GET \(path)", "") }

            func send(_ line: String, _ headers: String, _ body: String = "") async throws -> ReceivedAnswer {
                let connection = try await proxy.connect()
                try await connection.send(
                    "\(line) HTTP/1.1\r\nHost: localhost:\(proxy.port)\r\n\(headers)Connection: close\r\n\r\n" + body)
                return try await connection.answer()
            }
        }

        @Test(arguments: FrontProxy.Kind.allCases)
        func `an app registers, gets a token, calls the API and plays on one origin`(kind: FrontProxy.Kind) async throws
        {
            let house = try await House(kind)
            let origin = house.proxy.origin
            var client = TokenClient(house.apple, device: try house.apple.device(), at: house.edge.gateway)
            (client.front, client.authority) = (house.proxy, "localhost:\(house.proxy.port)")
            let token = try await client.firstToken()
            #expect(try await house.get("/.well-known/jwks.json").text.contains("\"keys\""))
            #expect(try await house.get("/health").status == 200)

            let connection = try await house.proxy.connect()
            try await connection.send(
                "GET /v1/models HTTP/1.1\r\nHost: localhost:\(house.proxy.port)\r\n"
                    + client.headers("GET", origin + "/v1/models", token) + "X-Portcullis_Mode: admin\r\n"
                    + "X_Portcullis-Subject: admin\r\nConnection: close\r\n\r\n")
            let served = try await house.api.connection()
            let asked = try await served.receiveRequest()
            #expect(asked.line == "GET /v1/models HTTP/1.1" && asked["x-portcullis-mode"] == ["production"])
            #expect(!asked.text.contains("admin") && !asked.text.contains(token))
            try await served.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
            #expect(try await connection.answer().text == "hi")

            let upgrade = try client.handshake(token).adding("X-Forwarded-For", "192.0.2.66")
            guard case .open(let socket) = try await TestWebSocket.attempt(upgrade, on: house.proxy.connect()) else {
                throw EdgeTestError("the upgrade was refused")
            }
            try await Edge.expectEcho(socket)
        }

        @Test(arguments: FrontProxy.Kind.allCases)
        func `the gateway hears the clients' addresses, and the API nothing that isn't authorized`(
            kind: FrontProxy.Kind
        )
            async throws
        {
            let house = try await House(kind)
            // The proxy's word counts, not the client's.
            let bad = try await house.send("POST /token", "X-Forwarded-For: 192.0.2.66\r\nContent-Length: 2\r\n", "{}")
            #expect(bad.status == 400 && bad.field("error") == "invalid_request", "\(bad)")
            let line = try await house.edge.gateway.auditLine("\"token\"", "refused")
            // `localhost` has two addresses on some machines.
            #expect(line.contains("\"address\":\"127.0.0.1\"") || line.contains("\"address\":\"::1\""), "\(line)")
            for path in [
                "/v1/../token/x", "/attest", "/attest/challenge/x/../../../v1", "/mud", "/tokens", "/x/mud/live",
            ] {
                let answer = try await house.get(path)
                #expect((400..<500).contains(answer.status), "\(path): \(answer)")
            }
            #expect(house.api.connectionCount == 0)
        }
    }
}
