import AppAttest
import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Settings that no other suite uses, each with its externally visible effect.
    @Suite struct SettingTests {
        private typealias T = TelnetBytes

        private static let mxp: UInt8 = 91

        @Test(arguments: [
            ("refuse", T.dont, "a <b>bold</b> &amp; more"), ("pass", T.do, "a <b>bold</b> &amp; more"),
            ("strip", T.do, "a bold & more"),
        ])
        func `MXP_MODE controls the option and the markup`(mode: String, verb: UInt8, text: String) async throws {
            let edge = try await Edge.start(.scripted) { $0.setting("MXP_MODE", mode) }
            let socket = try await edge.gateway.open(
                Handshake().setting("Sec-WebSocket-Protocol", "terminal.mudstandards.org"))
            let target = try await edge.target.connection()
            try await target.send([T.iac, T.will, Self.mxp])
            _ = try await target.receive(upTo: [T.iac, verb, Self.mxp])
            let start = verb == T.do ? T.subnegotiation(Self.mxp) : []
            try await target.send(start + Array("a <b>bold</b> &amp; more\r\n".utf8))
            #expect(try await socket.receiveText(text.utf8.count + 2) == text + "\r\n")
        }

        @Test(arguments: ["MUD_MCCP", "MUD_ROUTES"])
        func `a game that compresses wrongly is played uncompressed, by the setting or its route's option`(
            name: String
        ) async throws {
            let game = try await TargetServer.start(.scripted)
            let value = name == "MUD_MCCP" ? "off" : "game=127.0.0.1:\(game.port),mccp=off"
            let gateway = try await GatewayProcess.start(GatewaySettings(targetPort: game.port).setting(name, value))
            let path = name == "MUD_MCCP" ? "/" : "/mud/game"
            let socket = try await gateway.open(Handshake().path(path).offering("terminal.mudstandards.org"))
            let target = try await game.connection()
            try await target.send([T.iac, T.will, T.mccp2])
            #expect(try await target.receive(3) == [T.iac, T.dont, T.mccp2])
            // A game that doesn't listen either.
            try await target.send(T.subnegotiation(T.mccp2) + Array("Welcome\r\n".utf8))
            #expect(try await socket.receiveText(9) == "Welcome\r\n")
        }

        /// The command runs in a folder without `config`.
        @Test func `the default of ATTESTED_KEYS_PATH fails elsewhere with the absolute path and a remedy`()
            async throws
        {
            let settings = GatewaySettings(targetPort: 1).appAttest(try SimulatedApple())
            let check = try await GatewayProcess.run(["check-config"], settings)
            #expect(check.ending == .exited(78), "\(check)")
            #expect(
                check.errorText.contains(
                    /ATTESTED_KEYS_PATH names a file that can't be written \(\/.+\/config: No such/), "\(check)")
            #expect(check.errorText.contains("set an absolute path"), "\(check)")
            let list = try await GatewayProcess.run(["keys", "list"], settings)
            #expect(list.errorText.contains(/no database at \/.+\/config\/attested-keys\.sqlite/), "\(list)")
        }

        @Test func `APPATTEST_APP_IDS admits further apps, and no others`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start {
                $0.appAttest(apple).setting("APPATTEST_APP_IDS", "\(apple.app.teamID).com.example.second")
            }
            for bundleID in [apple.app.bundleID, "com.example.second"] {
                let device = try apple.device(bundleID: bundleID)
                #expect(try await device.register(at: edge.gateway).status == 200, "\(bundleID)")
                try await Edge.expectEcho(edge.gateway.open(device.handshake(at: edge.gateway)))
            }
            let third = try await apple.device(bundleID: "com.example.third").register(at: edge.gateway)
            expectRefusal(third, 400, "attestation_rejected")
        }

        @Test func `APPATTEST_VALIDATION_CATEGORIES admits devices that state one of them`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple).setting("APPATTEST_VALIDATION_CATEGORIES", "3, 4") }
            let stated = try apple.device(validationCategory: 4)
            #expect(try await stated.register(at: edge.gateway).status == 200)
            try await Edge.expectEcho(edge.gateway.open(stated.handshake(at: edge.gateway)))
            for category in [5, nil] as [UInt32?] {
                let answer = try await apple.device(validationCategory: category).register(at: edge.gateway)
                expectRefusal(answer, 400, "attestation_rejected")
            }
        }

        @Test func `a request's header has at most 16 KiB`() async throws {
            let edge = try await Edge.start()
            for (bytes, status) in [(16_200, 200), (16_400, 431)] {
                let field = "X: " + String(repeating: "x", count: bytes)
                let answer = try await edge.gateway.request(
                    "GET /health HTTP/1.1\r\nHost: localhost\r\n\(field)\r\n\r\n")
                #expect(answer.status == status, "\(bytes)")
            }
        }

        /// A third process has locked the store. What an upgrade waits holds up the other connections of its reactor.
        @Test(.enabled(if: StoreLock.isAvailable, "needs the sqlite3 program"))
        func `an upgrade doesn't wait for a store that is locked`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple) }
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let lock = try await StoreLock.take(edge.gateway.storePath)
            expectRefusal(
                try await edge.gateway.refusal(device.handshake(at: edge.gateway)), 503, "store_unavailable")
            try await lock.release()
            try await Edge.expectEcho(edge.gateway.open(device.handshake(at: edge.gateway)))
        }
    }
}
