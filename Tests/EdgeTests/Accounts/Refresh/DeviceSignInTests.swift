import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// A device that has joined an account signs its player in.
    @Suite struct DeviceSignInTests {
        private func joined(
            _ change: (GatewaySettings) -> GatewaySettings = { $0 }
        ) async throws -> (bench: RefreshEdge, player: Player, device: TestDevice) {
            let bench = try await RefreshEdge.start(change)
            var player = try await bench.signedIn()
            let device = try await bench.apple.enrolledDevice(at: bench.gateway)
            expectSuccess(try await player.join(device))
            return (bench, player, device)
        }

        @Test func `it begins a family, which ends with the device's removal`() async throws {
            let (bench, owner, device) = try await joined()
            var (player, keeper) = (try owner.onAnotherDevice(), owner)
            try await player.signIn(by: device)
            try await player.refresh()
            let (socket, kept) = (try await player.open(), try await keeper.open())
            try await Edge.expectEcho(socket)
            #expect(try await player.belongings().account == owner.account)
            expectSuccess(try await keeper.delete(Player.path(of: device)))
            try await Edge.expectBlocked(socket)
            try await player.expectSignedOut()
            let body = try player.deviceSignIn(device, over: try await player.deviceSignInChallenge())
            expectRefusal(try await player.authenticate(byDevice: body), 404, "unknown_credential")
            try await keeper.refresh()
            try await Edge.expectEcho(kept)
            // It may come back, and begins another one.
            expectSuccess(try await keeper.join(device))
            let ended = player
            try await player.signIn(by: device)
            try await ended.expectSignedOut()
            try await Edge.expectEcho(player.open())
            withExtendedLifetime(bench) {}
        }

        @Test func `only its own statement for this key is accepted, once`() async throws {
            let (bench, owner, device) = try await joined()
            let player = try owner.onAnotherDevice()
            let account = Array("portcullis account device\0".utf8)
            let sign = Array("portcullis device sign-in\0".utf8)
            let elsewhere = try #require(Player.bytes(base64URL: owner.holder.thumbprint))
            let wrong: [([UInt8]) -> [UInt8]] = [
                { $0 }, { account + $0 + elsewhere }, { sign + $0 + elsewhere }, { sign + $0 },
            ]
            for statement in wrong {
                let challenge = try await player.deviceSignInChallenge()
                let body = try player.deviceSignIn(device, over: challenge, signing: statement(challenge))
                expectRefusal(try await player.authenticate(byDevice: body), 401, "assertion_rejected")
            }
            let foreign = [try await owner.deviceSignInChallenge(), try await owner.deviceChallenge()]
            for challenge in foreign + [[UInt8](repeating: 1, count: 32)] {
                let body = try player.deviceSignIn(device, over: challenge)
                expectRefusal(try await player.authenticate(byDevice: body), 401, "passkey_rejected")
            }
            let good = try player.deviceSignIn(device, over: try await player.deviceSignInChallenge())
            expectSuccess(try await player.authenticate(byDevice: good))
            expectRefusal(try await player.authenticate(byDevice: good), 401, "passkey_rejected")
            withExtendedLifetime(bench) {}
        }

        @Test func `a device that hasn't joined is unknown, and a malformed body is 400`() async throws {
            let (bench, player, _) = try await joined()
            let other = try await bench.apple.enrolledDevice(at: bench.gateway)
            let body = try player.deviceSignIn(other, over: try await player.deviceSignInChallenge())
            expectRefusal(try await player.authenticate(byDevice: body), 404, "unknown_credential")
            let malformed = [
                "", "[]", #"{"assertion":"x"}"#, #"{"assertion":{}}"#, #"{"assertion":{"keyId":"AAAA"}}"#,
                body.replacing(#""data":""#, with: #""data":"*"#),
                body.replacing(#""challenge":""#, with: #""challenge":"*"#),
            ]
            for body in malformed {
                expectRefusal(try await player.authenticate(byDevice: body), 400, "invalid_request")
            }
            let path = "/api/auth/device/authenticate/options"
            for body in ["", "{}", #"{"dpop_jkt":"AAAA"}"#] {
                expectRefusal(try await player.request("POST", path, body), 400, "invalid_request")
            }
        }

        /// Each has a key of its own, and one place is taken.
        @Test func `strangers' sign-ins take no place among the used proofs`() async throws {
            let places = 16
            let bench = try await RefreshEdge.start { $0.setting("MAX_SPENT_PROOFS", places) }
            let owner = try await bench.signedIn()
            for _ in 1..<places {
                let (stranger, device) = (try owner.onAnotherDevice(), try bench.apple.device())
                let body = try stranger.deviceSignIn(device, over: try await stranger.deviceSignInChallenge())
                expectRefusal(try await stranger.authenticate(byDevice: body), 401, "unknown_key")
            }
            var player = try owner.onAnotherDevice()
            try await player.signIn()
        }

        @Test func `what the operator has revoked or closed signs nobody in`() async throws {
            let (bench, owner, device) = try await joined()
            var player = try owner.onAnotherDevice()
            try await player.signIn(by: device)
            let socket = try await player.open()
            let revoked = try await bench.gateway.keys("revoke", device.keyID)
            #expect(revoked.ending == .exited(0), "\(revoked)")
            try await Edge.expectBlocked(socket)
            try await player.expectSignedOut()
            let body = try player.deviceSignIn(device, over: try await player.deviceSignInChallenge())
            expectRefusal(try await player.authenticate(byDevice: body), 403, "key_revoked")
        }

        @Test func `a player whom it has signed in is blocked with its key`() async throws {
            let directory = try TemporaryDirectory()
            let list = try directory.write("", to: "blocked")
            let (bench, owner, device) = try await joined { $0.setting("BLOCK_LIST_PATH", list) }
            var player = try owner.onAnotherDevice()
            try await player.signIn(by: device)
            let (socket, kept) = (try await player.open(), try await owner.open())
            try directory.write("key \(device.keyID)\n", to: "blocked")
            try await bench.gateway.reload()
            try await Edge.expectBlocked(socket)
            expectRefusal(try await bench.gateway.refusal(player.handshake()), 403, "device_blocked")
            expectRefusal(try await player.ask("GET", "/api/auth/devices"), 403, "device_blocked")
            expectRefusal(try await player.tryRefresh(), 403, "device_blocked")
            try await Edge.expectEcho(kept)
            try directory.write("", to: "blocked")
            try await bench.gateway.reload()
            try await player.refresh()
            try await Edge.expectEcho(player.open())
        }
    }
}
