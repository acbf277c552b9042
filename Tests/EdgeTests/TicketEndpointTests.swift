import EdgeTestKit
import Testing

extension EdgeTests {
    /// `POST /ticket` exchanges credentials for a ticket.
    @Suite struct TicketEndpointTests {
        let apple: SimulatedApple

        init() throws {
            apple = try SimulatedApple()
        }

        @Test func `a registered device gets a ticket for each challenge`() async throws {
            let edge = try await start()
            let device = try await apple.enrolledDevice(at: edge.gateway)
            var seen: Set<String> = []
            for _ in 0..<3 {
                let answer = try await ask(edge, device.assertionHeaders(nonce: edge.gateway.challenge()))
                #expect(answer.status == 200, "\(answer)")
                #expect(answer["cache-control"] == "no-store")
                let fields = try #require(answer.strings)
                #expect(Set(fields.keys) == ["ticket", "expiresIn"])
                #expect(fields["expiresIn"] == "30")
                let ticket = try #require(fields["ticket"])
                #expect(ticket.wholeMatch(of: /[A-Za-z0-9_-]{43}/) != nil)
                seen.insert(ticket)
                try await edge.gateway.auditLine("\"event\":\"ticket\"", "admitted", device.keyID)
            }
            #expect(seen.count == 3)
            #expect(edge.target.connectionCount == 0)
        }

        @Test func `a ticket in the URL admits once`() async throws {
            let edge = try await Edge.start { $0.appAttest(apple).setting("LOG_LEVEL", "debug") }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let answer = try await ask(edge, device.assertionHeaders(nonce: edge.gateway.challenge()))
            let ticket = try #require(answer.strings?["ticket"])
            for query in ["ticket", "ticket=", "ticket=x", "ticket=\(ticket)x", "ticket=\(ticket)&ticket=\(ticket)"] {
                expectRefusal(try await edge.gateway.refusal(Handshake().path("/?" + query)), 401, "invalid_ticket")
            }
            let handshake = Handshake().path("/?cols=80&ticket=" + ticket)
            try await Edge.expectEcho(edge.gateway.open(handshake))
            try await edge.gateway.auditLine("\"event\":\"upgrade\"", "admitted", "\"ticket\"", device.keyID)
            expectRefusal(try await edge.gateway.refusal(handshake), 401, "invalid_ticket")
            let output = try await edge.gateway.stop()
            #expect(!output.errorText.contains(ticket) && !output.outputText.contains(ticket))
        }

        /// No fallback: a client that presents a ticket is checked by it.
        @Test func `good credentials don't make up for a wrong ticket`() async throws {
            let edge = try await start()
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let handshake = try await device.handshake(at: edge.gateway)
            expectRefusal(try await edge.gateway.refusal(handshake.path("/?ticket=x")), 401, "invalid_ticket")
            try await Edge.expectEcho(edge.gateway.open(handshake))
        }

        @Test func `the credentials are spent as by an upgrade`() async throws {
            let edge = try await start()
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let headers = try device.assertionHeaders(nonce: try await edge.gateway.challenge())
            #expect(try await ask(edge, headers).status == 200)
            let again = try await ask(edge, headers)
            expectRefusal(again, 401, "invalid_nonce")
            let fresh = try #require(again["x-app-assert-challenge"])
            let old = try device.assertionHeaders(nonce: fresh, counter: 1)
            expectRefusal(try await ask(edge, old), 401, "assertion_rejected")
            try await Edge.expectEcho(edge.gateway.open(device.handshake(at: edge.gateway, counter: 9)))
        }

        @Test func `without credentials no ticket is issued`() async throws {
            let edge = try await start()
            expectRefusal(try await ask(edge, [:]), 401, "app_auth_required")
            expectRefusal(try await ask(edge, ["X-App-Assert-Data": ""]), 401, "app_auth_required")
            expectRefusal(try await ask(edge, ["Origin": "https://evil.example"]), 403, "origin_refused")
            #expect(try await edge.gateway.get("/ticket").status == 405)
        }

        @Test func `a debug client gets a ticket by its certificate`() async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await Edge.start {
                $0.tls(certificates).clientCA(certificates).setting("REQUIRE_APP_AUTH", "true")
            }
            for (identity, status) in [(certificates.client, 200), (certificates.selfSignedClient, 401)] {
                let tls = TLSChoice(identity: identity)
                let answer = try await edge.gateway.request(GatewayProcess.post("/ticket", ""), tls: tls)
                #expect(answer.status == status, "\(answer)")
                #expect((answer.strings?["ticket"] != nil) == (status == 200))
            }
            expectRefusal(try await ask(edge, [:]), 401, "app_auth_required")
        }

        private func ask(_ edge: Edge, _ headers: [String: String]) async throws -> ReceivedAnswer {
            let lines = headers.map { "\($0.key): \($0.value)\r\n" }.joined()
            return try await edge.gateway.request(
                "POST /ticket HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\(lines)\r\n")
        }

        private func start() async throws -> Edge {
            try await Edge.start { $0.appAttest(apple) }
        }
    }
}
