import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    @Suite struct RegisterEndpointTests {
        let apple: SimulatedApple

        init() throws {
            apple = try SimulatedApple()
        }

        @Test func `a valid attestation is answered with exactly 200`() async throws {
            let edge = try await start()
            let answer = try await apple.device().register(at: edge.gateway)
            #expect(answer.status == 200, "\(answer)")
            #expect(answer.text == #"{"registered":true}"#)
            #expect(answer["content-type"]?.hasPrefix("application/json") == true)
        }

        @Test func `only its owner can read the store`() async throws {
            let edge = try await start()
            let attributes = try FileManager.default.attributesOfItem(atPath: edge.gateway.storePath)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }

        @Test(arguments: ["/attest/register/", "//attest/register"])
        func `a trailing slash reaches the same endpoint`(path: String) async throws {
            let edge = try await start()
            let body = try apple.device().registration(nonce: try await edge.gateway.challenge())
            #expect(try await edge.gateway.post(path, body).status == 200)
        }

        /// One key in four spellings is one key.
        @Test func `the key ID is accepted as base64 or base64url`() async throws {
            let edge = try await start()
            let device = try apple.device()
            let unpadded = device.keyID.replacing("=", with: "")
            let urlSafe = device.keyID.replacing("+", with: "-").replacing("/", with: "_")
            for spelling in [device.keyID, unpadded, urlSafe, urlSafe.replacing("=", with: "")] {
                let nonce = try await edge.gateway.challenge()
                let body = try device.registration(nonce: nonce, keyID: spelling)
                #expect(try await edge.gateway.post("/attest/register", body).status == 200, "\(spelling)")
                let handshake = try await device.handshake(at: edge.gateway, keyID: spelling)
                try await Edge.expectEcho(edge.gateway.open(handshake))
            }
            let list = try await GatewayProcess.run(["keys", "list", "--store", edge.gateway.storePath])
            #expect(list.outputText.components(separatedBy: device.keyID).count == 2, "\(list)")
        }

        @Test func `a missing field is reported in V4's words`() async throws {
            let edge = try await start()
            let whole = ["keyId": "a", "attestation": "b", "nonce": "c"]
            for missing in whole.keys {
                let fields = whole.filter { $0.key != missing }
                let body = String(decoding: try JSONEncoder().encode(fields), as: UTF8.self)
                let answer = try await edge.gateway.post("/attest/register", body)
                #expect(answer.status == 400)
                #expect(answer.errorText == "Missing keyId, attestation, or nonce", "\(answer)")
                #expect(answer.code?.isEmpty == false && answer.requestID?.isEmpty == false)
            }
        }

        @Test(
            arguments: [
                "", "{", "[]", "null", "7", "\"text\"", "{\"keyId\":1,\"attestation\":2,\"nonce\":3}",
                "{\"keyId\":null,\"attestation\":null,\"nonce\":null}", "\u{0}", String(repeating: "[", count: 5000),
                String(repeating: "{\"a\":", count: 5000),
            ])
        func `a malformed body is answered with 400`(body: String) async throws {
            let edge = try await start()
            let answer = try await edge.gateway.post("/attest/register", body)
            #expect(answer.status == 400, "\(answer)")
            #expect(answer.code?.isEmpty == false)
            try await edge.expectHealthy()
        }

        @Test func `fields that aren't base64 or no key are answered with 400`() async throws {
            let edge = try await start()
            let device = try apple.device()
            for keyID in ["", "!", "AAAA", device.keyID + "AAAA", device.keyID + "\n", "=" + device.keyID] {
                let body = try device.registration(nonce: try await edge.gateway.challenge(), keyID: keyID)
                #expect(try await edge.gateway.post("/attest/register", body).status == 400, "\(keyID)")
            }
            for attestation in ["", "!", "AAA", "oWE="] {
                let nonce = try await edge.gateway.challenge()
                let fields = ["keyId": device.keyID, "attestation": attestation, "nonce": nonce]
                let body = String(decoding: try JSONEncoder().encode(fields), as: UTF8.self)
                #expect(try await edge.gateway.post("/attest/register", body).status == 400, "\(attestation)")
            }
        }

        @Test func `a foreign, malformed or used nonce is refused`() async throws {
            let edge = try await start()
            let other = try await start()
            let device = try apple.device()
            let used = try await edge.gateway.challenge()
            #expect(
                try await edge.gateway.post("/attest/register", device.registration(nonce: used)).status == 200)
            let foreign = try await other.gateway.challenge()
            let zeros = String(repeating: "0", count: 64)
            for nonce in [used, foreign, zeros, "zz", used + "00", String(used.dropLast()), ""] {
                let body = try device.registration(nonce: nonce, signing: zeros)
                let answer = try await edge.gateway.post("/attest/register", body)
                #expect(answer.status == 400)
                #expect(answer.errorText == "Invalid or expired nonce" || nonce.isEmpty, "\(nonce): \(answer)")
            }
        }

        @Test func `an attestation for another app is answered in the guide's words`() async throws {
            let edge = try await start()
            let stranger = try apple.device(bundleID: "com.example.other")
            let answer = try await stranger.register(at: edge.gateway)
            expectRefusal(answer, 400, "attestation_rejected")
            #expect(answer.errorText == "rpIdHash does not match bundleId")
        }

        @Test func `any other rejection reveals no detail`() async throws {
            let edge = try await start()
            let otherApple = try SimulatedApple()
            let answers = [
                try await otherApple.device().register(at: edge.gateway),
                try await edge.gateway.post(
                    "/attest/register",
                    apple.device().registration(
                        nonce: edge.gateway.challenge(), signing: String(repeating: "0", count: 64))),
            ]
            for answer in answers {
                expectRefusal(answer, 400, "attestation_rejected")
                #expect(answer.errorText == "Invalid attestation registration request")
            }
        }

        @Test func `a rejected attestation spends its challenge`() async throws {
            let edge = try await start()
            let nonce = try await edge.gateway.challenge()
            let rejected = try SimulatedApple().device().registration(nonce: nonce)
            #expect(try await edge.gateway.post("/attest/register", rejected).code == "attestation_rejected")
            let sound = try apple.device().registration(nonce: nonce)
            let answer = try await edge.gateway.post("/attest/register", sound)
            #expect(answer.status == 400)
            #expect(answer.errorText == "Invalid or expired nonce")
        }

        @Test func `a body of 64 KiB is read and one byte more is refused`() async throws {
            let edge = try await start()
            let body = try apple.device().registration(nonce: try await edge.gateway.challenge())
            let padding = String(repeating: " ", count: 65_536 - body.utf8.count)
            let fitting = try await edge.gateway.post("/attest/register", body + padding)
            #expect(fitting.status == 200, "\(fitting)")
            let oversized = try await edge.gateway.post("/attest/register", body + padding + " ")
            #expect(oversized.status == 413)
            #expect(oversized.errorText?.isEmpty == false)
            try await edge.expectHealthy()
        }

        @Test func `a body that announces too much is refused before it arrives`() async throws {
            let edge = try await start()
            let answer = try await edge.gateway.request(
                "POST /attest/register HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999999\r\n\r\n")
            #expect(answer.status == 413)
        }

        @Test func `a body may arrive in pieces`() async throws {
            let edge = try await start()
            let body = try apple.device().registration(nonce: try await edge.gateway.challenge())
            let bytes = Array(GatewayProcess.post("/attest/register", body).utf8)
            let connection = try await edge.gateway.connect()
            for start in stride(from: 0, to: bytes.count, by: 97) {
                try await connection.send(bytes[start..<min(start + 97, bytes.count)])
            }
            #expect(try await connection.answer().status == 200)
        }

        @Test func `an address may register 60 times a minute`() async throws {
            let edge = try await start()
            for number in 1...60 {
                let answer = try await edge.gateway.post("/attest/register", "{}")
                try #require(answer.status == 400, "registration \(number): \(answer)")
            }
            let refused = try await edge.gateway.post("/attest/register", "{}")
            #expect(refused.status == 429)
            let wait = try #require(refused["retry-after"].flatMap { Int($0) })
            #expect(wait >= 1 && wait <= 60)
        }

        private func start() async throws -> Edge {
            try await Edge.start { $0.appAttest(apple) }
        }
    }
}
