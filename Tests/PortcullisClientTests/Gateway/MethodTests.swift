import EdgeTestKit
import Foundation
import Testing

@testable import PortcullisClient

extension GatewayTests {
    /// Every way to be admitted, in every dialect.
    @Suite struct MethodTests {
        @Test(arguments: SessionDialect.allCases)
        func `an assertion opens a session`(dialect: SessionDialect) async throws {
            let stage = try await Stage()
            let player = Player(try stage.bench().client.connect(ConnectionOptions(.assertion, dialect: dialect)))
            try await Stage.expectEcho(player)
            await player.connection.close()
            let end = try await player.end()
            #expect(end.cause == .clientClosed && end.action == .nothing)
        }

        @Test(arguments: SessionDialect.allCases)
        func `an access token opens a session, also where nonces are demanded`(dialect: SessionDialect) async throws {
            let stage = try await Stage { $0.setting("DPOP_NONCE", "always") }
            let bench = try stage.bench()
            try await Stage.expectEcho(Player(bench.client.connect(ConnectionOptions(dialect: dialect))))
            let again = Player(bench.client.connect(ConnectionOptions(dialect: dialect)))
            try await Stage.expectEcho(again)
        }

        @Test(arguments: SessionDialect.allCases)
        func `a development token opens a session`(dialect: SessionDialect) async throws {
            let stage = try await Stage { $0.setting("ALLOW_DEV_TOKENS", "true") }
            let token = try await stage.gateway.issueDevelopmentToken().token
            let bench = try stage.bench(developmentToken: token)
            try await Stage.expectEcho(Player(bench.client.connect(ConnectionOptions(dialect: dialect))))
            #expect(await bench.client.tokens.isDevelopment == true && bench.attest.calls.isEmpty)
        }

        @Test(arguments: SessionDialect.allCases)
        func `a client certificate opens a session in a debug build`(dialect: SessionDialect) async throws {
            let certificates = try await DevCertificates.shared()
            let stage = try await Stage { $0.clientCA(certificates) }
            let folder = URL(fileURLWithPath: certificates.clientCA).deletingLastPathComponent()
            var trust = stage.trust
            trust.clientCertificate = ClientCertificate(
                pkcs12: try Data(contentsOf: folder.appendingPathComponent("client.p12")))
            let bench = try stage.bench(trust: trust)
            try await Stage.expectEcho(
                Player(bench.client.connect(ConnectionOptions(.clientCertificate, dialect: dialect))))
            let without = try stage.bench()
            let end = try await Player(without.client.connect(ConnectionOptions(.clientCertificate, dialect: dialect)))
                .end()
            #expect(end.error?.code == "app_auth_required" && end.action == .giveUp)
        }

        @Test(arguments: [SessionDialect.typed, .gmcp, .json])
        func `a ticket opens a session once, and the session's token brings it back`(dialect: SessionDialect)
            async throws
        {
            let stage = try await Stage()
            let relay = try await BreakableRelay.start(to: stage.gateway.port)
            let bench = try stage.bench(port: relay.port)
            let options = ConnectionOptions(.ticket(try await stage.ticket()), dialect: dialect)
            let player = Player(bench.client.connect(options))
            try await Stage.expectEcho(player)
            await relay.cut()
            relay.mend()
            try await player.connected(times: 2)
            try await Stage.expectEcho(player, "again")
            #expect(try await Player(bench.client.connect(options)).end().error?.code == "invalid_ticket")
        }

        @Test func `a shared secret goes along`() async throws {
            let secret = "correct horse battery staple and more"
            let folder = try TemporaryDirectory()
            let hash = BinaryText.hexadecimal(Digest.sha256(Array(secret.utf8)))
            let path = try folder.write("tests sha256:\(hash)\n", to: "secrets")
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            let stage = try await Stage {
                $0.setting("AUTH_MODE", "shared-secret").setting("SHARED_SECRETS_PATH", path)
            }
            let bench = try stage.bench { $0.sharedSecret = secret }
            try await Stage.expectEcho(Player(bench.client.connect(ConnectionOptions(.assertion))))
            let without = try stage.bench()
            let end = try await Player(without.client.connect(ConnectionOptions(.assertion))).end()
            #expect(end.error?.code == "shared_secret_required" && end.error?.retry == .afterUserAction)
        }

