import AppAttest
import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Access tokens: from a challenge to a session, and to its end.
    @Suite struct AccessTokenTests {
        let apple: SimulatedApple

        init() throws {
            apple = try SimulatedApple()
        }

        private func start(_ settings: [String: String] = [:]) async throws -> Edge {
            try await Edge.start { base in
                settings.reduce(base.appAttest(apple).setting("PUBLIC_ORIGIN", "http://localhost")) {
                    $0.setting($1.key, $1.value)
                }
            }
        }

        // MARK: The first run

        @Test func `one challenge registers and yields a token that opens a WebSocket`() async throws {
            let edge = try await start()
            let client = try TokenClient(apple, at: edge.gateway)
            let nonce = try await client.challenge()
            #expect(nonce.wholeMatch(of: /[A-Za-z0-9_-]{43}/) != nil)
            let registered = try await client.register(nonce: nonce)
            #expect(registered.status == 200, "\(registered)")
            #expect(registered.text == #"{"key_id":"\#(client.device.keyID)","registered":true}"#)
            let answer = try await client.token(nonce: nonce)
            #expect(answer.status == 200, "\(answer)")
            let members = try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
            #expect(Set(members.keys) == ["access_token", "expires_in"])
            #expect(members["expires_in"] as? Int == 300)
            #expect(answer["dpop-nonce"] == nil && answer["cache-control"] == "no-store")
            let token = try TokenClient.accessToken(in: answer)
            for scheme in ["Bearer", "bearer"] {
                try await Edge.expectEcho(edge.gateway.open(client.handshake(token, scheme: scheme)))
            }
            let bound = try client.handshake(token, scheme: "DPoP", claims: ["ath": TokenClient.hash(of: token)])
            try await Edge.expectEcho(edge.gateway.open(bound))
            try await edge.gateway.auditLine("\"event\":\"token\"", "\"outcome\":\"admitted\"", client.device.keyID)
            try await edge.gateway.auditLine("\"event\":\"upgrade\"", "access_token", client.device.keyID)
            #expect(!edge.gateway.output.outputText.contains(token) && !edge.gateway.output.errorText.contains(token))
        }

        @Test func `the claims name issuer, audience, device, app, method, key and lifetime`() async throws {
            let edge = try await start(["ACCESS_TOKEN_TTL_SECONDS": "120", "PUBLIC_ORIGIN": "http://localhost"])
            let client = try TokenClient(apple, at: edge.gateway)
            let claims = try TokenClient.claims(of: await client.firstToken())
            #expect(
                Set(claims.keys) == ["iss", "aud", "sub", "client_id", "amr", "jti", "iat", "exp", "cnf"])
            #expect(claims["iss"] as? String == "http://localhost" && claims["aud"] as? String == "http://localhost")
            #expect(claims["sub"] as? String == client.device.keyID)
            #expect(claims["client_id"] as? String == apple.app.description)
            #expect(claims["amr"] as? [String] == ["app_attest"])
            #expect((claims["cnf"] as? [String: String]) == ["jkt": client.thumbprint])
            let issued = try #require(claims["iat"] as? Int)
            #expect(claims["exp"] as? Int == issued + 120)
        }

        @Test func `a client that asks for it is told the type of the token`() async throws {
            let edge = try await start()
            let client = try TokenClient(apple, at: edge.gateway)
            _ = try await client.firstToken()
            let answer = try await client.token(nonce: client.challenge()) { $0["token_type"] = "\"DPoP\"" }
            #expect(answer.field("token_type") == "DPoP", "\(answer)")
        }

        @Test func `a token yields browser tickets until the device is revoked`() async throws {
            let edge = try await start()
            let client = try TokenClient(apple, at: edge.gateway)
            let token = try await client.firstToken()
            var tickets: [String] = []
            for _ in 0..<2 {
                let proof = try client.proof("POST", client.url("/ticket"))
                let answer = try await edge.gateway.request(
                    "POST /ticket HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n"
                        + "Authorization: Bearer \(token)\r\nDPoP: \(proof)\r\n\r\n")
                tickets.append(try #require(answer.strings?["ticket"], "\(answer)"))
            }
            let socket = try await edge.gateway.open(Handshake().path("/?ticket=\(tickets[0])"))
            #expect(try await edge.gateway.keys("revoke", client.device.keyID).ending == .exited(0))
            #expect(try await socket.closedByServer().reason == "device_blocked")
            let refused = try await edge.gateway.refusal(Handshake().path("/?ticket=\(tickets[1])"))
            expectRefusal(refused, 403, "key_revoked")
        }

        // MARK: Challenges

        @Test func `a challenge has an integer time and is valid once per purpose`() async throws {
            let edge = try await start()
            let answer = try await edge.gateway.post("/attest/challenge", #"{"purpose":"token","extra":[]}"#)
            let members = try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
            #expect(Set(members.keys) == ["nonce", "exp"])
            let left = try #require(members["exp"] as? Int) - Int(Date().timeIntervalSince1970)
            #expect((50...61).contains(left))
            let client = try TokenClient(apple, at: edge.gateway)
            let nonce = try #require(members["nonce"] as? String)
            #expect(try await client.register(nonce: nonce).status == 200)
            expectError(try await client.register(nonce: nonce), 400, "nonce_expired")
            #expect(try await client.token(nonce: nonce).status == 200)
            expectError(try await client.token(nonce: nonce), 400, "nonce_expired")
        }

        @Test(arguments: ["", "{", "[]", "{}", #"{"purpose":"other"}"#, #"{"purpose":7}"#])
        func `a challenge request must name the token purpose`(body: String) async throws {
            let edge = try await start()
            expectError(try await edge.gateway.post("/attest/challenge", body), 400, "invalid_request")
        }

        @Test func `the dialects' challenges are not mixed`() async throws {
            let edge = try await start()
            let client = try TokenClient(apple, at: edge.gateway)
            _ = try await client.firstToken()
            let hex = try await edge.gateway.challenge()
            let foreign = Data(try #require(Hex.decode(hex))).base64EncodedString().replacing("+", with: "-").replacing(
                "/", with: "_"
            )
            .replacing("=", with: "")
            expectError(try await client.token(nonce: foreign), 400, "nonce_expired")
            let own = try await client.challenge()
            let text = try #require(Data(base64Encoded: own.replacing("-", with: "+").replacing("_", with: "/") + "="))
            let asHex = text.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
            let handshake = try Handshake().adding(client.device.assertionHeaders(nonce: asHex))
            expectRefusal(try await edge.gateway.refusal(handshake), 401, "invalid_nonce")
        }

        // MARK: Server nonces

        @Test func `a demand for a nonce spends nothing`() async throws {
            let edge = try await start(["DPOP_NONCE": "token"])
            let client = try TokenClient(apple, at: edge.gateway)
            let nonce = try await client.challenge()
            #expect(try await client.register(nonce: nonce).status == 200)
            let assertion = try client.assertion(nonce: nonce)
            let demand = try await client.token(nonce: nonce, assertion: assertion)
            expectError(demand, 401, "use_dpop_nonce")
            let serverNonce = try #require(demand["dpop-nonce"])
            #expect(demand["www-authenticate"]?.hasPrefix("DPoP ") == true)
            let answer = try await client.token(nonce: nonce, assertion: assertion, serverNonce: serverNonce)
            let token = try TokenClient.accessToken(in: answer)
            expectError(try await client.token(nonce: nonce, serverNonce: "forged"), 401, "use_dpop_nonce")
            // At a resource none is needed.
            try await Edge.expectEcho(edge.gateway.open(client.handshake(token)))
        }

        @Test func `with DPOP_NONCE=always an upgrade needs a nonce, too`() async throws {
            let edge = try await start(["DPOP_NONCE": "always"])
            let client = try TokenClient(apple, at: edge.gateway)
            let nonce = try await client.challenge()
            #expect(try await client.register(nonce: nonce).status == 200)
            let serverNonce = try #require(try await client.token(nonce: nonce)["dpop-nonce"])
            let token = try TokenClient.accessToken(in: await client.token(nonce: nonce, serverNonce: serverNonce))
            let refused = try await edge.gateway.refusal(client.handshake(token))
            expectError(refused, 401, "use_dpop_nonce")
            let fresh = try #require(refused["dpop-nonce"])
            try await Edge.expectEcho(edge.gateway.open(client.handshake(token, serverNonce: fresh)))
        }

        // MARK: Refusals

        @Test func `an unknown device is told to register`() async throws {
            let edge = try await start()
            let client = try TokenClient(apple, at: edge.gateway)
            let answer = try await client.token(nonce: client.challenge())
            expectError(answer, 401, "attestation_failed")
            #expect(answer.field("error_description")?.contains("registration required") == true)
            #expect(answer["dpop-nonce"] == nil)
        }

        @Test func `a revoked device is blocked`() async throws {
            let edge = try await start()
            let client = try TokenClient(apple, at: edge.gateway)
            let token = try await client.firstToken()
            #expect(try await edge.gateway.keys("revoke", client.device.keyID).ending == .exited(0))
            expectError(try await client.token(nonce: client.challenge()), 403, "device_blocked")
            expectError(try await client.register(nonce: client.challenge()), 403, "device_blocked")
            expectError(try await edge.gateway.refusal(client.handshake(token)), 403, "device_blocked")
        }

        @Test(.enabled(if: SteppedClock.isAvailable, "needs a C compiler, and a gateway without a sanitizer"))
        func `a session ends with its token where it may not outlive it`() async throws {
            let clock = try await SteppedClock()
            let target = try await TargetServer.start(.echo)
            let settings = GatewaySettings(targetPort: target.port).appAttest(apple)
                .setting("PUBLIC_ORIGIN", "http://localhost").setting("SESSION_OUTLIVES_TOKEN", "false").setting(
                    "ACCESS_TOKEN_TTL_SECONDS", "120")
            let gateway = try await GatewayProcess.start(settings, clock: clock)
            let client = try TokenClient(apple, at: gateway)
            let socket = try await gateway.open(client.handshake(client.firstToken()))
            try clock.step(to: 60)
            try await Edge.expectEcho(socket)
            try clock.step(to: 130)
            #expect(try await socket.closedByServer(within: .seconds(30)).reason == "session_expired")
        }

        @Test func `a blocked key gets no token and its tokens are refused`() async throws {
            let directory = try TemporaryDirectory()
            let list = try directory.write("# none\n", to: "blocked")
            let edge = try await start(["BLOCK_LIST_PATH": list, "CONTROL_SOCKET_PATH": directory.file("control")])
            let client = try TokenClient(apple, at: edge.gateway)
            let token = try await client.firstToken()
            let socket = try await edge.gateway.open(client.handshake(token))
            _ = try directory.write("key \(client.device.keyID)\n", to: "blocked")
            let reload = try await GatewayProcess.run(["reload", "--socket", directory.file("control")])
            #expect(reload.ending == .exited(0), "\(reload)")
            #expect(try await socket.closedByServer().reason == "device_blocked")
            expectError(try await client.token(nonce: client.challenge()), 403, "device_blocked")
            expectRefusal(try await edge.gateway.refusal(client.handshake(token)), 403, "device_blocked")
        }

        @Test func `a token without its key's proof is refused`() async throws {
            let edge = try await start()
            let client = try TokenClient(apple, at: edge.gateway)
            let token = try await client.firstToken()
            let thief = try TokenClient(apple, at: edge.gateway)
            expectError(try await edge.gateway.refusal(thief.handshake(token)), 401, "invalid_token")
            for scheme in ["Bearer", "DPoP"] {
                let alone = Handshake().adding("Authorization", "\(scheme) \(token)")
                expectError(try await edge.gateway.refusal(alone), 401, "invalid_token")
            }
            let proofAlone = try Handshake().adding("DPoP", client.proof("GET", client.url("/")))
            expectError(try await edge.gateway.refusal(proofAlone), 401, "invalid_token")
            let withoutHash = try client.handshake(token, scheme: "DPoP")
            expectError(try await edge.gateway.refusal(withoutHash), 401, "invalid_dpop_proof")
            let once = try client.handshake(token)
            try await Edge.expectEcho(edge.gateway.open(once))
            expectError(try await edge.gateway.refusal(once), 401, "invalid_dpop_proof")
            let twice = try client.handshake(token).adding("DPoP", client.proof("GET", client.url("/")))
            expectError(try await edge.gateway.refusal(twice), 401, "invalid_dpop_proof")
        }

        @Test func `a client with a wrong clock is told the server's time`() async throws {
            let edge = try await start()
            let client = try TokenClient(apple, at: edge.gateway)
            let token = try await client.firstToken()
            let late = try client.handshake(token, claims: ["iat": "\(Int(Date().timeIntervalSince1970) - 40)"])
            let answer = try await edge.gateway.refusal(late)
            expectError(answer, 401, "clock_skew")
            let year = Calendar(identifier: .gregorian).component(.year, from: Date())
            #expect(answer.field("error_description")?.contains("\(year)-") == true, "\(answer)")
            let early = try client.handshake(token, claims: ["iat": "\(Int(Date().timeIntervalSince1970) + 20)"])
            try await Edge.expectEcho(edge.gateway.open(early))
        }

        /// A registered key's identifier is no secret.
        @Test func `strangers with fresh device keys leave room for the proofs of others`() async throws {
            let edge = try await start(["MAX_SPENT_PROOFS": "48"])
            let client = try TokenClient(apple, at: edge.gateway)
            _ = try await client.firstToken()
            for _ in 0..<50 {
                let stranger = TokenClient(apple, device: client.device, at: edge.gateway)
                let nonce = try await stranger.challenge()
                let wrong = [UInt8](repeating: 1, count: 100)
                expectError(try await stranger.token(nonce: nonce, assertion: wrong), 401, "attestation_failed")
                let unattested = try await stranger.register(nonce: nonce) { members in
                    members["attestation"]?.replace(#""attestation":""#, with: #""attestation":"AAAA"#)
                }
                expectError(unattested, 401, "attestation_failed")
            }
            #expect(try await client.token(nonce: client.challenge()).status == 200)
            let newcomer = try TokenClient(apple, at: edge.gateway)
            #expect(try await newcomer.register(nonce: newcomer.challenge()).status == 200)
        }

        @Test func `an assertion is valid for one app and one device key only`() async throws {
            let edge = try await start()
            let client = try TokenClient(apple, at: edge.gateway)
            _ = try await client.firstToken()
            // Another key of the client, with an assertion over the first one.
            let other = TokenClient(apple, device: client.device, at: edge.gateway)
            let nonce = try await client.challenge()
            let swapped = try await other.token(nonce: nonce, assertion: client.assertion(nonce: nonce))
            expectError(swapped, 401, "attestation_failed")
            let app = try await client.token(nonce: client.challenge()) { $0["app"] = #"{"bundle_id":"com.other"}"# }
            expectError(app, 401, "attestation_failed")
            let stranger = try TokenClient(apple, device: apple.device(bundleID: "com.other"), at: edge.gateway)
            expectError(try await stranger.register(nonce: stranger.challenge()), 401, "attestation_failed")
        }

        @Test func `a registration is valid only for the app that it names`() async throws {
            let edge = try await start(["APPATTEST_APP_IDS": "\(apple.app.teamID).com.example.second"])
            let second = try TokenClient(apple, device: apple.device(bundleID: "com.example.second"), at: edge.gateway)
            expectError(try await second.register(nonce: second.challenge()), 401, "attestation_failed")
            let honest = try await second.register(nonce: second.challenge()) { members in
                members["app"] = #"{"bundle_id":"com.example.second"}"#
            }
            #expect(honest.status == 200, "\(honest)")
        }

        @Test(arguments: ["app", "attestation", "device_key_jwk", "nonce"])
        func `a missing member is reported by name`(member: String) async throws {
            let edge = try await start()
            let client = try TokenClient(apple, at: edge.gateway)
            _ = try await client.firstToken()
            let answer = try await client.token(nonce: client.challenge()) { $0[member] = nil }
            expectError(answer, 400, "invalid_request")
            #expect(answer.field("error_description")?.contains(member) == true, "\(answer)")
        }

        @Test func `both dialects in one registration are refused`() async throws {
            let edge = try await start()
            let client = try TokenClient(apple, at: edge.gateway)
            let answer = try await client.register(nonce: client.challenge()) { $0["keyId"] = "\"AAAA\"" }
            expectRefusal(answer, 400, "malformed_request")
            let other = try await client.register(nonce: client.challenge()) { $0["dpop"] = "\"a.b.c\"" }
            expectError(other, 400, "invalid_dpop_proof")
        }

        /// RFC 9449 §4.3, check 1. As two fields and as one with a comma (RFC 9110 §5.3).
        @Test func `two proofs are refused as a proof, and spend none`() async throws {
            let edge = try await start()
            let client = try TokenClient(apple, at: edge.gateway)
            let token = try await client.firstToken()
            let good = try client.handshake(token)
            let proof = try #require(good.headers.last?.value)
            for handshake in [good.adding("DPoP", proof), good.setting("DPoP", proof + ", " + proof)] {
                let answer = try await edge.gateway.refusal(handshake)
                expectError(answer, 401, "invalid_dpop_proof")
                #expect(answer["www-authenticate"] == #"DPoP algs="ES256", error="invalid_dpop_proof""#)
                let line = try await edge.gateway.auditLine(try #require(answer.requestID))
                #expect(line.contains(#""check":"proof""#), "\(line)")
            }
            let fields = "Authorization: Bearer \(token)\r\nDPoP: \(proof)\r\nDPoP: \(proof)\r\n"
            let ticket = "POST /ticket HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\(fields)\r\n"
            expectError(try await edge.gateway.request(ticket), 401, "invalid_dpop_proof")
            try await Edge.expectEcho(edge.gateway.open(good))
        }

        @Test func `a proof with another scheme of Authorization is a demand for a token`() async throws {
            let edge = try await start()
            let client = try TokenClient(apple, at: edge.gateway)
            let good = try client.handshake(await client.firstToken())
            for handshake in [good.setting("Authorization", "Basic eDp5"), good.setting("Authorization", nil)] {
                let answer = try await edge.gateway.refusal(handshake)
                expectError(answer, 401, "invalid_token")
                #expect(answer["www-authenticate"] == #"DPoP algs="ES256""#)
            }
        }

        @Test func `requests for tokens are limited by address`() async throws {
            let edge = try await start(["CHALLENGES_PER_MINUTE": "2"])
            for _ in 0..<2 { expectError(try await edge.gateway.post("/token", "{}"), 400, "invalid_request") }
            let answer = try await edge.gateway.post("/token", "{}")
            expectError(answer, 429, "rate_limited")
            #expect(answer["retry-after"] != nil)
        }

        @Test func `without App Attest there are no tokens`() async throws {
            let edge = try await Edge.start()
            for path in ["/.well-known/jwks.json", "/.well-known/oauth-authorization-server"] {
                #expect(try await edge.gateway.get(path).status == 404)
            }
            #expect(try await edge.gateway.post("/token", "{}").status == 404)
        }

        private func expectError(
            _ answer: ReceivedAnswer, _ status: Int, _ code: String,
            sourceLocation: SourceLocation = #_sourceLocation
        ) {
            expectRefusal(answer, status, code, sourceLocation: sourceLocation)
            #expect(answer.errorText == code, "\(answer)", sourceLocation: sourceLocation)
            #expect(
                answer.field("error_description")?.hasPrefix("\(code): ") == true, "\(answer)",
                sourceLocation: sourceLocation)
        }
    }
}
