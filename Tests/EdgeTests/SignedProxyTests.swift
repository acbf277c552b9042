import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Signed requests through the real nginx, with and without its JavaScript module, and through the real Caddy: the
    /// examples in `config/`, on one origin with the gateway.
    @Suite struct SignedProxyTests {
        private static let body = #"{"mentions":true,"slash":"\/"}"#

        @Test(arguments: FrontProxy.Kind.allCases)
        func `recipe 2 passes both, and the service reads the digest to compare`(kind: FrontProxy.Kind) async throws {
            let house = try await House(kind)
            #expect(try await house.send("GET", "/challenge", [:], "").field("challenge")?.isEmpty == false)
            let url = house.proxy.origin + "/preferences?a=b"
            let fields = try await house.client.fields("PUT", url, body: Self.body)
            let (answer, request) = try await house.passes("PUT", "/preferences?a=b", fields, Self.body)
            #expect(answer["x-appattest-next-challenge"].flatMap { Data(base64Encoded: $0) }?.count == 32, "\(answer)")
            #expect(request["x-portcullis-subject"] == [house.client.device.keyID])
            #expect(
                request["x-portcullis-method"] == ["signed_request"] && request["x-portcullis-mode"] == ["production"])
            #expect(request["x-portcullis-content-digest"] == [SignedClient.digest(Self.body)])
            #expect(request.body == Self.body)
            let again = try await house.send("PUT", "/preferences?a=b", fields, Self.body)
            expectSigned(again, 401, "invalid_nonce", "invalid or expired challenge")
            // Another method, another URL, and what a client says about them.
            let next = try #require(again["x-appattest-next-challenge"])
            for (method, path) in [("POST", "/preferences"), ("PUT", "/other")] {
                var fields = try await house.client.fields("PUT", url, body: Self.body, over: next)
                (fields["X-Original-Method"], fields["X-Forwarded-Method"]) = ("PUT", "PUT")
                fields["X-Original-URL"] = url
                expectSigned(
                    try await house.send(method, path, fields, Self.body), 401, "assertion_rejected",
                    "invalid app attest assertion")
            }
            #expect(house.api.connectionCount == 1)
        }

        @Test(arguments: FrontProxy.Kind.allCases)
        func `recipe 1 is refused where nobody sends the body, whatever length its client states`(
            kind: FrontProxy.Kind
        ) async throws {
            let house = try await House(kind)
            for stated in [nil, "0", String(Self.body.utf8.count)] {
                var fields = try await house.client.fields(body: Self.body)
                fields["X-Original-Content-Length"] = stated
                let refused = try await house.send("PUT", "/preferences", fields, Self.body)
                expectSigned(refused, 403, "malformed_request", "invalid App Attest parameters")
                // An empty body that is signed passes for no other.
                var empty = try await house.client.fields()
                empty["X-Original-Content-Length"] = stated
                #expect(try await house.send("PUT", "/preferences", empty, Self.body).status == 403)
            }
            #expect(house.api.connectionCount == 0)
        }

        @Test(arguments: FrontProxy.Kind.allCases)
        func `a client that has to attest its key is told so with 428, and recovers`(kind: FrontProxy.Kind) async throws
        {
            let house = try await House(kind)
            _ = try await house.edge.gateway.keys("forget", house.client.device.keyID)
            let url = house.proxy.origin + "/preferences"
            let refused = try await house.send(
                "GET", "/preferences", house.client.fields("GET", url), "")
            expectSigned(refused, 428, "unknown_key", "device requires re-attestation")
            #expect(refused["x-appattest-next-challenge"].flatMap { Data(base64Encoded: $0) }?.count == 32)
            #expect(try await house.client.register().status == 201)
            _ = try await house.passes("GET", "/preferences", house.client.fields("GET", url), "")
            #expect(house.client.rotations == 1)
        }

        @Test(arguments: FrontProxy.Kind.allCases)
        func `a revoked device stays out with 403`(kind: FrontProxy.Kind) async throws {
            let house = try await House(kind)
            _ = try await house.edge.gateway.keys("revoke", house.client.device.keyID)
            let url = house.proxy.origin + "/preferences"
            let refused = try await house.send("GET", "/preferences", house.client.fields("GET", url), "")
            expectSigned(refused, 403, "key_revoked", "Key revoked")
        }

        // MARK: With bodies

        @Test func `nginx's JavaScript asks with the body, and the service gets the same one`() async throws {
            let house = try await House(.nginx, .bodies)
            for (method, body) in [("PUT", Self.body), ("POST", String(repeating: "é", count: 30_000)), ("GET", "")] {
                var fields = try await house.client.fields(body: body)
                fields["X-Portcullis-Subject"] = "admin"
                let (answer, request) = try await house.passes(method, "/signed/preferences?a=b", fields, body)
                #expect(answer["x-appattest-next-challenge"].flatMap { Data(base64Encoded: $0) }?.count == 32)
                #expect(request.body == body && request["x-portcullis-subject"] == [house.client.device.keyID])
                #expect(request["x-appattest-assertion"].isEmpty)
                #expect(request["authorization"] == ["Bearer \(FrontProxy.providerKey)"])
                expectSigned(
                    try await house.send(method, "/signed/preferences?a=b", fields, body), 401, "invalid_nonce",
                    "invalid or expired challenge")
            }
            let url = house.proxy.origin + "/signed/preferences"
            let second = try await house.client.fields("PUT", url, body: Self.body)
            let (_, request) = try await house.passes("PUT", "/signed/preferences", second, Self.body)
            #expect(request["x-portcullis-content-digest"] == [SignedClient.digest(Self.body)])
        }

        @Test func `behind nginx's JavaScript no other body passes`() async throws {
            let house = try await House(.nginx, .bodies)
            let other = Self.body.replacingOccurrences(of: "true", with: "TRUE")
            for arrived in [other, "", String(Self.body.dropLast()), Self.body + " "] {
                var fields = try await house.client.fields(body: Self.body)
                fields["X-Original-Content-Length"] = String(Self.body.utf8.count)
                expectSigned(
                    try await house.send("PUT", "/signed/preferences", fields, arrived), 401, "digest_mismatch",
                    "request body digest mismatch")
            }
            // Recipe 2's digest is compared where the body is seen.
            let url = house.proxy.origin + "/signed/preferences"
            let second = try await house.client.fields("PUT", url, body: Self.body)
            expectSigned(
                try await house.send("PUT", "/signed/preferences", second, other), 401, "digest_mismatch",
                "request body digest mismatch")
            // Too long for nginx, which keeps it from the gateway.
            let long = String(repeating: "a", count: 70_000)
            let refused = try await house.send("PUT", "/signed/x", house.client.fields(body: long), long)
            #expect(refused.status == 413)
            #expect(house.api.connectionCount == 0)
        }

        @Test func `a body without a length is refused behind nginx's JavaScript`() async throws {
            let house = try await House(.nginx, .bodies)
            let fields = try await house.client.fields(body: "abc")
            let connection = try await house.proxy.connect()
            try await connection.send(
                "PUT /signed/x HTTP/1.1\r\nHost: localhost:\(house.proxy.port)\r\nTransfer-Encoding: chunked\r\n"
                    + SignedClient.lines(fields) + "Connection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
            expectSigned(
                try await connection.answer(), 400, "malformed_request", "invalid App Attest parameters", next: true)
        }

        // MARK: Support

        private func expectSigned(
            _ answer: ReceivedAnswer, _ status: Int, _ code: String, _ text: String, next: Bool = true,
            sourceLocation: SourceLocation = #_sourceLocation
        ) {
            #expect(answer.status == status, "\(answer)", sourceLocation: sourceLocation)
            #expect(answer.field("code") == code, "\(answer)", sourceLocation: sourceLocation)
            #expect(answer.field("error") == text, "\(answer)", sourceLocation: sourceLocation)
            #expect(answer.field("requestId")?.isEmpty == false, "\(answer)", sourceLocation: sourceLocation)
            if next {
                #expect(answer["x-appattest-next-challenge"] != nil, "\(answer)", sourceLocation: sourceLocation)
            }
        }

        /// A gateway and an API behind a proxy, and a registered device.
        private struct House {
            let apple: SimulatedApple
            let edge: Edge
            let api: TargetServer
            let proxy: FrontProxy
            let client: SignedClient
            private let directory: TemporaryDirectory

            init(_ kind: FrontProxy.Kind, _ signing: FrontProxy.Signing = .digests) async throws {
                let (directory, apple) = (try TemporaryDirectory(), try SimulatedApple())
                let (port, socket) = (try FrontProxy.freePort(), directory.file("admin.sock"))
                (self.directory, self.apple) = (directory, apple)
                api = try await TargetServer.start(tls: try await DevCertificates.shared().server)
                edge = try await Edge.start {
                    $0.appAttest(apple).setting("ADMIN_BIND", "unix:" + socket).setting("SIGNED_REQUESTS", "on")
                        .setting("AUTHZ_ADMIT", "token+signed")
                        .setting("AUTHZ_BODY", "forwarded")
                        .setting("PUBLIC_ORIGIN", "https://localhost:\(port)")
                        .setting("TRUSTED_PROXY_CIDRS", "127.0.0.1")
                        .setting("MAX_CONNECTIONS_PER_ADDRESS", "100000")
                }
                proxy = try await FrontProxy.start(
                    kind, asking: socket, apiPort: api.port, gatewayPort: edge.gateway.port,
                    signing: signing, port: port)
                client = try SignedClient(apple, at: edge.gateway)
                #expect(try await client.register().status == 201)
            }

            private func begin(
                _ method: String, _ path: String, _ fields: [String: String], _ body: String
            ) async throws -> RawConnection {
                let connection = try await proxy.connect()
                let length = body.isEmpty ? "" : "Content-Length: \(body.utf8.count)\r\n"
                try await connection.send(
                    "\(method) \(path) HTTP/1.1\r\nHost: localhost:\(proxy.port)\r\n\(length)"
                        + SignedClient.lines(fields) + "Connection: close\r\n\r\n" + body)
                return connection
            }

            /// A request that doesn't reach the API.
            func send(
                _ method: String, _ path: String, _ fields: [String: String], _ body: String
            ) async throws -> ReceivedAnswer {
                try await begin(method, path, fields, body).answer()
            }

            /// A request that reaches the API, and the API's answer the client.
            func passes(
                _ method: String, _ path: String, _ fields: [String: String], _ body: String,
                sourceLocation: SourceLocation = #_sourceLocation
            ) async throws -> (answer: ReceivedAnswer, request: ReceivedRequest) {
                let index = api.connectionCount
                let connection = try await begin(method, path, fields, body)
                let served = try await api.connection(index)
                let request = try await served.receiveRequest(bodyBytes: body.utf8.count)
                try await served.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
                let answer = try await connection.answer()
                #expect(answer.status == 200 && answer.text == "hi", "\(answer)", sourceLocation: sourceLocation)
                await served.close()
                return (answer, request)
            }
        }
    }
}
