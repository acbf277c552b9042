import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Which routes are open to which accounts, and what targets are told of them.
    @Suite struct AccountRouteTests {
        /// The target has one port: each route is one demand.
        private func routes(_ settings: GatewaySettings) -> GatewaySettings {
            let target = "127.0.0.1:\(settings["TN_PORT"] ?? "")"
            return settings.setting(
                "MUD_ROUTES",
                "any=\(target),admit=any;players=\(target),admit=passkey;debug=\(target),admit=cert;"
                    + "staging=\(target),admit=dev;plain=\(target)")
        }

        private static func claims(of player: Player) throws -> String {
            let parts = try #require(player.token).split(separator: ".")
            return String(decoding: try #require(Player.bytes(base64URL: String(parts[1]))), as: UTF8.self)
        }

        private func reachable(by player: Player) async throws -> Set<String> {
            var reached: Set<String> = []
            for path in ["/", "/mud/any", "/mud/players", "/mud/debug", "/mud/staging", "/mud/plain"] {
                switch try await player.gateway.attempt(player.handshake(path)) {
                case .open(let socket):
                    reached.insert(path)
                    try await socket.close()
                case .refused(let answer, _): expectRefusal(answer, 403, "way_not_allowed")
                }
            }
            return reached
        }

        @Test func `accounts are admitted as players, as what they end with, or only by name`() async throws {
            let certificates = try await DevCertificates.shared()
            let bench = try await AccountEdge.start {
                routes($0).clientCA(certificates).setting("ALLOW_DEV_TOKENS", "true").setting(
                    "ACCOUNT_SIGN_UP", "open")
            }
            let open: Set<String> = ["/", "/mud/any", "/mud/plain"]
            #expect(try await reachable(by: bench.signedIn()) == open.union(["/mud/players"]))
            var certified = try Player(at: bench.gateway)
            try await certified.signUp(showing: .certificate(certificates.client))
            try await certified.signIn()
            #expect(try await reachable(by: certified) == open.union(["/mud/debug"]))
            let simulator = try TokenClient.simulator(at: bench.gateway)
            let token = try await simulator.token(for: bench.gateway.issueDevelopmentToken().token)
            var developer = try Player(at: bench.gateway)
            try await developer.signUp(showing: .accessToken(simulator, token))
            try await developer.signIn()
            #expect(try await reachable(by: developer) == open.union(["/mud/staging"]))
            // Services that verify the token themselves see it, too.
            #expect(try Self.claims(of: developer).contains(#""mode":"dev""#))
            #expect(try !Self.claims(of: certified).contains(#""mode""#))
            #expect(try await reachable(by: bench.stranger()) == ["/mud/players"])
        }

        @Test func `an account that anyone made is its player's, and its tickets lead no further than itself`()
            async throws
        {
            let bench = try await AccountEdge.start { routes($0).setting("ACCOUNT_SIGN_UP", "open") }
            var player = try await bench.stranger()
            #expect(try await player.belongings().passkeys == [player.passkeyID])
            let ticket = try #require(try await player.ask("POST", "/ticket").strings?["ticket"])
            for path in ["/", "/mud/any"] {
                let refused = try await bench.gateway.refusal(Handshake().path(path + "?ticket=" + ticket))
                expectRefusal(refused, 403, "way_not_allowed")
            }
            let socket = try await bench.gateway.open(Handshake().path("/mud/players?ticket=" + ticket))
            try await Edge.expectEcho(socket)
            expectSuccess(try await player.delete("account"))
            try await Edge.expectBlocked(socket)
        }

        @Test func `an account ends with the development token or the certificate that it began with`() async throws {
            let (certificates, directory) = (try await DevCertificates.shared(), try TemporaryDirectory())
            let list = directory.file("list.crl")
            try FileManager.default.copyItem(atPath: certificates.emptyCRL, toPath: list)
            let bench = try await AccountEdge.start {
                $0.clientCA(certificates).setting("ALLOW_DEV_TOKENS", "true").setting("MTLS_CLIENT_CRL_PATH", list)
            }
            let issued = try await bench.gateway.issueDevelopmentToken()
            let simulator = try TokenClient.simulator(at: bench.gateway)
            var developer = try Player(at: bench.gateway)
            try await developer.signUp(
                showing: .accessToken(simulator, simulator.token(for: issued.token)))
            try await developer.signIn()
            let first = try await developer.open()
            _ = try await bench.gateway.developmentTokens("revoke", issued.id)
            try await Edge.expectBlocked(first)
            expectRefusal(try await bench.gateway.refusal(developer.handshake()), 401, "invalid_token")
            expectRefusal(try await developer.trySignIn(), 401, "invalid_token")

            var certified = try Player(at: bench.gateway)
            try await certified.signUp(showing: .certificate(certificates.client))
            try await certified.signIn()
            let second = try await certified.open()
            try FileManager.default.removeItem(atPath: list)
            try FileManager.default.copyItem(atPath: certificates.revokingCRL, toPath: list)
            try await bench.gateway.reload()
            try await Edge.expectBlocked(second)
            expectRefusal(try await bench.gateway.refusal(certified.handshake()), 401, "invalid_token")
            expectRefusal(try await certified.trySignIn(), 401, "invalid_token")
            // Other players go on.
            var player = try await bench.signedIn()
            try await player.signIn()
            try await Edge.expectEcho(player.open())
        }

        @Test func `a closed account is on no block list, and a blocked one is refused everywhere`() async throws {
            let directory = try TemporaryDirectory()
            let blocked = try directory.write("", to: "blocked")
            let bench = try await AccountEdge.start { $0.setting("BLOCK_LIST_PATH", blocked) }
            var player = try await bench.signedIn()
            let socket = try await player.open()
            try directory.write("account \(try #require(player.account))\n", to: "blocked")
            try await bench.gateway.reload()
            try await Edge.expectBlocked(socket)
            expectRefusal(try await bench.gateway.refusal(player.handshake()), 403, "device_blocked")
            expectRefusal(try await player.trySignIn(), 403, "device_blocked")
            expectRefusal(try await player.ask("GET", "/api/auth/devices"), 403, "device_blocked")
            try directory.write("", to: "blocked")
            try await bench.gateway.reload()
            try await player.signIn()
            try await Edge.expectEcho(player.open())
        }

        @Test func `a target is told the account in the PROXY header`() async throws {
            let target = try await TargetServer.start(.scripted, readsHeader: true)
            let bench = try await AccountEdge.start {
                $0.setting("TN_PORT", target.port).setting("PROXY_PROTOCOL", "v2")
            }
            let player = try await bench.signedIn()
            let account = try #require(player.account)
            let socket = try await player.open()
            try await socket.send(text: "look")
            let values = try Self.values(in: await target.connection().header())
            #expect(values[0xE0] == "passkey:\(account)" && values[0xE1] == account)
            // A ticket for the same player.
            let ticket = try #require(try await player.ask("POST", "/ticket").strings?["ticket"])
            let page = try await bench.gateway.open(Handshake().path("/?ticket=" + ticket))
            try await page.send(text: "look")
            let second = try Self.values(in: await target.connection(1).header())
            #expect(second[0xE0] == "passkey_ticket:\(account)" && second[0xE1] == account)
            // A client without an account.
            let device = try await bench.apple.enrolledDevice(at: bench.gateway)
            let other = try await bench.gateway.open(device.handshake(at: bench.gateway))
            try await other.send(text: "look")
            let third = try Self.values(in: await target.connection(2).header())
            #expect(third[0xE0] == "app_attest:\(device.keyID)" && third[0xE1] == nil)
        }

        /// The TLVs of a header of version 2 over IPv4, read by hand.
        private static func values(in header: [UInt8]) throws -> [UInt8: String] {
            var values: [UInt8: String] = [:]
            var rest = header.dropFirst(28)
            while let type = rest.first {
                let length = rest.dropFirst().prefix(2).reduce(0) { $0 << 8 | Int($1) }
                guard rest.count >= 3 + length else { throw EdgeTestError("a broken TLV: \(rest)") }
                values[type] = String(decoding: rest.dropFirst(3).prefix(length), as: UTF8.self)
                rest = rest.dropFirst(3 + length)
            }
            return values
        }
    }
}
