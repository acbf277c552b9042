import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// A player stays signed in, and signs out.
    @Suite struct RefreshTests {
        let apple: SimulatedApple

        init() throws { apple = try SimulatedApple() }

        private func start() async throws -> (edge: Edge, player: RefreshPlayer) {
            let edge = try await Edge.start { RefreshPlayer.settings($0, apple) }
            return (edge, try await RefreshPlayer(apple, at: edge.gateway))
        }

        @Test func `each use gives the next pair, and a lost answer is given again`() async throws {
            var (edge, player) = try await start()
            for _ in 0..<3 {
                let used = player.refreshToken
                let lost = try await player.tryRefresh()
                let members = try #require(
                    try JSONSerialization.jsonObject(with: Data(lost.body)) as? [String: Any], "\(lost)")
                #expect(Set(members.keys) == ["accessToken", "expiresIn", "refreshToken", "refreshExpiresIn"])
                #expect(members["expiresIn"] as? Int == 900 && lost["cache-control"] == "no-store")
                #expect((2_591_990...2_592_000).contains(members["refreshExpiresIn"] as? Int ?? 0))
                try await player.refresh()
                #expect(player.refreshToken == members["refreshToken"] as? String && player.refreshToken != used)
                try await Edge.expectEcho(player.open())
            }
            try await edge.gateway.auditLine(#""event":"account""#, "refresh, token ", player.account)
        }

        @Test func `an older token ends the family, with its session`() async throws {
            var (edge, player) = try await start()
            let first = player.refreshToken
            try await player.refresh()
            try await player.refresh()
            let socket = try await player.open()
            try await Edge.expectEcho(socket)
            let thief = try TokenClient(apple, at: edge.gateway)
            expectRefusal(try await player.tryRefresh(first, by: thief), 401, "invalid_token")
            try await edge.gateway.auditLine(#""event":"refresh_wrong_key""#, "refresh_key", player.account)
            try await Edge.expectEcho(socket)
            expectRefusal(try await player.tryRefresh(first), 401, "invalid_token")
            try await edge.gateway.auditLine(#""event":"refresh_reuse""#, "refresh_unused", player.account)
            let close = try await socket.closedByServer()
            #expect(close.code == 1008 && close.reason == "device_blocked", "\(close)")
            expectRefusal(try await player.tryRefresh(), 401, "invalid_token")
        }

        @Test func `a log-out ends the session and the tokens, here or everywhere`() async throws {
            var (edge, player) = try await start()
            var other = player
            try await other.signIn()
            let (socket, second) = (try await player.open(), try await other.open())
            let answer = try await player.logOut()
            #expect(answer.status == 200 && answer.text == #"{"signedOut":true}"#, "\(answer)")
            #expect(try await socket.closedByServer().code == 1008)
            expectRefusal(try await player.tryRefresh(), 401, "invalid_token")
            expectRefusal(try await player.logOut(), 401, "invalid_token")
            try await Edge.expectEcho(second)
            try await player.signIn()
            #expect(try await player.logOut(#"{"everywhere":true}"#).status == 200)
            #expect(try await second.closedByServer().code == 1008)
            expectRefusal(try await other.tryRefresh(), 401, "invalid_token")
            try await edge.gateway.auditLine("signed out, everywhere", player.account)
        }

        @Test func `a use survives a kill before the client has heard of it`() async throws {
            let (edge, first) = try await start()
            var (player, gateway) = (first, edge.gateway)
            for _ in 0..<5 {
                let next = try #require(try await player.tryRefresh().field("refreshToken"))
                try await gateway.killNow()
                gateway = try await GatewayProcess.start(gateway.settings, in: gateway.directory)
                player.move(to: gateway)
                try await player.refresh()
                #expect(player.refreshToken == next)
            }
        }

        @Test func `a copy of the store that is put back has no token`() async throws {
            var (edge, player) = try await start()
            let gateway = edge.gateway
            try await player.refresh()
            _ = try await gateway.stop()
            let (store, copy) = (gateway.storePath, gateway.storePath + ".copy")
            try FileManager.default.copyItem(atPath: store, toPath: copy)
            let again = try await GatewayProcess.start(gateway.settings, in: gateway.directory)
            player.move(to: again)
            let old = player.refreshToken
            try await player.refresh()
            _ = try await again.stop()
            try FileManager.default.removeItem(atPath: store)
            try FileManager.default.moveItem(atPath: copy, toPath: store)
            let restored = try await GatewayProcess.start(gateway.settings, in: gateway.directory)
            player.move(to: restored)
            for token in [old, player.refreshToken] {
                expectRefusal(try await player.tryRefresh(token), 401, "invalid_token")
            }
            try await player.signIn()
            try await player.refresh()
        }
    }
}