        @Test(arguments: SessionDialect.allCases)
        func `where nothing is required nothing is sent`(dialect: SessionDialect) async throws {
            let stage = try await Stage { $0.setting("REQUIRE_APP_AUTH", "false") }
            try await Stage.expectEcho(Player(stage.bench().client.connect(ConnectionOptions(.none, dialect: dialect))))
        }

        // MARK: Keys and tokens

        @Test func `one registration serves both dialects, and a later start of the app`() async throws {
            let stage = try await Stage()
            let bench = try stage.bench()
            try await bench.client.assertions.registerIfNeeded()
            try await Stage.expectEcho(Player(bench.client.connect(ConnectionOptions(.accessToken))))
            let next = try stage.bench(attest: bench.attest, secrets: bench.secrets)
            try await Stage.expectEcho(Player(next.client.connect(ConnectionOptions(.assertion))))
            try await Stage.expectEcho(Player(next.client.connect(ConnectionOptions(.accessToken))))
            #expect(bench.attest.calls.count { $0 == .generateKey } == 1)
        }

        @Test(arguments: [Admission.assertion, .accessToken])
        func `a gate that has lost its keys gets a new one`(admission: Admission) async throws {
            let stage = try await Stage()
            let port = stage.gateway.port
            let bench = try stage.bench()
            try await Stage.expectEcho(Player(bench.client.connect(ConnectionOptions(admission))))
            try await stage.gateway.stop()
            // Another store.
            let settings = stage.gateway.settings.setting("WS_PORT", port).removing("ATTESTED_KEYS_PATH")
            let other = try await GatewayProcess.start(settings)
            await bench.client.tokens.clearCachedState()
            try await Stage.expectEcho(Player(bench.client.connect(ConnectionOptions(admission))))
            #expect(bench.attest.calls.count { $0 == .generateKey } == 2)
            withExtendedLifetime(other) {}
        }

        @Test func `a hundred callers on an empty client share one of everything`() async throws {
            let stage = try await Stage { $0.setting("MAX_SESSIONS_PER_DEVICE", 100) }
            let bench = try stage.bench()
            let players = (0..<20).map { _ in Player(bench.client.connect(ConnectionOptions(dialect: .raw))) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<80 {
                    group.addTask { _ = try await bench.client.tokens.authorizationHeaders(for: "x", method: .get) }
                }
                try await group.waitForAll()
            }
            for player in players { try await player.connected() }
            #expect(bench.attest.calls == [.generateKey, .attestKey, .generateAssertion])
        }

