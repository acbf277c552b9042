import DeviceSimulation
import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Players' accounts: from the first proof to the last session.
    @Suite struct AccountFlowTests {
        @Test func `an account begins with every proof that upgrades accept, and its player comes back`() async throws {
            let directory = try TemporaryDirectory()
            let certificates = try await DevCertificates.shared()
            let bench = try await AccountEdge.start {
                $0.clientCA(certificates).setting("ALLOW_DEV_TOKENS", "true")
                    .setting("CONTROL_SOCKET_PATH", directory.file("control.sock"))
            }
            let attested = try TokenClient(bench.apple, at: bench.gateway)
            let simulator = try TokenClient.simulator(at: bench.gateway)
            let issued = try await bench.gateway.issueDevelopmentToken()
            let ticket = try await GatewayProcess.run(["ticket", "--socket", directory.file("control.sock")])
            let proofs: [(PlayerProof, String)] = [
                (.assertion(try await bench.apple.enrolledDevice(at: bench.gateway)), "device"),
                (.accessToken(attested, try await attested.firstToken()), "device"),
                (.certificate(certificates.client), "certificate"),
                (.ticket(try #require(ticket.outputLines.first, "\(ticket)")), "ticket"),
                (.accessToken(simulator, try await simulator.token(for: issued.token)), "development"),
            ]
            for (proof, origin) in proofs {
                var player = try Player(at: bench.gateway)
                try await player.signUp(showing: proof)
                let account = try #require(player.account)
                #expect(account.wholeMatch(of: /[0-9a-f]{32}/) != nil)
                try await bench.gateway.auditLine("account begun, by \(origin)", account)
                try await player.signIn()
                try await Edge.expectEcho(player.open())
                try await bench.gateway.auditLine(#""event":"upgrade""#, "passkey", account)
                let belongings = try await player.belongings()
                #expect(belongings.account == account && belongings.passkeys == [player.passkeyID])
                #expect(belongings.labels == ["phone"] && belongings.devices == [])
            }
        }

        @Test func `a sign-in gives a token of fifteen minutes for the key of the proof`() async throws {
            let bench = try await AccountEdge.start()
            var player = try await bench.player()
            // The same options for whoever asks: they name no account.
            let options = try members(await player.requestOptions())
            #expect(Set(options.keys) == ["challenge", "timeout", "rpId", "allowCredentials", "userVerification"])
            #expect(
                (options["allowCredentials"] as? [Any])?.isEmpty == true && options["rpId"] as? String == "localhost")
            #expect(options["timeout"] as? Int == 300_000 && options["userVerification"] as? String == "required")
            let answer = try await player.trySignIn()
            expectSuccess(answer)
            let found = try members(answer)
            #expect(Set(found.keys) == ["accessToken", "expiresIn", "refreshToken", "refreshExpiresIn"])
            #expect(found["expiresIn"] as? Int == 900)
            let token = try #require(found["accessToken"] as? String)
            let claims = try TokenClient.claims(of: token)
            #expect(claims["sub"] as? String == player.account && claims["amr"] as? [String] == ["passkey"])
            #expect((claims["cnf"] as? [String: String])?["jkt"] == player.holder.thumbprint)
            let issuedAt = try #require(claims["iat"] as? Int)
            #expect(claims["exp"] as? Int == issuedAt + 900)
            #expect(answer["set-cookie"] == nil)
            // The token is worth nothing without the key.
            player.token = token
            let thief = try TokenClient.simulator(at: bench.gateway)
            expectRefusal(try await bench.gateway.refusal(thief.handshake(token)), 401, "invalid_token")
            try await Edge.expectEcho(player.open())
            let output = try await bench.gateway.stop()
            #expect(!output.errorText.contains(token) && !output.outputText.contains(token))
        }

        @Test func `the token authorizes requests, and gives a page its ticket`() async throws {
            let bench = try await AccountEdge.start {
                $0.setting("ADMIN_BIND", "127.0.0.1:0").setting("AUTHZ_ADMIT", "token+passkey")
            }
            let player = try await bench.signedIn()
            let token = try #require(player.token)
            let url = "https://api.example.com/v1/chat"
            func ask(_ path: String) async throws -> ReceivedAnswer {
                try await bench.gateway.ask(
                    "GET \(path) HTTP/1.1\r\nHost: portcullis\r\nX-Original-Method: GET\r\nX-Original-URL: \(url)\r\n"
                        + player.holder.headers("GET", url, token) + "\r\n")
            }
            let answer = try await ask("/authz")
            #expect(answer.status == 204 && answer["x-portcullis-subject"] == player.account, "\(answer)")
            #expect(answer["x-portcullis-method"] == "passkey" && answer["x-portcullis-mode"] == "production")
            #expect(try await ask("/admit/passkey/authz").status == 204)
            expectRefusal(try await ask("/admit/token/authz"), 401, "invalid_token")
            let ticket = try #require(try await player.ask("POST", "/ticket").strings?["ticket"])
            try await Edge.expectEcho(bench.gateway.open(Handshake().path("/?ticket=" + ticket)))
            try await bench.gateway.auditLine(#""event":"ticket""#, "passkey", try #require(player.account))
        }

        @Test func `a further passkey needs one that was just used, and signs in to the same account`() async throws {
            let bench = try await AccountEdge.start()
            var player = try await bench.signedIn()
            expectRefusal(
                try await player.ask("POST", "/api/auth/passkey/register/options"), 401, "fresh_passkey_required")
            let fresh = try await player.freshPasskey()
            let options = try await player.ask(
                "POST", "/api/auth/passkey/register/options", #"{"passkey":\#(fresh)}"#)
            let excluded = try #require(try members(options)["excludeCredentials"] as? [[String: Any]])
            #expect(excluded.compactMap { $0["id"] as? String } == [player.passkeyID])
            // What was used once isn't fresh any more.
            let again = try await player.ask(
                "POST", "/api/auth/passkey/register/options", #"{"passkey":\#(fresh)}"#)
            expectRefusal(again, 401, "passkey_rejected")
            var second = try Player(at: bench.gateway, .edDSA())
            expectSuccess(try await player.add(second.passkey))
            second.account = player.account
            try await second.signIn()
            #expect(try await second.belongings().passkeys == [player.passkeyID, second.passkeyID])
            try await Edge.expectEcho(second.open())
        }

        @Test func `a device joins, brings a lost player back, and leaves`() async throws {
            let bench = try await AccountEdge.start()
            var player = try await bench.signedIn()
            let device = try await bench.apple.enrolledDevice(at: bench.gateway)
            let joined = try await player.join(device)
            expectSuccess(joined)
            #expect(joined.field("device") == device.keyID)
            #expect(try await player.belongings().devices == [device.keyID])
            #expect(try await player.belongings().labels == ["phone", "tablet"])
            // The device alone gets a further passkey: the player has lost the first one.
            var found = try Player(at: bench.gateway)
            try await found.signUp(showing: .assertion(device))
            #expect(found.account == player.account)
            try await found.signIn()
            var other = try await bench.signedIn()
            expectRefusal(try await other.join(device), 409, "device_taken")
            let session = try await bench.gateway.open(device.handshake(at: bench.gateway))
            expectSuccess(try await found.delete(Player.path(of: device)))
            try await Edge.expectBlocked(session)
            #expect(try await player.belongings().devices == [])
            expectRefusal(try await found.delete(Player.path(of: device)), 404, "not_found")
            expectSuccess(try await other.join(device))
            // By its identifier as the answer has it, escaped for a path.
            let escaped = device.keyID.replacing("/", with: "%2F").replacing("+", with: "%2b")
                .replacing("=", with: "%3D")
            expectSuccess(try await other.delete("device/" + escaped))
            #expect(try await other.belongings().devices == [])
        }

        @Test func `a device that wasn't attested joins no account`() async throws {
            let bench = try await AccountEdge.start()
            var player = try await bench.signedIn()
            let stranger = try bench.apple.device()
            expectRefusal(try await player.join(stranger), 401, "unknown_key")
            let device = try await bench.apple.enrolledDevice(at: bench.gateway)
            // An assertion for an upgrade, and one that has joined already.
            let nonce = try #require(Hex.decode(try await bench.gateway.challenge()))
            let foreign = try await player.ask("POST", "/api/auth/device", player.joining(device, over: nonce))
            expectRefusal(foreign, 401, "passkey_rejected")
            // What an upgrade's assertion is over, and what is for another account.
            for suffix in [nil, [UInt8](repeating: 9, count: 16)] {
                let bytes = try await player.deviceChallenge()
                let statement = suffix.map { Array("portcullis account device\0".utf8) + bytes + $0 } ?? bytes
                let wrong = try await player.joining(device, over: bytes, signing: statement)
                expectRefusal(try await player.ask("POST", "/api/auth/device", wrong), 401, "assertion_rejected")
            }
            let body = try await player.joining(device, over: player.deviceChallenge())
            expectSuccess(try await player.ask("POST", "/api/auth/device", body))
            expectRefusal(try await player.ask("POST", "/api/auth/device", body), 401, "passkey_rejected")
            #expect(try await player.belongings().devices == [device.keyID])
        }

        @Test func `removing a passkey ends its sessions, and removing the account ends all`() async throws {
            let bench = try await AccountEdge.start()
            var first = try await bench.signedIn()
            var second = try Player(at: bench.gateway)
            expectSuccess(try await first.add(second.passkey))
            second.account = first.account
            try await second.signIn()
            let (one, other) = (try await first.open(), try await second.open())
            expectSuccess(try await second.delete("passkey/" + first.passkeyID))
            try await Edge.expectBlocked(one)
            try await Edge.expectEcho(other)
            expectRefusal(try await bench.gateway.refusal(first.handshake()), 401, "invalid_token")
            expectRefusal(try await first.trySignIn(), 404, "unknown_credential")
            expectRefusal(try await second.delete("passkey/" + first.passkeyID), 404, "not_found")
            let account = try #require(second.account)
            expectSuccess(try await second.delete("account"))
            try await Edge.expectBlocked(other)
            expectRefusal(try await second.ask("GET", "/api/auth/devices"), 401, "invalid_token")
            expectRefusal(try await second.trySignIn(), 404, "unknown_credential")
            try await bench.gateway.auditLine("account removed", account)
            // Its passkeys are nobody's, and its devices may begin another one.
            try await second.signUp(showing: .assertion(bench.apple.enrolledDevice(at: bench.gateway)))
            #expect(second.account != account)
        }
    }
}
