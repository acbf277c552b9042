import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Uses of one refresh token at the same time, and against what ends its family.
    @Suite struct RefreshRaceTests {
        private static let (families, rounds) = (10, 100)

        /// Both of each pair get the same successor, and the family goes on with it.
        private static func race(_ first: Player, at gateways: [GatewayProcess]) async throws {
            var player = first
            for round in 0..<rounds {
                let holder = player
                let answers = try await together(
                    gateways.map { gateway in { try await holder.moved(to: gateway).tryRefresh() } })
                let successors = Set(answers.compactMap { $0.field("refreshToken") })
                #expect(answers.map(\.status) == [200, 200] && successors.count == 1, "\(round): \(answers)")
                try player.keep(answers[0])
            }
            try await Edge.expectEcho(player.open())
        }

        private func race(_ player: Player, at gateways: [GatewayProcess]) async throws {
            var players: [Player] = []
            for _ in 0..<Self.families {
                // One key may use a thousand proofs within half a minute.
                var one = try player.onAnotherDevice()
                try await one.signIn()
                players.append(one)
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for player in players { group.addTask { try await Self.race(player, at: gateways) } }
                try await group.waitForAll()
            }
        }

        @Test func `of a thousand pairs at one gateway each gets one successor`() async throws {
            let bench = try await RefreshEdge.start { $0.manySessions }
            try await race(bench.signedIn(), at: [bench.gateway, bench.gateway])
        }

        @Test func `of a thousand pairs at two gateways of a fleet each gets one successor`() async throws {
            let fleet = try await FleetBench()
            let gateways = [
                try await fleet.gateway { $0.plainAccounts().manySessions },
                try await fleet.gateway { $0.plainAccounts().manySessions },
            ]
            try await race(Player.signedIn(fleet.apple, at: gateways[0]), at: gateways)
        }

        @Test(arguments: ["", #"{"everywhere":true}"#]) func `a use against a log-out leaves nobody signed in`(
            body: String
        ) async throws {
            let bench = try await RefreshEdge.start()
            var player = try await bench.signedIn()
            for _ in 0..<10 {
                try await player.signIn()
                let holder = player
                let answers = try await together([
                    { try await holder.tryRefresh() }, { try await holder.logOut(body) },
                ])
                #expect(answers.contains { $0.text == #"{"signedOut":true}"# }, "\(answers)")
                #expect(Set(answers.compactMap(\.code)).isSubset(of: ["invalid_token"]), "\(answers)")
                try await player.expectSignedOut(answers)
            }
        }

        @Test func `a use against the removal of its passkey leaves nobody signed in`() async throws {
            let bench = try await RefreshEdge.start()
            var keeper = try await bench.signedIn()
            for _ in 0..<5 {
                var player = try Player(at: bench.gateway)
                expectSuccess(try await keeper.add(player.passkey))
                player.account = keeper.account
                try await player.signIn()
                let fresh = try await keeper.freshPasskey()
                let (holder, removing, path) = (player, keeper, "/api/auth/passkey/" + player.passkeyID)
                let answers = try await together([
                    { try await holder.tryRefresh() },
                    { try await removing.ask("DELETE", path, #"{"passkey":\#(fresh)}"#) },
                ])
                #expect(answers.contains { $0.text == #"{"removed":true}"# }, "\(answers)")
                try await player.expectSignedOut(answers)
            }
            try await keeper.refresh()
        }

        /// The program changes the store beside the gateway.
        @Test(arguments: [true, false]) func `uses against an operator's command leave nobody signed in`(
            ofAccount: Bool
        ) async throws {
            let bench = try await RefreshEdge.start()
            var owner = try await bench.signedIn()
            for _ in 0..<4 {
                let device = try await bench.apple.enrolledDevice(at: bench.gateway)
                expectSuccess(try await owner.join(device))
                var player = try owner.onAnotherDevice()
                try await player.signIn(by: device)
                let socket = try await player.open()
                let (account, keyID) = (try #require(player.account), device.keyID)
                let settings = GatewaySettings(targetPort: 1).setting("ATTESTED_KEYS_PATH", bench.gateway.storePath)
                async let command =
                    ofAccount
                    ? GatewayProcess.run(["accounts", "sign-out", account], settings)
                    : bench.gateway.keys("revoke", keyID)
                var answers: [ReceivedAnswer] = []
                repeat {
                    answers.append(try await player.tryRefresh())
                    if answers.last?.status == 200 { try player.keep(answers[answers.count - 1]) }
                } while answers.last?.status == 200
                expectRefusal(answers.removeLast(), 401, "invalid_token")
                let output = try await command
                #expect(output.ending == .exited(0), "\(output)")
                try await Edge.expectBlocked(socket)
                try await player.expectSignedOut(answers)
                if ofAccount { try await owner.signIn() }
            }
            try await owner.refresh()
        }

        @Test func `an old token against the good one ends the family, whichever comes first`() async throws {
            let bench = try await RefreshEdge.start()
            var player = try await bench.signedIn()
            for _ in 0..<10 {
                try await player.signIn()
                let old = player.refreshToken
                try await player.refresh()
                try await player.refresh()
                let holder = player
                let answers = try await together([
                    { try await holder.tryRefresh(old) }, { try await holder.tryRefresh() },
                ])
                #expect(answers.contains { $0.code == "invalid_token" }, "\(answers)")
                try await player.expectSignedOut(answers)
            }
        }
    }
}

extension GatewaySettings {
    /// All devices of one account may play at once.
    fileprivate var manySessions: GatewaySettings {
        setting("MAX_SESSIONS_PER_DEVICE", 100).setting("MAX_SESSIONS_PER_IP", 100)
    }
}
