import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// A player stays signed in, and signs out.
    @Suite struct RefreshTests {
        @Test func `each use gives the next pair, and a lost answer is given again`() async throws {
            let bench = try await RefreshEdge.start()
            var player = try await bench.signedIn()
            for _ in 0..<3 {
                let used = player.refreshToken
                let lost = try await player.tryRefresh()
                let fields = try members(lost)
                #expect(Set(fields.keys) == ["accessToken", "expiresIn", "refreshToken", "refreshExpiresIn"])
                #expect(fields["expiresIn"] as? Int == 900 && lost["cache-control"] == "no-store")
                #expect((2_591_990...2_592_000).contains(fields["refreshExpiresIn"] as? Int ?? 0))
                try await player.refresh()
                #expect(player.refreshToken == fields["refreshToken"] as? String && player.refreshToken != used)
                try await Edge.expectEcho(player.open())
            }
            try await bench.gateway.auditLine(#""event":"account""#, "refresh, token ", player.account ?? "-")
        }

        @Test func `an older token ends the family, with its session`() async throws {
            let bench = try await RefreshEdge.start()
            var player = try await bench.signedIn()
            let (first, account) = (player.refreshToken, player.account ?? "-")
            try await player.refresh()
            try await player.refresh()
            let socket = try await player.open()
            try await Edge.expectEcho(socket)
            let thief = try player.onAnotherDevice()
            for token in [first, player.refreshToken] {
                expectRefusal(try await thief.tryRefresh(token), 401, "invalid_token")
            }
            try await bench.gateway.auditLine(#""event":"refresh_wrong_key""#, "refresh_key", account)
            try await Edge.expectEcho(socket)
            try await player.refresh()
            expectRefusal(try await player.tryRefresh(first), 401, "invalid_token")
            try await bench.gateway.auditLine(#""event":"refresh_reuse""#, "refresh_unused", account)
            try await Edge.expectBlocked(socket)
            try await player.expectSignedOut()
        }

        @Test func `a theft is told of, though the thief has gone before the answer`() async throws {
            let bench = try await RefreshEdge.start()
            let stolen = try await bench.signedIn()
            var player = stolen
            try await player.refresh()
            try await player.refresh()
            let holder = player
            // A reset may overtake the request.
            try await bench.gateway.eventually("the family has ended") {
                let connection = try await bench.gateway.connect()
                try await connection.send(stolen.refreshRequest())
                await connection.reset()
                return try await holder.ask("GET", "/api/auth/devices").status == 401
            }
            try await bench.gateway.auditLine(#""event":"refresh_reuse""#, "refresh_unused", player.account ?? "-")
        }

        @Test func `a log-out ends the session and the tokens, here or everywhere`() async throws {
            let bench = try await RefreshEdge.start()
            var player = try await bench.signedIn()
            var other = player
            try await other.signIn()
            let (socket, second) = (try await player.open(), try await other.open())
            let answer = try await player.logOut()
            #expect(answer.status == 200 && answer.text == #"{"signedOut":true}"#, "\(answer)")
            try await Edge.expectBlocked(socket)
            try await player.expectSignedOut()
            expectRefusal(try await player.logOut(), 401, "invalid_token")
            try await Edge.expectEcho(second)
            try await player.signIn()
            expectSuccess(try await player.logOut(#"{"everywhere":true}"#))
            try await Edge.expectBlocked(second)
            try await other.expectSignedOut()
            try await bench.gateway.auditLine("signed out, everywhere", player.account ?? "-")
        }

        @Test func `a use survives a kill before the client has heard of it`() async throws {
            let bench = try await RefreshEdge.start()
            var (player, gateway) = (try await bench.signedIn(), bench.gateway)
            for _ in 0..<5 {
                let next = try #require(try await player.tryRefresh().field("refreshToken"))
                try await gateway.killNow()
                gateway = try await GatewayProcess.start(gateway.settings, in: gateway.directory)
                player = player.moved(to: gateway)
                try await player.refresh()
                #expect(player.refreshToken == next)
            }
        }

        @Test func `two hundred answers that are lost leave the client signed in`() async throws {
            let bench = try await RefreshEdge.start()
            var player = try await bench.signedIn()
            for _ in 0..<200 {
                let connection = try await bench.gateway.connect()
                try await connection.send(player.refreshRequest())
                // What is answered is committed.
                _ = try await connection.receive(1)
                await connection.reset()
                try await player.refresh()
            }
            try await Edge.expectEcho(player.open())
        }

        // MARK: Other processes, other copies

        @Test func `a new process that takes over goes on with each family`() async throws {
            let directory = try TemporaryDirectory()
            let bench = try await RefreshEdge.start {
                $0.setting("CONTROL_SOCKET_PATH", directory.file("control.sock"))
            }
            var player = try await bench.signedIn()
            let first = player.refreshToken
            let next = try await player.tryRefresh().field("refreshToken")
            let successor = try await Successor.start(replacing: bench.gateway)
            try await bench.gateway.child.output.wait(for: "the old process' end") { $0.ending }
            try await player.refresh()
            #expect(player.refreshToken == next)
            let socket = try await player.open()
            try await player.refresh()
            try await Edge.expectEcho(socket)
            expectRefusal(try await player.tryRefresh(first), 401, "invalid_token")
            try await Edge.expectBlocked(socket)
            try await player.expectSignedOut()
            withExtendedLifetime(successor) {}
        }

        @Test(arguments: [true, false]) func `a copy of the store that is put back has no token`(
            isBackup: Bool
        ) async throws {
            let bench = try await RefreshEdge.start()
            let gateway = bench.gateway
            var player = try await bench.signedIn()
            try await player.refresh()
            let (store, copy) = (gateway.storePath, gateway.storePath + ".copy")
            if isBackup {
                let output = try await GatewayProcess.run(["store", "backup", copy, "--store", store])
                #expect(output.ending == .exited(0), "\(output)")
            }
            _ = try await gateway.stop()
            // What was written last may be in the log of the file alone.
            for name in isBackup ? [] : ["", "-wal"] where FileManager.default.fileExists(atPath: store + name) {
                try FileManager.default.copyItem(atPath: store + name, toPath: copy + name)
            }
            let again = try await GatewayProcess.start(gateway.settings, in: gateway.directory)
            player = player.moved(to: again)
            let old = player.refreshToken
            try await player.refresh()
            _ = try await again.stop()
            for name in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store + name) }
            for name in ["", "-wal"] where FileManager.default.fileExists(atPath: copy + name) {
                try FileManager.default.moveItem(atPath: copy + name, toPath: store + name)
            }
            let restored = try await GatewayProcess.start(gateway.settings, in: gateway.directory)
            player = player.moved(to: restored)
            for token in [old, player.refreshToken] {
                expectRefusal(try await player.tryRefresh(token), 401, "invalid_token")
            }
            try await player.signIn()
            try await player.refresh()
        }
    }
}
