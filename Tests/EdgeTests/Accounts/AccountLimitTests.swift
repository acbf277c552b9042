import DeviceSimulation
import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// The limits on what players and strangers ask of accounts.
    @Suite struct AccountLimitTests {
        @Test func `every request counts against the limits of its address, before it is looked at`() async throws {
            let bench = try await AccountEdge.start { $0.setting("CHALLENGES_PER_MINUTE", 20) }
            let player = try Player(at: bench.gateway)
            func expectLimited(_ method: String, _ path: String) async throws {
                let answer = try await player.request(method, "/api/auth/" + path)
                expectRefusal(answer, 429, "rate_limited")
                let wait = try #require(answer["retry-after"].flatMap { Int($0) })
                #expect((1...60).contains(wait))
            }
            for _ in 0..<20 { expectSuccess(try await player.requestOptions()) }
            for (method, path) in [
                ("POST", "passkey/authenticate/options"), ("POST", "device/options"), ("GET", "devices"),
            ] { try await expectLimited(method, path) }
            for _ in 0..<20 { expectRefusal(try await player.authenticate("{}"), 400, "invalid_request") }
            try await expectLimited("POST", "passkey/authenticate")
            // A tenth as many registrations and changes.
            for _ in 0..<2 {
                expectRefusal(try await player.creationOptions(showing: .nothing), 401, "app_auth_required")
            }
            for (method, path) in [
                ("POST", "passkey/register/options"), ("POST", "passkey/register"), ("POST", "device"),
                ("DELETE", "passkey/AAAA"), ("DELETE", "device/AAAA"), ("DELETE", "account"),
            ] { try await expectLimited(method, path) }
            try await bench.edge.expectHealthy()
        }

        @Test func `failed sign-ins count as failed upgrades, and a player still signs in`() async throws {
            let bench = try await AccountEdge.start { $0.setting("FAILED_UPGRADES_PER_MINUTE", 3) }
            var player = try await bench.player()
            var stranger = try Player(at: bench.gateway)
            expectRefusal(try await stranger.trySignIn(), 404, "unknown_credential")
            for _ in 0..<2 {
                let body = try player.authentication(over: Player.options(await player.requestOptions())) {
                    $0.key = .es256()
                }
                expectRefusal(try await player.authenticate(body), 401, "passkey_rejected")
            }
            let refused = try await stranger.trySignIn()
            expectRefusal(refused, 429, "rate_limited")
            #expect(refused["retry-after"] != nil)
            expectRefusal(try await bench.gateway.refusal(Handshake()), 429, "rate_limited")
            try await player.signIn()
            try await Edge.expectEcho(player.open())
        }

        @Test func `what is wrong with a change counts as a failed upgrade`() async throws {
            let bench = try await AccountEdge.start { $0.setting("FAILED_UPGRADES_PER_MINUTE", 5) }
            var player = try await bench.signedIn()
            for _ in 0..<5 {
                let wrong = try player.authentication(over: Player.options(await player.requestOptions())) {
                    $0.key = .es256()
                }
                let answer = try await player.ask("DELETE", "/api/auth/account", #"{"passkey":\#(wrong)}"#)
                expectRefusal(answer, 401, "passkey_rejected")
            }
            expectRefusal(try await bench.gateway.refusal(Handshake()), 429, "rate_limited")
            expectSuccess(try await player.delete("account"))
        }

        @Test func `strangers make few accounts, and each player with a proof ten times as many`() async throws {
            let bench = try await AccountEdge.start {
                $0.setting("ACCOUNT_SIGN_UP", "open").setting("SIGN_UPS_PER_HOUR", 1)
            }
            _ = try await bench.stranger()
            let second = try Player(at: bench.gateway)
            let challenge = try Player.options(await second.creationOptions(showing: .nothing))
            let answer = try await second.register(second.registration(over: challenge), showing: .nothing)
            expectRefusal(answer, 429, "rate_limited")
            #expect(answer["retry-after"].flatMap { Int($0) }.map { $0 > 60 } == true, "\(answer)")
            for _ in 0..<3 { _ = try await bench.player() }
            let proof = PlayerProof.assertion(try await bench.apple.enrolledDevice(at: bench.gateway))
            for _ in 0..<10 {
                var player = try Player(at: bench.gateway)
                try await player.signUp(showing: proof)
            }
            let last = try Player(at: bench.gateway)
            let further = try Player.options(await last.creationOptions(showing: proof))
            let refused = try await last.register(last.registration(over: further), showing: proof)
            expectRefusal(refused, 429, "rate_limited")
        }

        @Test func `sign-ups may be off, and end at the maximum of accounts`() async throws {
            let bench = try await AccountEdge.start { $0.setting("MAX_ACCOUNTS", 1) }
            var player = try await bench.signedIn()
            let proof = PlayerProof.assertion(try await bench.apple.enrolledDevice(at: bench.gateway))
            let second = try Player(at: bench.gateway)
            let challenge = try Player.options(await second.creationOptions(showing: proof))
            let answer = try await second.register(second.registration(over: challenge), showing: proof)
            expectRefusal(answer, 503, "accounts_exhausted")
            #expect(answer["retry-after"] != nil)
            try await bench.gateway.reload(
                bench.gateway.settings.setting("ACCOUNT_SIGN_UP", "off").setting("MAX_ACCOUNTS", 100))
            expectRefusal(try await second.creationOptions(showing: proof), 403, "sign_up_refused")
            expectRefusal(try await second.creationOptions(showing: .nothing), 403, "sign_up_refused")
            // Whoever has an account goes on.
            try await player.signIn()
            expectSuccess(try await player.add(second.passkey))
            expectSuccess(try await player.delete("account"))
        }

        @Test func `an account has ten passkeys, and none of another's`() async throws {
            let bench = try await AccountEdge.start()
            var player = try await bench.signedIn()
            for _ in 1..<10 { expectSuccess(try await player.add(SimulatedPasskey(.es256()))) }
            expectRefusal(try await player.add(SimulatedPasskey(.es256())), 409, "too_many_passkeys")
            #expect(try await player.belongings().passkeys.count == 10)
            var other = try await bench.signedIn()
            expectRefusal(try await other.add(player.passkey), 409, "passkey_taken")
            expectRefusal(try await other.add(other.passkey), 409, "passkey_taken")
        }

        @Test func `of two devices that join at the sixteenth place one has it`() async throws {
            let bench = try await AccountEdge.start()
            var player = try await bench.signedIn()
            for _ in 0..<15 {
                expectSuccess(try await player.join(bench.apple.enrolledDevice(at: bench.gateway)))
            }
            var requests: [String] = []
            for _ in 0..<2 {
                let device = try await bench.apple.enrolledDevice(at: bench.gateway)
                requests.append(try await player.joining(device, over: player.deviceChallenge()))
            }
            let holder = player
            let answers = try await withThrowingTaskGroup(of: ReceivedAnswer.self) { group in
                for body in requests { group.addTask { try await holder.ask("POST", "/api/auth/device", body) } }
                return try await group.reduce(into: [ReceivedAnswer]()) { $0.append($1) }
            }
            #expect(answers.map(\.status).sorted() == [200, 409], "\(answers)")
            #expect(answers.compactMap(\.code) == ["too_many_devices"])
            #expect(try await player.belongings().devices.count == 16)
        }
    }
}
