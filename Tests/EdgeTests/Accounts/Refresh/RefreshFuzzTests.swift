import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Almost valid bodies of the endpoints of refresh tokens.
    @Suite struct RefreshFuzzTests {
        private static let rounds = 150

        /// Also bodies that are no UTF-8.
        private func send(
            _ body: [UInt8], to path: String, of player: Player, with token: String? = nil, nonce: String? = nil
        ) async throws -> ReceivedAnswer {
            let (holder, url) = (player.holder, player.holder.url(path))
            let fields =
                if let token {
                    try holder.headers("POST", url, token, nonce: nonce)
                } else {
                    "DPoP: \(try holder.proof("POST", url, nonce: nonce))\r\n"
                }
            let head =
                "POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                + "Content-Length: \(body.count)\r\n\(fields)\r\n"
            let connection = try await player.gateway.connect()
            try await connection.send(Array(head.utf8) + body)
            let answer = try await connection.answer()
            guard answer.code == "use_dpop_nonce", nonce == nil, let demanded = answer["dpop-nonce"] else {
                return answer
            }
            return try await send(body, to: path, of: player, with: token, nonce: demanded)
        }

        private func spoiled(_ text: String, _ generator: inout SeededGenerator) -> [UInt8] {
            var body = Array(text.utf8)
            for _ in 0..<Int.random(in: 1...3, using: &generator) { MalformedInput.spoil(&body, &generator) }
            return body
        }

        /// What was refused for its form names the member; all else is 401, or 404 for a device that has no account.
        private func expectDecided(_ answer: ReceivedAnswer, codes: Set<String>) {
            guard answer.status != 200 else { return }
            #expect([400, 401, 404, 413].contains(answer.status), "\(answer)")
            #expect(answer.code.map(codes.contains) == true, "\(answer)")
            #expect(answer["cache-control"] == "no-store" && answer.requestID != nil, "\(answer)")
        }

        @Test func `a use is given a successor or an answer, and the gateway goes on`() async throws {
            var generator = SeededGenerator(seed: 34)
            let bench = try await RefreshEdge.start()
            var player = try await bench.signedIn()
            for _ in 0..<Self.rounds {
                let token = try #require(player.refreshToken)
                let body = spoiled(#"{"refreshToken":"\#(token)"}"#, &generator)
                let answer = try await send(body, to: "/api/auth/token/validate", of: player)
                expectDecided(answer, codes: ["invalid_request", "invalid_token", "body_too_large"])
                switch answer.status {
                case 200: try player.keep(answer)
                // Other bytes of the same family end it.
                case 401: try await player.signIn()
                default: break
                }
            }
            try await player.refresh()
            let (output, last) = (try await bench.gateway.stop(), try #require(player.refreshToken))
            #expect(!(output.outputText + output.errorText).contains(last))
        }

        @Test func `a log-out is done or answered, and the gateway goes on`() async throws {
            var generator = SeededGenerator(seed: 35)
            let bench = try await RefreshEdge.start()
            var player = try await bench.signedIn()
            for _ in 0..<Self.rounds {
                let body = spoiled(#"{"everywhere":false}"#, &generator)
                let answer = try await send(body, to: "/api/auth/logout", of: player, with: player.token)
                expectDecided(answer, codes: ["invalid_request", "body_too_large"])
                if answer.status == 200 {
                    try await player.expectSignedOut()
                    try await player.signIn()
                }
            }
            try await player.refresh()
        }

        @Test func `a sign-in by a device is done or answered, and the gateway goes on`() async throws {
            var generator = SeededGenerator(seed: 36)
            let bench = try await RefreshEdge.start()
            let owner = try await bench.signedIn()
            var player = owner
            let device = try await bench.apple.enrolledDevice(at: bench.gateway)
            expectSuccess(try await player.join(device))
            let codes: Set = [
                "invalid_request", "body_too_large", "assertion_rejected", "passkey_rejected", "unknown_key",
                "unknown_credential",
            ]
            for _ in 0..<Self.rounds {
                let good = try player.deviceSignIn(device, over: try await player.deviceSignInChallenge())
                let answer = try await send(
                    spoiled(good, &generator), to: "/api/auth/device/authenticate", of: player)
                expectDecided(answer, codes: codes)
                if answer.status == 200 { try player.keep(answer) }
            }
            try await player.signIn(by: device)
            try await player.refresh()
        }
    }
}
