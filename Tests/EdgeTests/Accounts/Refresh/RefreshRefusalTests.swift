import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// What the endpoints of refresh tokens refuse, and how little they say.
    @Suite struct RefreshRefusalTests {
        private static let malformed = [
            "", "{}", #"{"refreshToken":7}"#, #"{"refreshToken":null}"#, #"{"refreshToken":["AAAA"]}"#,
            #"{"refreshToken":""}"#, #"{"refreshToken":"AAAA"}"#, #"{"refresh_token":"AAAA"}"#,
            #"{"refreshToken":"\#(String(repeating: "A", count: 63))="}"#,
            #"{"refreshToken":"\#(String(repeating: "A", count: 201))"}"#,
            #"{"refreshToken":"\#(String(repeating: "A", count: 10_000))"}"#,
        ]

        @Test func `a missing or malformed token is 400, and names the member`() async throws {
            let bench = try await RefreshEdge.start()
            var player = try await bench.signedIn()
            for body in Self.malformed {
                let answer = try await player.tryRefresh(body: body)
                expectRefusal(answer, 400, "invalid_request")
                #expect(answer.text.contains("refreshToken"), "\(body): \(answer)")
            }
            for body in ["[]", "x", #"{"refreshToken":"#, "\u{0}"] {
                expectRefusal(try await player.tryRefresh(body: body), 400, "invalid_request")
            }
            let unproven = try await player.refreshUnproven()
            expectRefusal(unproven, 400, "invalid_dpop_proof")
            try await player.refresh()
        }

        @Test func `an unknown, a foreign, a reused and a revoked token have one answer`() async throws {
            let bench = try await RefreshEdge.start()
            var player = try await bench.signedIn()
            var texts: Set<String> = []
            func expectOneText(_ answer: ReceivedAnswer) throws {
                expectRefusal(answer, 401, "invalid_token")
                #expect(answer["www-authenticate"] != nil && answer["cache-control"] == "no-store", "\(answer)")
                texts.insert(answer.text.replacing(try #require(answer.requestID), with: ""))
            }
            try expectOneText(await player.tryRefresh(String(repeating: "A", count: 64)))
            let thief = try player.onAnotherDevice()
            try expectOneText(await thief.tryRefresh())
            let first = try #require(player.refreshToken)
            try await player.refresh()
            try await player.refresh()
            try expectOneText(await player.tryRefresh(first))
            try expectOneText(await player.tryRefresh())
            try await player.signIn()
            // Of the same family, with other bytes.
            let good = try #require(player.refreshToken)
            let guessed = good.dropLast(4) + (good.hasSuffix("AAAA") ? "BBBB" : "AAAA")
            try expectOneText(await player.tryRefresh(String(guessed)))
            try await player.signIn()
            expectSuccess(try await player.logOut())
            try expectOneText(await player.tryRefresh())
            #expect(texts.count == 1, "\(texts)")
        }

        @Test func `only players who have signed in sign out, with a body that says what`() async throws {
            let bench = try await RefreshEdge.start()
            let player = try await bench.signedIn()
            for body in [#"{"everywhere":"yes"}"#, #"{"everywhere":1}"#, #"{"everywhere":[true]}"#] {
                let answer = try await player.logOut(body)
                expectRefusal(answer, 400, "invalid_request")
                #expect(answer.text.contains("everywhere"), "\(answer)")
            }
            let path = "/api/auth/logout"
            expectRefusal(try await player.request("POST", path), 401, "app_auth_required")
            let device = PlayerProof.assertion(try await bench.apple.enrolledDevice(at: bench.gateway))
            expectRefusal(try await player.request("POST", path, showing: device), 401, "app_auth_required")
            let client = try TokenClient(bench.apple, at: bench.gateway)
            let token = PlayerProof.accessToken(client, try await client.firstToken())
            expectRefusal(try await player.request("POST", path, showing: token), 401, "app_auth_required")
            #expect(try await bench.gateway.get(path).status == 405)
            #expect(try await player.tryRefresh().status == 200)
            for body in [#"{"everywhere":false}"#, #"{"everywhere":null,"more":1}"#] {
                var other = player
                try await other.signIn()
                expectSuccess(try await other.logOut(body))
                try await other.expectSignedOut()
            }
        }

        @Test func `the oldest idle sign-in of too many ends`() async throws {
            let bench = try await RefreshEdge.start()
            var player = try await bench.signedIn()
            var sessions = [player]
            for _ in 1..<32 {
                try await player.signIn()
                sessions.append(player)
            }
            for index in sessions.indices where index != 1 { try await sessions[index].refresh() }
            let socket = try await sessions[1].open()
            try await player.signIn()
            try await Edge.expectBlocked(socket)
            try await sessions[1].expectSignedOut()
            for index in [0, 2, 31] { try await sessions[index].refresh() }
        }
    }

    /// The disk of the store, or of the audit log, is full.
    @Suite(.enabled(if: SmallDisk.isAvailable, "this user may not mount a tmpfs in a namespace (unshare)"))
    struct FullDiskRefreshTests {
        private static let maximumAttempts = 1_000

        /// - Returns: the first answer that isn't 200.
        private static func refresh(_ player: inout Player) async throws -> ReceivedAnswer {
            var answer = try await player.tryRefresh()
            for _ in 0..<maximumAttempts where answer.status == 200 {
                try player.keep(answer)
                answer = try await player.tryRefresh()
            }
            return answer
        }

        @Test func `what can't be stored is 503, and the token is good afterwards`() async throws {
            let (apple, target, disk) = (try SimulatedApple(), try await TargetServer.start(.echo), try SmallDisk())
            let gateway = try await GatewayProcess.start(
                RefreshEdge.settings(GatewaySettings(targetPort: target.port), apple), disk: disk)
            var player = try await Player.signedIn(apple, at: gateway)
            let socket = try await player.open()
            try disk.fill(of: gateway.processID)
            let refused = try await Self.refresh(&player)
            expectRefusal(refused, 503, "temporarily_unavailable")
            #expect(refused["retry-after"] != nil, "\(refused)")
            try await Edge.expectEcho(socket)
            try disk.empty(of: gateway.processID)
            try await player.refresh()
            try await Edge.expectEcho(player.open())
        }

        /// Without any time for repetitions, the second late one would be the end.
        @Test func `while the audit log is full no token is used, and each is good afterwards`() async throws {
            let (apple, target) = (try SimulatedApple(), try await TargetServer.start(.echo))
            let (disk, directory) = (try SmallDisk(), try TemporaryDirectory())
            let gateway = try await GatewayProcess.start(
                RefreshEdge.settings(GatewaySettings(targetPort: target.port), apple)
                    .setting("AUDIT_LOG_PATH", disk.file("audit.log"))
                    .setting("ATTESTED_KEYS_PATH", directory.file("keys.sqlite"))
                    .setting("REFRESH_REPEAT_SECONDS", 0), disk: disk)
            var player = try await Player.signedIn(apple, at: gateway)
            try disk.fill(of: gateway.processID)
            let refused = try await Self.refresh(&player)
            expectRefusal(refused, 503, "audit_unavailable")
            for _ in 0..<5 { expectRefusal(try await player.tryRefresh(), 503, "audit_unavailable") }
            try disk.empty(of: gateway.processID)
            try await player.refresh()
            try await Edge.expectEcho(player.open())
        }
    }
}
