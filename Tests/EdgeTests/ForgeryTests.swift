import DeviceSimulation
import EdgeTestKit
import Testing

extension EdgeTests {
    /// Every named forgery, against the real gateway.
    @Suite struct ForgeryTests {
        @Test func `no forged attestation is registered`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple).setting("CHALLENGES_PER_MINUTE", 100_000) }
            for defect in AttestationDefect.allCases {
                let device = try apple.device()
                let body = try device.forgedRegistration(defect, nonce: try await edge.gateway.challenge())
                let answer = try await edge.gateway.post("/attest/register", body)
                // The one that is too large may already be too large as a body.
                #expect(answer.status == 400 || (defect == .tooLarge && answer.status == 413), "\(defect): \(answer)")
                let handshake = try await device.handshake(at: edge.gateway)
                #expect(try await edge.gateway.refusal(handshake).code != nil, "\(defect)")
            }
            let sound = try await apple.device().register(at: edge.gateway)
            #expect(sound.status == 200, "\(sound)")
            let list = try await edge.gateway.keys("list")
            #expect(list.outputText.split(separator: "\n").filter { $0.contains("=") }.count == 1, "\(list)")
        }

        /// The stored counter is 7, which the defects of the counter assume.
        @Test func `no forged assertion is admitted`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start {
                $0.appAttest(apple).setting("FAILED_UPGRADES_PER_MINUTE", 10_000)
                    .setting("CHALLENGES_PER_MINUTE", 100_000)
            }
            for defect in AssertionDefect.allCases {
                let device = try await apple.enrolledDevice(at: edge.gateway)
                try await Edge.expectEcho(edge.gateway.open(device.handshake(at: edge.gateway, counter: 7)))
                let handshake = try await device.forgedHandshake(defect, at: edge.gateway)
                if defect == .tooLarge {
                    try await expectNoUpgrade(handshake, at: edge)
                } else {
                    let answer = try await edge.gateway.refusal(handshake)
                    #expect(answer.status == 401, "\(defect): \(answer)")
                    // An empty header counts as missing.
                    let expected = defect == .empty ? "app_auth_required" : "assertion_rejected"
                    #expect(answer.code == expected, "\(defect)")
                }
                try await Edge.expectEcho(edge.gateway.open(device.handshake(at: edge.gateway, counter: 8)))
            }
        }

        /// A header above the limit ends the connection without an answer.
        private func expectNoUpgrade(_ handshake: Handshake, at edge: Edge) async throws {
            let connection = try await edge.gateway.connect()
            connection.post(Array(handshake.text.utf8))
            let bytes = try await connection.receiveToEnd()
            #expect(!String(decoding: bytes, as: UTF8.self).contains(" 101 "))
        }

        /// The shortest life a challenge can have is five seconds; letting it pass is the point of this test.
        @Test func `a challenge expires`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple).setting("CHALLENGE_TTL_SECONDS", 5) }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let late = try await device.handshake(at: edge.gateway)
            let lateBody = try apple.device().registration(nonce: try await edge.gateway.challenge())
            try await Task.sleep(for: .seconds(6))
            expectRefusal(try await edge.gateway.refusal(late), 401, "invalid_nonce")
            let registration = try await edge.gateway.post("/attest/register", lateBody)
            expectRefusal(registration, 400, "invalid_nonce")
            #expect(registration.errorText == "Invalid or expired nonce")
            try await Edge.expectEcho(edge.gateway.open(device.handshake(at: edge.gateway)))
        }
    }
}
