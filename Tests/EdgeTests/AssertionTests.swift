import EdgeTestKit
import Testing

extension EdgeTests {
    /// Admission by App Attest.
    @Suite struct AssertionTests {
        let apple: SimulatedApple

        init() throws {
            apple = try SimulatedApple()
        }

        @Test func `a registered device is admitted repeatedly`() async throws {
            let edge = try await start()
            let device = try await apple.enrolledDevice(at: edge.gateway)
            for _ in 0..<3 { try await Edge.expectEcho(edge.gateway.open(device.handshake(at: edge.gateway))) }
        }

        @Test func `a client without credentials is refused`() async throws {
            let edge = try await start()
            expectRefusal(try await edge.gateway.refusal(Handshake()), 401, "app_auth_required")
            #expect(edge.target.connectionCount == 0)
        }

        /// RFC 9110 section 15.5.2. Code and id are also in headers, for clients that don't show the body of a refused
        /// upgrade.
        @Test func `a refusal has its code and its id in headers, and a 401 names a scheme`() async throws {
            let edge = try await start()
            let unknown = try await edge.gateway.refusal(Handshake())
            #expect(unknown["www-authenticate"] == "AppAttest" && unknown["x-refusal-code"] == "app_auth_required")
            #expect(unknown.requestID?.isEmpty == false && unknown["x-refusal-request-id"] == unknown.requestID)
            let elsewhere = try await edge.gateway.get("/nowhere")
            #expect(elsewhere["www-authenticate"] == nil && elsewhere["x-refusal-code"] == "not_found")
        }

        @Test func `every 401 has a fresh challenge that can be used at once`() async throws {
            let edge = try await start()
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let refused = try await edge.gateway.refusal(Handshake())
            let nonce = try #require(refused["x-app-assert-challenge"])
            #expect(nonce.wholeMatch(of: /[0-9a-f]{64}/) != nil)
            #expect(refused["cache-control"] == "no-store")
            let again = try await edge.gateway.refusal(Handshake())
            #expect(again["x-app-assert-challenge"] != nonce)
            let handshake = try Handshake().adding(device.assertionHeaders(nonce: nonce))
            try await Edge.expectEcho(edge.gateway.open(handshake))
        }

        /// An empty header is present: it selects App Attest, and the credential is incomplete.
        @Test(arguments: ["X-App-Assert-KeyId", "X-App-Assert-Data", "X-App-Assert-Nonce"])
        func `all three headers are required`(header: String) async throws {
            let edge = try await Edge.start { $0.appAttest(apple).setting("REQUIRE_APP_AUTH", "false") }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let whole = try await device.handshake(at: edge.gateway)
            let attempts = [
                whole.setting(header, nil), whole.setting(header, ""), Handshake().setting(header, ""),
                Handshake().setting(header, "x"),
            ]
            for attempt in attempts {
                let answer = try await edge.gateway.refusal(attempt)
                #expect(answer.status == 401, "\(answer)")
                #expect(answer.code?.isEmpty == false)
            }
            #expect(edge.target.connectionCount == 0)
        }

        @Test
        func `without REQUIRE_APP_AUTH only wrong credentials are refused`() async throws {
            let edge = try await Edge.start { $0.appAttest(apple).setting("REQUIRE_APP_AUTH", "false") }
            try await Edge.expectEcho(edge.gateway.open())
            let stranger = try apple.device()
            expectRefusal(
                try await edge.gateway.refusal(stranger.handshake(at: edge.gateway)), 401, "unknown_key")
        }

        @Test func `a challenge of another gateway is refused`() async throws {
            let edge = try await start()
            let other = try await start()
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let foreign = try await other.gateway.challenge()
            let nonces = [foreign, String(repeating: "0", count: 64), "00", "nonsense", foreign + "00"]
            for nonce in nonces {
                let headers = try device.assertionHeaders(nonce: nonce, signing: foreign)
                expectRefusal(
                    try await edge.gateway.refusal(Handshake().adding(headers)), 401, "invalid_nonce")
            }
        }

        @Test func `a challenge is spent at its first use even if the assertion is invalid`() async throws {
            let edge = try await start()
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let nonce = try await edge.gateway.challenge()
            let wrong = try device.assertionHeaders(nonce: nonce, signing: String(repeating: "1", count: 64))
            expectRefusal(
                try await edge.gateway.refusal(Handshake().adding(wrong)), 401, "assertion_rejected")
            let right = try device.assertionHeaders(nonce: nonce)
            expectRefusal(try await edge.gateway.refusal(Handshake().adding(right)), 401, "invalid_nonce")
        }

        @Test func `a challenge admits one upgrade`() async throws {
            let edge = try await start()
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let handshake = try await device.handshake(at: edge.gateway)
            _ = try await edge.gateway.open(handshake)
            expectRefusal(try await edge.gateway.refusal(handshake), 401, "invalid_nonce")
        }

        @Test func `a key that was never registered is told to attest again`() async throws {
            let edge = try await start()
            let answer = try await edge.gateway.refusal(apple.device().handshake(at: edge.gateway))
            expectRefusal(answer, 401, "unknown_key")
            #expect(answer.errorText == "Unknown key: requires re-attestation")
        }

        @Test func `a signature by another key is refused`() async throws {
            let edge = try await start()
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let thief = try apple.device()
            let handshake = try await thief.handshake(at: edge.gateway, keyID: device.keyID)
            expectRefusal(try await edge.gateway.refusal(handshake), 401, "assertion_rejected")
        }

        @Test(arguments: ["!", "AAAA", "oWE=", "o2E="])
        func `data that is no assertion is refused`(data: String) async throws {
            let edge = try await start()
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let handshake = try await device.handshake(at: edge.gateway).setting("X-App-Assert-Data", data)
            expectRefusal(try await edge.gateway.refusal(handshake), 401, "assertion_rejected")
        }

        @Test func `a counter that doesn't rise is refused`() async throws {
            let edge = try await start()
            let device = try await apple.enrolledDevice(at: edge.gateway)
            try await Edge.expectEcho(edge.gateway.open(device.handshake(at: edge.gateway, counter: 10)))
            for counter in [10, 9, 1, 0] as [UInt32] {
                let handshake = try await device.handshake(at: edge.gateway, counter: counter)
                expectRefusal(try await edge.gateway.refusal(handshake), 401, "assertion_rejected")
            }
            try await Edge.expectEcho(edge.gateway.open(device.handshake(at: edge.gateway, counter: .max)))
        }

        /// Two challenges with the same counter at the same time on two reactors: the compare-and-set accepts one.
        @Test func `exactly one of two concurrent upgrades with the same counter is admitted`() async throws {
            let edge = try await start()
            let device = try await apple.enrolledDevice(at: edge.gateway)
            for counter in 1...8 as ClosedRange<UInt32> {
                let gateway = edge.gateway
                let first = try await device.handshake(at: gateway, counter: counter)
                let second = try await device.handshake(at: gateway, counter: counter)
                async let one = gateway.attempt(first)
                async let other = gateway.attempt(second)
                var admitted = 0
                for outcome in try await [one, other] {
                    switch outcome {
                    case .open: admitted += 1
                    case .refused(let answer, _): expectRefusal(answer, 401, "assertion_rejected")
                    }
                }
                #expect(admitted == 1, "counter \(counter)")
            }
        }

        private func start() async throws -> Edge {
            try await Edge.start { $0.appAttest(apple) }
        }
    }
}