        @Test func `many assertions at once arrive in the order of their counters`() async throws {
            let stage = try await Stage { $0.setting("MAX_SESSIONS_PER_DEVICE", 100) }
            let bench = try stage.bench()
            let players = (0..<20).map { _ in Player(bench.client.connect(ConnectionOptions(.assertion, dialect: .raw)))
            }
            for player in players { try await player.connected() }
            for player in players { #expect(player.seen.current.states.count == 2, "\(player.seen.current.states)") }
        }

        @Test func `a request with a token reaches an endpoint`() async throws {
            let stage = try await Stage()
            let response = try await stage.bench().client.tokens.performRequest(path: "ticket", method: .post)
            #expect(response.status == 200 && String(decoding: response.body, as: UTF8.self).contains("ticket"))
        }

        @Test func `a revoked key is told to give up, also in the middle of a session`() async throws {
            let stage = try await Stage()
            let bench = try stage.bench()
            let player = Player(bench.client.connect(ConnectionOptions(.assertion)))
            try await Stage.expectEcho(player)
            let key = try #require(try await bench.client.assertions.assertionHeaders()["X-App-Assert-KeyId"])
            #expect(try await stage.gateway.keys("revoke", key).ending == .exited(0))
            let end = try await player.end()
            #expect(end.cause == .blocked && end.action == .giveUp)
            let next = try await Player(bench.client.connect(ConnectionOptions(.assertion))).end()
            #expect(next.cause == .blocked && next.error?.code == "key_revoked" && next.error?.requestId != nil)
            #expect(bench.attest.calls.count { $0 == .generateKey } == 1)
        }

        @Test func `a device whose clock is wrong is told`() async throws {
            let stage = try await Stage()
            let clock = ManualClock()
            clock.setDate(0)
            let bench = try Bench(stage.url, apple: stage.apple, clock: clock, trust: stage.trust)
            do {
                _ = try await bench.client.tokens.authorizationHeaders(for: "x", method: .get)
                Issue.record("a token")
            } catch {
                guard case .clockSkew(_, let refusal) = error else {
                    Issue.record("\(error)")
                    return
                }
                #expect(refusal.message.contains("server's time") && refusal.requestId != nil)
            }
        }

        @Test func `one session too many is told`() async throws {
            let stage = try await Stage { $0.setting("MAX_SESSIONS_PER_DEVICE", 1) }
            let bench = try stage.bench()
            let first = Player(bench.client.connect(ConnectionOptions(dialect: .raw)))
            try await first.connected()
            let end = try await Player(bench.client.connect(ConnectionOptions(dialect: .raw))).end()
            #expect(end.cause == .tooManySessions && end.action == .connectLater(seconds: 5))
        }

        // MARK: TLS

        @Test func `a server without a trusted certificate gets no request`() async throws {
            let stage = try await Stage()
            let bench = try stage.bench(trust: ServerTrust())
            let end = try await Player(bench.client.connect(ConnectionOptions(.none))).end()
            #expect(end.error == .network(.untrustedServer) && end.action == .giveUp)
            await #expect(throws: GateError.network(.untrustedServer)) {
                try await bench.client.assertions.registerIfNeeded()
            }
        }

        @Test func `pins accept the current and the next key, and no other`() async throws {
            let certificates = try await DevCertificates.shared()
            let stage = try await Stage { $0.setting("REQUIRE_APP_AUTH", "false") }
            let pin = try await Self.pin(of: certificates.server.certificate)
            let other = try await Self.pin(of: certificates.otherServer.certificate)
            for pins in [[pin], [other, pin]] {
                let trust = ServerTrust(pins: try pins.map { try ServerPin($0) }, authorities: stage.trust.authorities)
                try await Stage.expectEcho(Player(stage.bench(trust: trust).client.connect(ConnectionOptions(.none))))
            }
            let wrong = ServerTrust(pins: [try ServerPin("sha256/" + other)], authorities: stage.trust.authorities)
            let end = try await Player(stage.bench(trust: wrong).client.connect(ConnectionOptions(.none))).end()
            #expect(end.error == .network(.pinMismatch))
            // A pin doesn't replace trust.
            let untrusted = ServerTrust(pins: [try ServerPin(pin)])
            #expect(
                try await Player(stage.bench(trust: untrusted).client.connect(ConnectionOptions(.none))).end().error
                    == .network(.untrustedServer))
            var debug = untrusted
            debug.acceptsAnyCertificate = true
            try await Stage.expectEcho(Player(stage.bench(trust: debug).client.connect(ConnectionOptions(.none))))
        }

        /// As the openssl program computes it.
        private static func pin(of certificate: String) async throws -> String {
            let script = """
                openssl x509 -in '\(certificate)' -noout -pubkey | openssl pkey -pubin -outform DER \
                | openssl dgst -sha256 -binary | openssl base64
                """
            return try await ChildProcess.check("bash", ["-c", script]).outputLines[0]
        }
    }
}
