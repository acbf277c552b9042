import EdgeTestKit
import Foundation
import PostgreSQLTestKit
import Testing

extension EdgeTests {
    /// Databases that stand still, processes that die in the middle, and clocks that jump: each token stays good.
    @Suite struct RefreshFaultTests {
        /// Until it is 200; no other answer is final.
        private func expectGood(_ player: inout Player) async throws {
            let holder = player
            try await player.gateway.eventually("the token is good") {
                let answer = try await holder.tryRefresh()
                #expect(answer.status == 200 || answer.code != "invalid_token", "\(answer)")
                return answer.status == 200
            }
            // What was given to the attempt is given again.
            try await player.refresh()
            try await player.refresh()
        }

        /// All answers arrive while the database stands still.
        @Test func `while the database is frozen each use is 503, and each token is good afterwards`() async throws {
            let server = try await PostgresServer.launch()
            let fleet = try await FleetBench(on: server)
            var gateways: [GatewayProcess] = []
            for _ in 0..<2 {
                // However slow the machine is, no repetition is late.
                gateways.append(
                    try await fleet.gateway {
                        $0.plainAccounts().setting("STORE_TIMEOUT_MS", "1000").setting("REFRESH_REPEAT_SECONDS", "600")
                    })
            }
            let first = try await Player.signedIn(fleet.apple, at: gateways[0])
            var (players, sockets): ([Player], [TestWebSocket]) = ([], [])
            for number in 0..<4 {
                var player = try first.onAnotherDevice()
                try await player.signIn()
                // One has lost an answer before.
                if number == 0 { _ = try await player.tryRefresh() }
                players.append(player.moved(to: gateways[number % 2]))
                sockets.append(try await players[number].open())
            }
            server.signal(SIGSTOP)
            for _ in 0..<3 {
                let answers = try await together(players.map { player in { try await player.tryRefresh() } })
                for answer in answers {
                    expectRefusal(answer, 503, "temporarily_unavailable")
                    #expect(answer["retry-after"] != nil, "\(answer)")
                }
            }
            for socket in sockets { try await Edge.expectEcho(socket) }
            server.signal(SIGCONT)
            for index in players.indices {
                try await expectGood(&players[index])
                try await Edge.expectEcho(sockets[index])
            }
        }

        @Test func `a kill around a use leaves the token good`() async throws {
            let bench = try await RefreshEdge.start()
            var (player, gateway) = (try await bench.signedIn(), bench.gateway)
            for _ in 0..<10 {
                // A process that follows another one demands a nonce at first, and nothing has happened then.
                let first = try await gateway.request(player.refreshRequest())
                let nonce = first.code == "use_dpop_nonce" ? first["dpop-nonce"] : nil
                let connection = try await gateway.connect()
                try await connection.send(player.refreshRequest(nonce: nonce))
                try await gateway.killNow()
                gateway = try await GatewayProcess.start(gateway.settings, in: gateway.directory)
                player = player.moved(to: gateway)
                try await player.refresh()
                try await player.refresh()
                withExtendedLifetime(connection) {}
            }
            try await Edge.expectEcho(player.open())
        }

        /// Each makes one repetition late. A further one is refused, and ends nothing.
        @Test(.enabled(if: SteppedClock.isAvailable, "needs a C compiler, and a gateway without a sanitizer"))
        func `a clock that is stepped by an hour signs nobody out`() async throws {
            let (apple, target, clock) = (
                try SimulatedApple(), try await TargetServer.start(.echo), try await SteppedClock()
            )
            let gateway = try await GatewayProcess.start(
                RefreshEdge.settings(GatewaySettings(targetPort: target.port), apple), clock: clock)
            var player = try await Player.signedIn(apple, at: gateway)
            for offset in [3_600, 0] {
                let lost = try #require(try await player.tryRefresh().field("refreshToken"))
                try clock.step(to: offset)
                player = player.withClock(aheadBy: offset)
                let holder = player
                // Right after the clock was set back a proof may be one that was forgotten.
                try await gateway.eventually("the use is repeated") {
                    let answer = try await holder.tryRefresh()
                    #expect(answer.status == 200 || answer.code != "invalid_token", "\(answer)")
                    #expect(answer.status != 200 || answer.field("refreshToken") == lost, "\(answer)")
                    return answer.status == 200
                }
                expectRefusal(try await player.tryRefresh(), 401, "invalid_token")
                player.refreshToken = lost
                try await player.refresh()
            }
            try await Edge.expectEcho(player.open())
        }

        /// Nobody has used it for its 30 days.
        @Test(.enabled(if: SteppedClock.isAvailable, "needs a C compiler, and a gateway without a sanitizer"))
        func `a token that nobody used for its days has expired, and is told as the others`() async throws {
            let folder = try TemporaryDirectory()
            let (apple, target, clock) = (
                try SimulatedApple(), try await TargetServer.start(.echo), try await SteppedClock()
            )
            let gateway = try await GatewayProcess.start(
                RefreshEdge.settings(GatewaySettings(targetPort: target.port), apple)
                    .setting("AUDIT_LOG_PATH", folder.file("audit.log")), clock: clock)
            var player = try await Player.signedIn(apple, at: gateway)
            let days = 30 * 86_400
            try clock.step(to: days - 3_600)
            player = player.withClock(aheadBy: days - 3_600)
            try await player.refresh()
            try clock.step(to: 2 * days)
            let late = try await player.withClock(aheadBy: 2 * days).tryRefresh()
            expectRefusal(late, 401, "invalid_token")
            let output = try await GatewayProcess.run(["explain", try #require(late.requestID)], gateway.settings)
            // Housekeeping may have removed it already.
            let titles = ["the refresh token has not expired", "the refresh token's family is there"]
            #expect(titles.contains { output.outputText.contains("FAILED      \($0)") }, "\(output)")
        }
    }
}
