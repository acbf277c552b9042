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

        @Test func `MAX_HEADER_BYTES bounds a request's header`() async throws {
            let edge = try await Edge.start { $0.setting("MAX_HEADER_BYTES", 4_096) }
            for (bytes, status) in [(3_900, 200), (4_100, 431)] {
                let field = "X: " + String(repeating: "x", count: bytes)
                let answer = try await edge.gateway.request(
                    "GET /health HTTP/1.1\r\nHost: localhost\r\n\(field)\r\n\r\n")
                #expect(answer.status == status, "\(bytes)")
            }
        }

        /// The output depends on nothing but the level: one message, and a generator with a seed.
        @Test func `WS_COMPRESSION_LEVEL sets the compression ratio`() async throws {
            var generator = SeededGenerator(seed: 1)
            let words = [
                "north", "south", "clearing", "orc", "sword", "stands", "here", "the", "a", "obvious", "exits",
            ]
            let text = (0..<2_000).map { _ in words.randomElement(using: &generator) ?? "" }.joined(separator: " ")
            var sizes: [Int] = []
            for level in [1, 9] {
                let edge = try await Edge.start {
                    $0.setting("WS_COMPRESSION", "on").setting("WS_COMPRESSION_LEVEL", level)
                        .setting("DEFAULT_DIALECT", "raw")
                }
                let client = try await DeflateClient.open(edge)
                try await client.send(text)
                #expect(try await client.receiveText(text.utf8.count) == text)
                sizes.append(client.received)
            }
            #expect(sizes[1] < sizes[0] * 9 / 10, "\(sizes)")
        }

        /// Two gateways share a store that a third process has locked. The impatient one answers first, though it is asked last.
        @Test(.enabled(if: StoreLock.isAvailable, "needs the sqlite3 program"))
        func `STORE_BUSY_MS limits how long an upgrade waits for the store`() async throws {
            let apple = try SimulatedApple()
            let patient = try await Edge.start { $0.appAttest(apple).setting("STORE_BUSY_MS", 1_000) }
            let impatient = try await Edge.start {
                $0.appAttest(apple).setting("STORE_BUSY_MS", 100)
                    .setting("ATTESTED_KEYS_PATH", patient.gateway.storePath)
            }
            let device = try await apple.enrolledDevice(at: patient.gateway)
            let (first, second) = (
                try await device.handshake(at: patient.gateway), try await device.handshake(at: impatient.gateway)
            )
            let lock = try await StoreLock.take(patient.gateway.storePath)
            let order = AnswerOrder()
            let waiting = try await patient.gateway.connect()
            try await waiting.send(first.text)
            async let late: Void = {
                expectRefusal(try await waiting.answer(), 503, "store_unavailable")
                await order.note("patient")
            }()
            expectRefusal(try await impatient.gateway.refusal(second), 503, "store_unavailable")
            await order.note("impatient")
            try await late
            #expect(await order.names == ["impatient", "patient"])
            try await lock.release()
        }
    }
}

private actor AnswerOrder {
    private(set) var names: [String] = []

    func note(_ name: String) { names.append(name) }
}
