import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Requests that are signed one by one: at the edge, and on `/authz` as proxies ask.
    @Suite struct SignedRequestTests {
        private let apple: SimulatedApple
        private let url = "https://api.example.com/preferences"
        private let body = #"{"mentions":true}"#

        init() throws { apple = try SimulatedApple() }

        private func start(_ settings: [String: String] = [:]) async throws -> Edge {
            try await Edge.start { base in
                settings.reduce(
                    base.appAttest(apple).setting("SIGNED_REQUESTS", "on").setting("AUTHZ_ADMIT", "token+signed")
                        .setting("ADMIN_BIND", "127.0.0.1:0")
                        .setting("PUBLIC_ORIGIN", "http://localhost")
                ) { $0.setting($1.key, $1.value) }
            }
        }

        // MARK: Endpoints

        @Test func `a challenge has 32 bytes and whole seconds, however it is asked for`() async throws {
            let edge = try await start()
            for answer in [
                try await edge.gateway.get("/challenge"), try await edge.gateway.post("/challenge", "{}"),
                try await edge.gateway.get("//challenge/"),
                try await edge.gateway.post("/challenge", #"{"did":"a","device_token":"b","force_key_rotation":true}"#),
            ] {
                #expect(answer.status == 200 && answer["cache-control"] == "no-store", "\(answer)")
                let members = try #require(answer.strings)
                #expect(Set(members.keys) == ["challenge", "expires_at"])
                #expect(Data(base64Encoded: try #require(members["challenge"]))?.count == 32)
                let expiry = try #require(members["expires_at"])
                #expect(expiry.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/) != nil)
            }
        }

        @Test func `without the setting there are no such paths`() async throws {
            let edge = try await start(["SIGNED_REQUESTS": "off"])
            for path in ["/challenge", "/register", "/devices", "/unregister"] {
                expectRefusal(try await edge.gateway.post(path, "{}"), 404, "not_found")
            }
        }

        @Test func `the paths have a prefix, and each has its methods`() async throws {
            let edge = try await start(["SIGNED_REQUESTS_PREFIX": "/push"])
            let client = try SignedClient(apple, at: edge.gateway, prefix: "/push")
            #expect(try await client.register(path: "/devices").status == 201)
            #expect(try await edge.gateway.get("/challenge").status == 404)
            expectRefusal(try await edge.gateway.get("/push/register"), 405, "method_not_allowed")
            #expect(try await client.unregister("DELETE", path: "/devices").status == 200)
        }

        @Test func `a device registers, confirms itself, and unregisters, each time with the next challenge`()
            async throws
        {
            let edge = try await start()
            let client = try SignedClient(apple, at: edge.gateway)
            #expect(try await client.register().status == 201)
            #expect(try await client.register().status == 200)
            #expect(try await client.unregister().status == 200)
            let gone = try await client.unregister()
            expectRefusal(gone, 404, "unknown_key")
            #expect(gone.errorText == "device not registered")
            #expect(client.rotations == 0)
            try await edge.gateway.auditLine("\"event\":\"registration\"", "unregistered", client.device.keyID)
        }

        // MARK: Recovery

        @Test func `a client whose key isn't known any more recovers by itself`() async throws {
            let edge = try await start()
            let client = try SignedClient(apple, at: edge.gateway)
            client.believesItIsRegistered()
            #expect(try await client.register().status == 201)
            #expect(client.rotations == 1)
            _ = try await edge.gateway.keys("forget", client.device.keyID)
            #expect(try await client.register().status == 201)
            #expect(client.rotations == 2)
        }

        @Test func `a revocation invites no new key`() async throws {
            let edge = try await start()
            let client = try SignedClient(apple, at: edge.gateway)
            #expect(try await client.register().status == 201)
            _ = try await edge.gateway.keys("revoke", client.device.keyID)
            expectRefusal(try await client.register(), 403, "key_revoked")
            #expect(client.rotations == 0)
        }

        @Test func `a blocked key neither registers nor unregisters, and its record stays`() async throws {
            let directory = try TemporaryDirectory()
            let list = try directory.write("# none\n", to: "blocked")
            let edge = try await start(["BLOCK_LIST_PATH": list, "CONTROL_SOCKET_PATH": directory.file("control")])
            let client = try SignedClient(apple, at: edge.gateway)
            #expect(try await client.register().status == 201)
            _ = try directory.write("key \(client.device.keyID)\n", to: "blocked")
            let reload = try await GatewayProcess.run(["reload", "--socket", directory.file("control")])
            #expect(reload.ending == .exited(0), "\(reload)")
            for path in ["/register", "/devices"] {
                expectRefusal(try await client.register(path: path), 403, "device_blocked")
            }
            expectRefusal(try await client.unregister(), 403, "device_blocked")
            expectRefusal(try await client.unregister("DELETE", path: "/devices"), 403, "device_blocked")
            #expect(client.rotations == 0)
            #expect(try await edge.gateway.keys("show", client.device.keyID).ending == .exited(0))
        }

        // MARK: Upgrades

        @Test func `a signature opens a WebSocket, once, and unregistering closes it`() async throws {
            let edge = try await start()
            let client = try SignedClient(apple, at: edge.gateway)
            #expect(try await client.register().status == 201)
            let fields = try await client.fields()
            let socket = try await edge.gateway.open(Handshake().adding(fields))
            let again = try await edge.gateway.refusal(Handshake().adding(fields))
            expectRefusal(again, 401, "invalid_nonce")
            #expect(again.errorText == "invalid or expired challenge")
            try await Edge.expectEcho(
                edge.gateway.open(Handshake().adding(try await client.fields("GET", "http://localhost/"))))
            #expect(try await client.unregister().status == 200)
            #expect(try await socket.closedByServer().code == 1_008)
        }

        // MARK: Behind a proxy

        private func ask(
            _ gateway: GatewayProcess, _ fields: [String: String], body: String = "", length: Int? = nil,
            path: String = "/authz"
        ) async throws -> ReceivedAnswer {
            let stated = length.map { "X-Original-Content-Length: \($0)\r\n" } ?? ""
            return try await gateway.ask(
                "POST \(path) HTTP/1.1\r\nHost: portcullis\r\nX-Original-Method: PUT\r\nX-Original-URL: \(url)\r\n"
                    + "Content-Length: \(body.utf8.count)\r\n\(stated)\(SignedClient.lines(fields))\r\n\(body)")
        }

        @Test func `recipe 2 passes without a body, and the digest is passed on`() async throws {
            let edge = try await start()
            let client = try SignedClient(apple, at: edge.gateway)
            #expect(try await client.register().status == 201)
            let fields = try await client.fields("PUT", url, body: body)
            let answer = try await ask(edge.gateway, fields)
            #expect(answer.status == 204, "\(answer)")
            #expect(answer["x-portcullis-content-digest"]?.hasPrefix("sha-256=:") == true)
            #expect(answer["x-portcullis-subject"] == client.device.keyID)
            #expect(answer["x-appattest-next-challenge"].flatMap { Data(base64Encoded: $0) }?.count == 32)
            let again = try await ask(edge.gateway, fields)
            expectRefusal(again, 401, "invalid_nonce")
            #expect(again["x-refusal-status"] == "401" && again["x-appattest-next-challenge"] != nil)
            expectRefusal(
                try await ask(edge.gateway, try await client.fields(body: body), body: body), 403, "malformed_request")
        }

        @Test func `recipe 1 passes with the body that was sent, in any pieces`() async throws {
            let edge = try await start(["AUTHZ_BODY": "forwarded"])
            let client = try SignedClient(apple, at: edge.gateway)
            #expect(try await client.register().status == 201)
            let large = String(repeating: "a", count: 65_536)
            for body in [body, "", large] {
                let answer = try await ask(
                    edge.gateway, try await client.fields(body: body), body: body, length: body.utf8.count)
                #expect(answer.status == 204, "\(answer)")
            }
            let length = body.utf8.count
            let swapped = body.replacingOccurrences(of: "true", with: "TRUE")
            let refused = try await ask(
                edge.gateway, try await client.fields(body: body), body: swapped, length: length)
            expectRefusal(refused, 401, "digest_mismatch")
            #expect(refused.errorText == "request body digest mismatch")
            let connection = try await RawConnection.open(port: edge.gateway.internalPort())
            let text =
                "POST /authz HTTP/1.1\r\nHost: portcullis\r\nX-Original-Method: PUT\r\nX-Original-URL: \(url)\r\n"
                + "Content-Length: \(length)\r\nX-Original-Content-Length: \(length)\r\n"
            let fields = SignedClient.lines(try await client.fields(body: body))
            for byte in (text + fields + "\r\n" + body).utf8 {
                try await connection.send([byte])
            }
            #expect(try await connection.answer().status == 204)
        }

        /// All are under way at the same time, each but for its last byte.
        @Test func `of the bodies that are signed nothing is kept`() async throws {
            let edge = try await start([
                "AUTHZ_BODY": "forwarded", "CHALLENGE_TTL_SECONDS": "600", "MAX_BODY_BYTES": "1048576",
            ])
            let client = try SignedClient(apple, at: edge.gateway)
            #expect(try await client.register().status == 201)
            let (count, body) = (24, String(repeating: "a", count: 1_048_576))
            let head =
                "POST /authz HTTP/1.1\r\nHost: portcullis\r\nX-Original-Method: PUT\r\nX-Original-URL: \(url)\r\n"
                + "Content-Length: \(body.utf8.count)\r\nX-Original-Content-Length: \(body.utf8.count)\r\n"
            func signed() async throws -> String { SignedClient.lines(try await client.fields(body: body)) }
            func begin(_ fields: String) async throws -> RawConnection {
                let connection = try await RawConnection.open(port: edge.gateway.internalPort())
                try await connection.send(head + fields + "\r\n" + body.dropLast())
                return connection
            }
            func finish(_ connection: RawConnection) async throws {
                try await connection.send("a")
                #expect(try await connection.answer().status == 204)
            }
            // Everything that is made only once exists now.
            try await finish(begin(signed()))
            // A request has a time limit from its first byte on.
            var requests: [String] = []
            for _ in 0..<count { requests.append(try await signed()) }
            let idle = try ProcessMemory.residentKiB(of: edge.gateway.processID)
            var connections: [RawConnection] = []
            for request in requests { connections.append(try await begin(request)) }
            for connection in connections { try await finish(connection) }
            let grown = try ProcessMemory.peakKiB(of: edge.gateway.processID) - idle
            // A connection has buffers of its own.
            #expect(grown < count * 1_024 / 4, "\(grown) KiB")
        }

        @Test func `an unknown key is told to attest itself, in a field that passes through proxies`() async throws {
            let edge = try await start()
            let client = try SignedClient(apple, at: edge.gateway)
            let answer = try await ask(edge.gateway, try await client.fields("PUT", url))
            expectRefusal(answer, 403, "unknown_key")
            #expect(answer["x-refusal-status"] == "428" && answer.errorText == "device requires re-attestation")
            // To a proxy that passes any status on.
            for path in ["/status/428/authz", "/admit/signed/status/428/authz"] {
                let direct = try await ask(edge.gateway, try await client.fields("PUT", url), path: path)
                expectRefusal(direct, 428, "unknown_key")
                #expect(direct["x-refusal-status"] == "428" && direct["x-appattest-next-challenge"] != nil)
            }
            for path in ["/status/403/authz", "/status/authz", "/status/428/status/428/authz"] {
                #expect(try await ask(edge.gateway, client.fields("PUT", url), path: path).status == 404, "\(path)")
            }
        }

        @Test func `a location that demands signed requests says so to whoever sends none`() async throws {
            let edge = try await start()
            let answer = try await ask(edge.gateway, [:], path: "/admit/signed/authz")
            expectRefusal(answer, 401, "app_auth_required")
            #expect(answer.errorText == "missing X-AppAttest header" && answer["x-refusal-status"] == "401")
            #expect(answer["x-appattest-next-challenge"].flatMap { Data(base64Encoded: $0) }?.count == 32)
            // Elsewhere a request without either is told to bring a token.
            expectRefusal(try await ask(edge.gateway, [:]), 401, "invalid_token")
        }

        @Test func `signed requests pass a proxy only where the gateway admits them`() async throws {
            let edge = try await start(["AUTHZ_ADMIT": "token"])
            let client = try SignedClient(apple, at: edge.gateway)
            #expect(try await client.register().status == 201)
            let fields = try await client.fields("PUT", url)
            for path in ["/authz", "/admit/signed/authz", "/admit/token+signed/authz"] {
                expectRefusal(try await ask(edge.gateway, fields, path: path), 403, "way_not_allowed")
            }
            // WebSockets are another matter.
            try await Edge.expectEcho(
                edge.gateway.open(Handshake().adding(try await client.fields("GET", "http://localhost/"))))
            try await edge.gateway.reload(edge.gateway.settings.setting("AUTHZ_ADMIT", "token+dev+signed"))
            #expect(try await ask(edge.gateway, fields).status == 204)
        }

        private func nextChallenge(in answer: ReceivedAnswer) throws -> String {
            try #require(answer["x-appattest-next-challenge"])
        }

        @Test func `each answer's challenge is good for the next request`() async throws {
            let edge = try await start()
            let client = try SignedClient(apple, at: edge.gateway)
            #expect(try await client.register().status == 201)
            var next: String?
            for _ in 0..<4 {
                let answer = try await ask(edge.gateway, try await client.fields("PUT", url, over: next))
                #expect(answer.status == 204, "\(answer)")
                next = try nextChallenge(in: answer)
                let refused = try await ask(edge.gateway, try await client.fields("POST", url, over: next))
                expectRefusal(refused, 401, "assertion_rejected")
                next = try nextChallenge(in: refused)
            }
            // Of a refused upgrade, too, and there in place of the other dialect's.
            let fields = try await client.fields("GET", url, over: next)
            let upgrade = try await edge.gateway.refusal(Handshake().adding(fields))
            expectRefusal(upgrade, 401, "assertion_rejected")
            #expect(upgrade["x-app-assert-challenge"] == nil)
            next = try nextChallenge(in: upgrade)
            try await Edge.expectEcho(
                edge.gateway.open(Handshake().adding(try await client.fields("GET", "http://localhost/", over: next))))
        }

        @Test func `fields over their limits are refused before anything is spent`() async throws {
            let edge = try await start(["AUTHZ_BODY": "forwarded"])
            let client = try SignedClient(apple, at: edge.gateway)
            #expect(try await client.register().status == 201)
            let good = try await client.fields(body: body)
            var long = good
            long["X-AppAttest-Assertion"] = String(repeating: "A", count: 16_400)
            #expect(try await ask(edge.gateway, long, body: body, length: body.utf8.count).status == 403)
            let cut = try await edge.gateway.request(
                "POST /register HTTP/1.1\r\nHost: localhost\r\nX-AppAttest-Attestation: "
                    + String(repeating: "A", count: 16_400) + "\r\nContent-Length: 0\r\n\r\n")
            expectRefusal(cut, 431, "header_too_large")
            // A proxy states the length before it sends the body.
            let large = try await edge.gateway.ask(
                "POST /authz HTTP/1.1\r\nHost: portcullis\r\nX-Original-Method: PUT\r\nX-Original-URL: \(url)\r\n"
                    + "Content-Length: 65537\r\nX-Original-Content-Length: 65537\r\n\(SignedClient.lines(good))\r\n")
            expectRefusal(large, 403, "body_too_large")
            #expect(large["x-refusal-status"] == "413")
            #expect(try await ask(edge.gateway, good, body: body, length: body.utf8.count).status == 204)
        }
    }
}
