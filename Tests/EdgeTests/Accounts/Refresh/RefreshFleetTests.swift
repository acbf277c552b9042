import EdgeTestKit
import Foundation
import PostgreSQLTestKit
import Testing

extension EdgeTests {
    /// Families of a fleet: what one gateway has given, used or ended, all others know.
    @Suite struct RefreshFleetTests {
        private func gateways(_ count: Int, of fleet: FleetBench) async throws -> [GatewayProcess] {
            var gateways: [GatewayProcess] = []
            for _ in 0..<count {
                gateways.append(try await fleet.gateway { $0.plainAccounts().setting("REACTOR_THREADS", 1) })
            }
            return gateways
        }

        @Test func `a theft that any of four gateways sees ends the family and its sessions on all`() async throws {
            let fleet = try await FleetBench()
            let gateways = try await gateways(4, of: fleet)
            var player = try await Player.signedIn(fleet.apple, at: gateways[0])
            let account = try #require(player.account)
            var other = player
            try await other.signIn()
            let kept = try await other.open()
            for (place, gateway) in gateways.enumerated() {
                player = player.moved(to: gateways[(place + 1) % 4])
                try await player.signIn()
                let stolen = player.refreshToken
                player = player.moved(to: gateways[(place + 2) % 4])
                try await player.refresh()
                player = player.moved(to: gateways[(place + 3) % 4])
                try await player.refresh()
                var sockets: [TestWebSocket] = []
                for gateway in gateways { sockets.append(try await player.moved(to: gateway).open()) }
                for socket in sockets { try await Edge.expectEcho(socket) }
                expectRefusal(try await player.moved(to: gateway).tryRefresh(stolen), 401, "invalid_token")
                try await gateway.auditLine(#""event":"refresh_reuse""#, "refresh_unused", account)
                for socket in sockets { try await Edge.expectBlocked(socket) }
                for gateway in gateways { try await player.moved(to: gateway).expectSignedOut() }
            }
            try await Edge.expectEcho(kept)
            try await other.refresh()
        }

        /// Who has seen a request, for instance in a proxy, has no key.
        @Test func `a request that is sent again to another gateway ends nothing`() async throws {
            let fleet = try await FleetBench()
            let gateways = try await gateways(2, of: fleet)
            var player = try await Player.signedIn(fleet.apple, at: gateways[0])
            // After this one the proofs of its time need no nonce.
            try await player.refresh()
            let seen = try player.refreshRequest()
            try player.keep(try await gateways[0].request(seen))
            try await player.refresh()
            let socket = try await player.open()
            let again = try await gateways[1].request(seen)
            expectRefusal(again, 400, "invalid_dpop_proof")
            try await player.refresh()
            try await Edge.expectEcho(socket)
            player = player.moved(to: gateways[1])
            try await player.refresh()
        }

        @Test func `with another key nothing is revoked at any gateway`() async throws {
            let fleet = try await FleetBench()
            let gateways = try await gateways(2, of: fleet)
            var player = try await Player.signedIn(fleet.apple, at: gateways[0])
            let old = player.refreshToken
            try await player.refresh()
            try await player.refresh()
            let socket = try await player.open()
            for gateway in gateways {
                let thief = try player.moved(to: gateway).onAnotherDevice()
                for token in [old, player.refreshToken] {
                    expectRefusal(try await thief.tryRefresh(token), 401, "invalid_token")
                }
                try await gateway.auditLine(#""event":"refresh_wrong_key""#, "refresh_key", player.account ?? "-")
            }
            try await Edge.expectEcho(socket)
            for gateway in gateways {
                player = player.moved(to: gateway)
                try await player.refresh()
            }
        }

        @Test func `a log-out ends the sessions at all gateways, and no other sign-in`() async throws {
            let fleet = try await FleetBench()
            let gateways = try await gateways(2, of: fleet)
            let player = try await Player.signedIn(fleet.apple, at: gateways[0])
            var other = player.moved(to: gateways[1])
            try await other.signIn()
            let kept = try await other.open()
            let sockets = [try await player.open(), try await player.moved(to: gateways[1]).open()]
            for socket in sockets { try await Edge.expectEcho(socket) }
            expectSuccess(try await player.logOut())
            for socket in sockets { try await Edge.expectBlocked(socket) }
            for gateway in gateways { try await player.moved(to: gateway).expectSignedOut() }
            try await Edge.expectEcho(kept)
            expectSuccess(try await other.logOut(#"{"everywhere":true}"#))
            try await Edge.expectBlocked(kept)
        }

        @Test func `while the database is stopped a use is 503, and the token is good afterwards`() async throws {
            let server = try await PostgresServer.launch()
            let fleet = try await FleetBench(on: server)
            let gateways = try await gateways(2, of: fleet)
            var player = try await Player.signedIn(fleet.apple, at: gateways[0])
            try await player.refresh()
            try await server.crash()
            for gateway in gateways {
                let answer = try await player.moved(to: gateway).tryRefresh()
                expectRefusal(answer, 503, "temporarily_unavailable")
                #expect(answer["retry-after"].flatMap { Int($0) }.map { (1...10).contains($0) } == true, "\(answer)")
            }
            try await server.start()
            for gateway in gateways {
                player = player.moved(to: gateway)
                let here = player
                try await gateway.eventually("the token is good") { try await here.tryRefresh().status == 200 }
                try await player.refresh()
            }
            try await Edge.expectEcho(player.open())
        }
    }
}
