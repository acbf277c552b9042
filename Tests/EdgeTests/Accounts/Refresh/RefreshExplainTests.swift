import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// `portcullis explain` tells the operator at which check a refresh, a log-out or a device's sign-in has failed.
    @Suite struct RefreshExplainTests {
        private static let refreshPath = "/api/auth/token/validate"
        private static let devicePath = "/api/auth/device/authenticate"
        private static let logOutPath = "/api/auth/logout"

        private let folder: TemporaryDirectory

        init() throws { folder = try TemporaryDirectory() }

        private func start(_ change: (GatewaySettings) -> GatewaySettings = { $0 }) async throws -> RefreshEdge {
            try await RefreshEdge.start { change($0.setting("AUDIT_LOG_PATH", folder.file("audit.log"))) }
        }

        private func expect(
            _ answer: ReceivedAnswer, _ status: Int, _ code: String, failed check: String, at bench: RefreshEdge,
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            expectRefusal(answer, status, code, sourceLocation: sourceLocation)
            let id = try #require(answer.requestID)
            let output = try await GatewayProcess.run(["explain", id, "--json"], bench.gateway.settings)
            #expect(output.ending == .exited(0), "\(output)", sourceLocation: sourceLocation)
            let object = try JSONSerialization.jsonObject(with: Data(output.outputText.utf8)) as? [String: Any]
            let records = try #require(object?["records"] as? [[String: Any]], sourceLocation: sourceLocation)
            let checks = records.flatMap { $0["checks"] as? [[String: Any]] ?? [] }
            let failed = checks.filter { $0["result"] as? String == "failed" }
            #expect(failed.map { $0["check"] as? String } == [check], "\(output)", sourceLocation: sourceLocation)
            #expect(failed.allSatisfy { $0["title"] != nil && $0["advice"] != nil }, sourceLocation: sourceLocation)
        }

        @Test func `each refused use of a refresh token`() async throws {
            let bench = try await start()
            var player = try await bench.signedIn()
            func expect(_ answer: ReceivedAnswer, _ status: Int, _ code: String, _ check: String) async throws {
                try await self.expect(answer, status, code, failed: check, at: bench)
            }
            try await expect(player.tryRefresh(body: "{}"), 400, "invalid_request", "body")
            try await expect(player.refreshUnproven(), 400, "invalid_dpop_proof", "proof")
            let (holder, elsewhere) = (player.holder, player.holder.url("/elsewhere"))
            let body = #"{"refreshToken":"\#(try #require(player.refreshToken))"}"#
            for (proof, check) in [
                ("x", "proof_form"), (try holder.proof("POST", elsewhere), "htu"),
                (try holder.proof("GET", holder.url(Self.refreshPath)), "htm"),
            ] {
                let answer = try await player.request("POST", Self.refreshPath, body, fields: "DPoP: \(proof)\r\n")
                try await expect(answer, 400, "invalid_dpop_proof", check)
            }
            let seen = try player.refreshRequest()
            try player.keep(try await bench.gateway.request(seen))
            try await expect(bench.gateway.request(seen), 400, "invalid_dpop_proof", "replay")
            let unknown = String(repeating: "A", count: 64)
            try await expect(player.tryRefresh(unknown), 401, "invalid_token", "refresh_known")
            try await expect(
                player.onAnotherDevice().tryRefresh(player.refreshToken), 401, "invalid_token", "refresh_key")
            let first = player.refreshToken
            try await player.refresh()
            try await player.refresh()
            try await expect(player.tryRefresh(first), 401, "invalid_token", "refresh_unused")
            try await expect(player.tryRefresh(), 401, "invalid_token", "refresh_known")
        }

        /// With no time for repetitions, the second of two late ones is too much.
        @Test func `a repetition that is too late, and an account that is blocked`() async throws {
            let list = try folder.write("# none\n", to: "blocked")
            let bench = try await start { $0.setting("REFRESH_REPEAT_SECONDS", 0).setting("BLOCK_LIST_PATH", list) }
            var player = try await bench.signedIn()
            let used = player.refreshToken
            try await player.refresh()
            var answer = try await player.tryRefresh(used)
            // Within the same millisecond it isn't late.
            for _ in 0..<100 where answer.status == 200 { answer = try await player.tryRefresh(used) }
            try await expect(answer, 401, "invalid_token", failed: "refresh_repeat", at: bench)
            _ = try folder.write("account \(try #require(player.account))\n", to: "blocked")
            try await bench.gateway.reload()
            try await expect(player.tryRefresh(), 403, "device_blocked", failed: "block_list", at: bench)
        }

        @Test func `a use above the limit of failures`() async throws {
            let bench = try await start { $0.setting("FAILED_UPGRADES_PER_MINUTE", 1) }
            let player = try await bench.signedIn()
            let unknown = String(repeating: "A", count: 64)
            expectRefusal(try await player.tryRefresh(unknown), 401, "invalid_token")
            let limited = try await player.tryRefresh(unknown)
            #expect(limited.status == 429, "\(limited)")
            let output = try await GatewayProcess.run(
                ["explain", try #require(limited.requestID)], bench.gateway.settings)
            #expect(output.outputText.contains("FAILED      the refresh token's family is there"), "\(output)")
        }

        @Test func `each refused log-out`() async throws {
            let bench = try await start()
            let player = try await bench.signedIn()
            func expect(_ answer: ReceivedAnswer, _ status: Int, _ code: String, _ check: String) async throws {
                try await self.expect(answer, status, code, failed: check, at: bench)
            }
            try await expect(player.request("POST", Self.logOutPath), 401, "app_auth_required", "credential")
            let device = PlayerProof.assertion(try await bench.apple.enrolledDevice(at: bench.gateway))
            let byDevice = try await player.request("POST", Self.logOutPath, showing: device)
            try await expect(byDevice, 401, "app_auth_required", "credential")
            try await expect(player.logOut(#"{"everywhere":"yes"}"#), 400, "invalid_request", "body")
            let stolen = PlayerProof.accessToken(try player.onAnotherDevice().holder, try #require(player.token))
            let byThief = try await player.request("POST", Self.logOutPath, showing: stolen)
            try await expect(byThief, 401, "invalid_token", "token_key")
            expectSuccess(try await player.logOut())
            try await expect(player.logOut(), 401, "invalid_token", "account")
        }

        @Test func `each refused sign-in by a device`() async throws {
            let bench = try await start()
            let owner = try await bench.signedIn()
            var player = owner
            let device = try await bench.apple.enrolledDevice(at: bench.gateway)
            expectSuccess(try await player.join(device))
            func expect(_ body: String, _ status: Int, _ code: String, _ check: String) async throws {
                try await self.expect(
                    await owner.authenticate(byDevice: body), status, code, failed: check, at: bench)
            }
            try await expect("{}", 400, "invalid_request", "body")
            let foreign = try owner.deviceSignIn(device, over: [UInt8](repeating: 1, count: 32))
            try await expect(foreign, 401, "passkey_rejected", "challenge")
            let challenge = try await owner.deviceSignInChallenge()
            let other = try owner.deviceSignIn(device, over: challenge, signing: challenge)
            try await expect(other, 401, "assertion_rejected", "signature")
            let unproven = try await owner.request(
                "POST", Self.devicePath, try owner.deviceSignIn(device, over: try await owner.deviceSignInChallenge()))
            try await self.expect(unproven, 400, "invalid_dpop_proof", failed: "proof", at: bench)
            let options = try await owner.request("POST", Self.devicePath + "/options", "{}")
            try await self.expect(options, 400, "invalid_request", failed: "body", at: bench)
            let stranger = try await bench.apple.enrolledDevice(at: bench.gateway)
            for (device, status, code, check) in [
                (stranger, 404, "unknown_credential", "account"),
                (try bench.apple.device(), 401, "unknown_key", "key_registered"),
            ] {
                let body = try owner.deviceSignIn(device, over: try await owner.deviceSignInChallenge())
                try await expect(body, status, code, check)
            }
            let revoked = try await bench.gateway.keys("revoke", device.keyID)
            #expect(revoked.ending == .exited(0), "\(revoked)")
            let body = try owner.deviceSignIn(device, over: try await owner.deviceSignInChallenge())
            try await expect(body, 403, "key_revoked", "key_not_revoked")
        }
    }
}
