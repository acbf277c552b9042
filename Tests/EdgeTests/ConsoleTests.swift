import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// The console's requests on the internal listener, made and forged.
    @Suite struct ConsoleTests {
        private func start(_ apple: SimulatedApple) async throws -> Edge {
            try await Edge.start {
                $0.appAttest(apple).setting("ADMIN_BIND", "127.0.0.1:0").setting("ADMIN_CONSOLE", "on")
            }
        }

        private func get(_ edge: Edge, _ path: String, _ fields: String = "Host: localhost\r\n") async throws
            -> ReceivedAnswer
        {
            try await edge.gateway.ask("GET \(path) HTTP/1.1\r\n\(fields)\r\n")
        }

        private func post(
            _ edge: Edge, _ path: String, token: String?, host: String = "localhost",
            origin: String? = "http://localhost", more: String = ""
        ) async throws -> ReceivedAnswer {
            var text = "POST \(path) HTTP/1.1\r\nHost: \(host)\r\nContent-Length: 0\r\n\(more)"
            if let token { text += "X-Portcullis-Console: \(token)\r\n" }
            if let origin { text += "Origin: \(origin)\r\n" }
            return try await edge.gateway.ask(text + "\r\n")
        }

        private func token(_ edge: Edge) async throws -> String {
            let page = try await get(edge, "/console")
            let found = page.text.firstMatch(of: /name="console-token" content="([0-9a-f]{64})"/)
            return String(try #require(found, "\(page)").1)
        }

        private func items(_ answer: ReceivedAnswer, _ name: String) throws -> [[String: Any]] {
            let object = try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any]
            return try #require(object?[name] as? [[String: Any]], "\(answer)")
        }

        private func escaped(_ text: String) -> String {
            text.replacing("+", with: "%2B").replacing("=", with: "%3D").replacing("/", with: "%2F")
        }

        @Test func `the page and its data are served on the internal listener alone`() async throws {
            let edge = try await start(try SimulatedApple())
            let page = try await get(edge, "/console")
            #expect(page.status == 200 && page["content-type"] == "text/html; charset=utf-8")
            #expect(page["content-security-policy"]?.hasPrefix("default-src 'none'; script-src 'sha256-") == true)
            #expect(page["content-security-policy"]?.contains("frame-ancestors 'none'") == true)
            #expect(page["cache-control"] == "no-store" && page["x-content-type-options"] == "nosniff")
            let figures = try await get(edge, "/console/api/overview")
            #expect(figures.status == 200 && figures.text.contains("\"reactorLag\""), "\(figures)")
            for path in ["/console", "/console/api/sessions", "/console/api/overview"] {
                #expect(try await edge.gateway.get(path).status == 404)
                #expect(try await get(edge, path, "Host: evil.example\r\n").status == 403)
                #expect(try await get(edge, path, "Host: localhost\r\nOrigin: http://evil.example\r\n").status == 403)
                #expect(try await get(edge, path, "Host: localhost\r\nSec-Fetch-Site: cross-site\r\n").status == 403)
            }
            #expect(try await get(edge, "/console/nowhere").status == 404)
            #expect(try await get(edge, "/console/api/sessions?limit=101").status == 400)
            #expect(try await get(edge, "/console/api/sessions?address=%3Cscript%3E").status == 400)
            #expect(try await get(edge, "/console/api/sessions?after=x").status == 400)
            #expect(try await get(edge, "/console/api/devices?after=%3Cscript%3E").status == 400)
            #expect(try await get(edge, "/console/api/sessions?route=%3Cscript%3E").status == 200)
        }

        @Test func `without the setting there is no console, and a reload switches it`() async throws {
            let edge = try await Edge.start { $0.setting("ADMIN_BIND", "127.0.0.1:0") }
            for path in ["/console", "/console/api/sessions", "/console/api/devices/revoke"] {
                #expect(try await get(edge, path).status == 404)
            }
            #expect(try await post(edge, "/console/api/sessions/close?id=x", token: "x").status == 404)
            try await edge.gateway.reload(edge.gateway.settings.setting("ADMIN_CONSOLE", "on"))
            #expect(try await get(edge, "/console").status == 200)
        }

        @Test func `a device is revoked and restored, and both are recorded`() async throws {
            let apple = try SimulatedApple()
            let edge = try await start(apple)
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let socket = try await edge.gateway.open(device.handshake(at: edge.gateway))
            try await Edge.expectEcho(socket)
            let sessions = try items(try await get(edge, "/console/api/sessions"), "sessions")
            #expect(sessions.first?["subject"] as? String == device.keyID)
            #expect(try items(try await get(edge, "/console/api/devices"), "devices").first?["revoked"] == nil)

            let (token, key) = (try await token(edge), escaped(device.keyID))
            #expect(try await post(edge, "/console/api/devices/revoke?key=\(key)", token: token).status == 200)
            #expect(try await socket.closedByServer().reason == "device_blocked")
            expectRefusal(try await edge.gateway.refusal(device.handshake(at: edge.gateway)), 403, "key_revoked")
            let devices = try items(try await get(edge, "/console/api/devices"), "devices")
            #expect(devices.first?["revoked"] is String && devices.first?["reason"] as? String == "by operator")
            _ = try await edge.gateway.auditLine("operation", "key_revoked", device.keyID, "in the console")

            #expect(try await post(edge, "/console/api/devices/restore?key=\(key)", token: token).status == 200)
            try await Edge.expectEcho(edge.gateway.open(device.handshake(at: edge.gateway)))
            _ = try await edge.gateway.auditLine("operation", "key_restored", device.keyID, "in the console")
            let stranger = escaped(try apple.device().keyID)
            #expect(try await post(edge, "/console/api/devices/revoke?key=\(stranger)", token: token).status == 404)
            #expect(try await post(edge, "/console/api/devices/revoke?key=x", token: token).status == 400)
        }

        /// The same words as the command's.
        @Test func `development tokens are listed as by the command, and revoked`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start {
                $0.appAttest(apple).setting("ADMIN_BIND", "127.0.0.1:0").setting("ADMIN_CONSOLE", "on")
                    .setting("ALLOW_DEV_TOKENS", "true").setting("PUBLIC_ORIGIN", "http://localhost")
            }
            let path = "/console/api/dev-tokens"
            #expect(try items(try await get(edge, path), "tokens").isEmpty)
            let limited = try await edge.gateway.issueDevelopmentToken("--route", "live", "--devices", "3")
            let other = try await edge.gateway.issueDevelopmentToken()
            let client = try TokenClient.simulator(at: edge.gateway)
            _ = try await client.token(for: limited.token)
            let listed = try items(try await get(edge, path), "tokens")
            #expect(listed.map { $0["id"] as? String } == [limited.id, other.id])
            let command = try await edge.gateway.developmentTokens("list").outputLines
            for (token, line) in zip(listed, command) {
                for name in ["id", "state", "name", "expires", "lastUsed"] where token[name] != nil {
                    #expect(line.contains(try #require(token[name] as? String)), "\(name): \(line)")
                }
                let devices = "devices \(token["devices"] as? Int ?? -1)/\(token["maximumDevices"] as? Int ?? -1)"
                #expect(line.contains(devices), "\(line)")
            }
            #expect(listed[0]["routes"] as? [String] == ["live"] && listed[0]["devices"] as? Int == 1)
            #expect(listed[1]["routes"] == nil && listed[1]["lastUsed"] == nil)
            #expect(try items(try await get(edge, path + "?limit=1"), "tokens").count == 1)
            let next = try await get(edge, path + "?limit=1&after=\(limited.id)")
            #expect(try items(next, "tokens").first?["id"] as? String == other.id && next.field("next") == nil)
            #expect(try await get(edge, path + "?limit=100").status == 200)
            for wrong in ["?after=x", "?limit=101", "?limit=0"] {
                #expect(try await get(edge, path + wrong).status == 400, "\(wrong)")
            }

            let (token, revoke) = (try await token(edge), path + "/revoke?id=\(limited.id)")
            #expect(try await post(edge, revoke, token: nil).status == 403)
            #expect(try await get(edge, revoke).status == 405)
            #expect(try await post(edge, revoke, token: token).status == 200)
            expectRefusal(try await client.requestToken(for: limited.token), 401, "invalid_token")
            let revoked = try items(try await get(edge, path), "tokens").first
            #expect(revoked?["state"] as? String == "revoked" && revoked?["revoked"] is String)
            _ = try await edge.gateway.auditLine("operation", "development_token_revoked", limited.id, "in the console")
            #expect(try await post(edge, path + "/revoke?id=0123456789abcdef", token: token).status == 404)
            #expect(try await post(edge, path + "/revoke?id=x", token: token).status == 400)
        }

        @Test func `an action that isn't the page's is refused and does nothing`() async throws {
            let apple = try SimulatedApple()
            let edge = try await start(apple)
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let (token, path) = (try await token(edge), "/console/api/devices/revoke?key=\(escaped(device.keyID))")
            let forged = [
                try await post(edge, path, token: nil), try await post(edge, path, token: String(token.reversed())),
                try await post(edge, path, token: token, host: "evil.example", origin: "http://evil.example"),
                try await post(edge, path, token: token, origin: "http://evil.example"),
                try await post(edge, path, token: token, origin: "null"),
                try await post(edge, path, token: token, origin: nil, more: "Sec-Fetch-Site: cross-site\r\n"),
            ]
            #expect(forged.allSatisfy { $0.status == 403 }, "\(forged)")
            #expect(try await get(edge, path, "Host: localhost\r\nX-Portcullis-Console: \(token)\r\n").status == 405)
            try await Edge.expectEcho(edge.gateway.open(device.handshake(at: edge.gateway)))
            #expect(!edge.gateway.output.outputText.contains("\"operation\""))
        }

        @Test func `a session is closed, and lists have pages`() async throws {
            // Nobody answers pings meanwhile.
            let edge = try await Edge.start {
                $0.setting("ADMIN_BIND", "127.0.0.1:0").setting("ADMIN_CONSOLE", "on")
                    .setting("PING_INTERVAL_SECONDS", 3_600)
            }
            var sockets: [TestWebSocket] = []
            for _ in 0..<120 { sockets.append(try await edge.gateway.open(Handshake())) }
            try await Edge.expectEcho(sockets[0])
            let first = try await get(edge, "/console/api/sessions")
            #expect(try items(first, "sessions").count == 100)
            let next = try #require(first.field("next"))
            let second = try await get(edge, "/console/api/sessions?after=\(next)")
            #expect(try items(second, "sessions").count == 20 && second.field("next") == nil)
            let oldest = try #require(try items(first, "sessions").first?["id"] as? String)
            let (token, path) = (try await token(edge), "/console/api/sessions/close?id=\(oldest)")
            #expect(try await post(edge, path, token: nil).status == 403)
            #expect(try await post(edge, path, token: token).status == 200)
            #expect(try await sockets[0].closedByServer().reason == "closed_by_operator")
            #expect(try await post(edge, path, token: token).status == 404)
            // Without a store there are no devices.
            #expect(try items(try await get(edge, "/console/api/devices"), "devices").isEmpty)
        }
    }
}
