import DeviceSimulation
import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// What was confirmed about accounts is there after a `kill -9`; what can't be kept isn't confirmed.
    @Suite struct AccountDurabilityTests {
        /// One account after the other: sign-up, a second passkey, a device, and the removal of each, with a kill right
        /// after each answer.
        @Test func `fifty kills right after a 200 lose nothing that was confirmed`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start {
                $0.appAttest(apple).plainAccounts().setting("ACCOUNT_SIGN_UP", "open").setting(
                    "SIGN_UPS_PER_HOUR", 10_000
                ).setting("REACTOR_THREADS", 1)
            }
            var gateway = edge.gateway
            var devices: [TestDevice] = []
            for _ in 0..<8 { devices.append(try await apple.enrolledDevice(at: gateway)) }
            func killed() async throws {
                try await gateway.killNow()
                gateway = try await GatewayProcess.start(gateway.settings, in: gateway.directory)
            }
            var kept: [Player] = []
            for device in devices {
                var player = try Player(at: gateway)
                try await player.signUp(showing: .nothing)
                try await killed()
                player = player.moved(to: gateway)
                try await player.signIn()
                let second = SimulatedPasskey(.es256())
                let secondID = PasskeyRequest.base64URL(second.credentialID)
                let (one, both, has) = ([player.passkeyID], [player.passkeyID, secondID], [device.keyID])
                let steps: [(passkeys: [String], devices: [String])] = [
                    (both, []), (both, has), (one, has), (one, []), (both, []),
                ]
                for (step, expected) in steps.enumerated() {
                    let answer =
                        switch step {
                        case 1: try await player.join(device)
                        case 2: try await player.delete("passkey/" + secondID)
                        case 3: try await player.delete(Player.path(of: device))
                        default: try await player.add(second)
                        }
                    expectSuccess(answer)
                    try await killed()
                    player = player.moved(to: gateway)
                    try await player.signIn()
                    let found = try await player.belongings()
                    #expect(found.passkeys == expected.passkeys && found.devices == expected.devices, "step \(step)")
                }
                kept.append(player)
            }
            // Two more: the account itself.
            for _ in 0..<2 {
                var last = kept.removeLast().moved(to: gateway)
                try await last.signIn()
                expectSuccess(try await last.delete("account"))
                try await killed()
                last = last.moved(to: gateway)
                expectRefusal(try await last.trySignIn(), 404, "unknown_credential")
            }
            for player in kept {
                var player = player.moved(to: gateway)
                try await player.signIn()
                #expect(try await player.belongings().passkeys.count == 2)
            }
        }

        @Test func `a used challenge and an old counter stay used after a kill`() async throws {
            let edge = try await Edge.start {
                $0.plainAccounts().setting("REQUIRE_APP_AUTH", "true").setting("ACCOUNT_SIGN_UP", "open")
            }
            var player = try Player(at: edge.gateway)
            player.passkey.countsSignatures = true
            try await player.signUp(showing: .nothing)
            let used = try await player.freshPasskey()
            expectSuccess(try await player.authenticate(used))
            try await edge.gateway.killNow()
            let gateway = try await GatewayProcess.start(edge.gateway.settings, in: edge.gateway.directory)
            player = player.moved(to: gateway)
            expectRefusal(try await player.authenticate(used), 401, "passkey_rejected")
            let counter = player.passkey.signCount
            player.passkey.signCount = counter - 1
            expectRefusal(try await player.trySignIn(), 401, "passkey_rejected")
            player.passkey.signCount = counter
            try await player.signIn()
        }
    }

    /// The disk of the store, or of the audit log, is full.
    @Suite(.enabled(if: SmallDisk.isAvailable, "this user may not mount a tmpfs in a namespace (unshare)"))
    struct FullDiskAccountTests {
        private static let maximumAttempts = 400

        private func settings(_ settings: GatewaySettings) -> GatewaySettings {
            settings.plainAccounts().setting("REQUIRE_APP_AUTH", "true").setting("ACCOUNT_SIGN_UP", "open")
                .setting("SIGN_UPS_PER_HOUR", 10_000).setting("FAILED_UPGRADES_PER_MINUTE", 100_000)
        }

        /// Sign-ups until one is refused: what was free may take a few.
        ///
        /// - Returns: the accounts that were made, and the player whose wasn't.
        private func signUps(
            until code: String, at gateway: GatewayProcess
        ) async throws -> (made: [Player], refused: Player) {
            var made: [Player] = []
            for _ in 0..<Self.maximumAttempts {
                var player = try Player(at: gateway)
                let challenge = try Player.options(await player.creationOptions(showing: .nothing))
                let answer = try await player.register(player.registration(over: challenge), showing: .nothing)
                guard answer.status == 200 else {
                    expectRefusal(answer, 503, code)
                    #expect(answer["retry-after"] != nil)
                    return (made, player)
                }
                player.account = answer.field("account")
                made.append(player)
            }
            throw EdgeTestError("nobody was refused")
        }

        @Test func `what can't be stored isn't confirmed, and nothing of it is left`() async throws {
            let (target, disk) = (try await TargetServer.start(.echo), try SmallDisk())
            let gateway = try await GatewayProcess.start(
                settings(GatewaySettings(targetPort: target.port)).setting(
                    "MUD_ROUTES", "players=127.0.0.1:\(target.port),admit=passkey"), disk: disk)
            var player = try Player(at: gateway)
            try await player.signUp(showing: .nothing)
            try await player.signIn()
            let socket = try await player.open("/mud/players")
            try disk.fill(of: gateway.processID)
            let (made, refused) = try await signUps(until: "store_unavailable", at: gateway)
            try await Edge.expectEcho(socket)
            try disk.empty(of: gateway.processID)
            var late = refused
            expectRefusal(try await late.trySignIn(), 404, "unknown_credential")
            try await late.signUp(showing: .nothing)
            for one in made + [late, player] {
                var one = one
                try await one.signIn()
                #expect(try await one.belongings().account == one.account)
            }
            try await Edge.expectEcho(socket)
        }

        @Test func `with a full audit log nobody signs up or in, and nothing is changed`() async throws {
            let (target, disk, directory) =
                (try await TargetServer.start(.echo), try SmallDisk(), try TemporaryDirectory())
            let gateway = try await GatewayProcess.start(
                settings(GatewaySettings(targetPort: target.port)).setting("AUDIT_LOG_PATH", disk.file("audit.log"))
                    .setting("ATTESTED_KEYS_PATH", directory.file("keys.sqlite")).setting("AUDIT_FULL", "refuse"),
                disk: disk)
            var player = try Player(at: gateway)
            try await player.signUp(showing: .nothing)
            try await player.signIn()
            try disk.fill(of: gateway.processID)
            let (_, refused) = try await signUps(until: "audit_unavailable", at: gateway)
            expectRefusal(try await player.trySignIn(), 503, "audit_unavailable")
            let other = SimulatedPasskey(.es256())
            expectRefusal(try await player.add(other), 503, "audit_unavailable")
            for path in ["passkey/" + player.passkeyID, "account"] {
                expectRefusal(try await player.delete(path), 503, "audit_unavailable")
            }
            #expect(try await player.belongings().passkeys == [player.passkeyID])
            try disk.empty(of: gateway.processID)
            var late = refused
            expectRefusal(try await late.trySignIn(), 404, "unknown_credential")
            try await player.signIn()
            try await late.signUp(showing: .nothing)
            expectSuccess(try await player.add(other))
            expectSuccess(try await player.delete("account"))
        }
    }
}
