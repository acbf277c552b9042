import DeviceSimulation
import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// What the endpoints of accounts refuse, and how little they say.
    @Suite struct AccountRefusalTests {
        private typealias UseChange = @Sendable (inout PasskeyAuthenticationPlan) -> Void
        private typealias MakeChange = @Sendable (inout PasskeyRegistrationPlan) -> Void

        // MARK: Wrong parts

        private static let wrongUses: [(String, UseChange)] = [
            ("signature", { $0.changeSignature = { $0[$0.count - 1] ^= 1 } }),
            ("no signature", { $0.changeSignature = { $0 = [] } }),
            ("signed bytes", { $0.changeMessage = { $0[40] ^= 1 } }),
            ("key", { $0.key = .es256() }),
            ("type", { $0.clientData.set("type", #""webauthn.create""#) }),
            ("origin", { $0.clientData.set("origin", #""https://evil.example""#) }),
            ("origin's port", { $0.clientData.set("origin", #""https://localhost:444""#) }),
            ("frame", { $0.clientData.set("crossOrigin", "true") }),
            ("page above the frame", { $0.clientData.set("topOrigin", #""https://evil.example""#) }),
            ("challenge's text", { $0.clientData.set("challenge", #""*""#) }),
            ("domain", { $0.authenticatorData.rpIDHash = [UInt8](repeating: 0, count: 32) }),
            ("presence", { $0.authenticatorData.flags &= ~SimulatedPasskey.userPresent }),
            ("verification", { $0.authenticatorData.flags &= ~SimulatedPasskey.userVerified }),
            ("backup state", { $0.authenticatorData.flags &= ~SimulatedPasskey.backupEligible }),
        ]

        @Test func `a wrong part of a sign-in is 401, and nobody is told which`() async throws {
            let bench = try await AccountEdge.start()
            var player = try await bench.player()
            var texts: Set<String> = []
            func expectRejected(_ answer: ReceivedAnswer, _ name: String) throws {
                #expect(answer.status == 401 && answer.code == "passkey_rejected", "\(name): \(answer)")
                #expect(answer["www-authenticate"] == "Passkey" && answer["x-app-assert-challenge"] == nil)
                let requestID = try #require(answer.requestID)
                texts.insert(answer.text.replacing(requestID, with: ""))
            }
            for (name, change) in Self.wrongUses {
                let challenge = try Player.options(await player.requestOptions())
                try expectRejected(
                    await player.authenticate(player.authentication(over: challenge) { change(&$0) }), name)
            }
            // The challenge: no gateway's, one for another key, one for another ceremony, and one that was used.
            let foreign = try player.authentication(over: [UInt8](repeating: 1, count: 32))
            try expectRejected(await player.authenticate(foreign), "foreign")
            var other = try player.onAnotherDevice()
            let elsewhere = try Player.options(await other.requestOptions())
            try expectRejected(await player.authenticate(player.authentication(over: elsewhere)), "another key's")
            let device = try await bench.apple.enrolledDevice(at: bench.gateway)
            let creation = try Player.options(await player.creationOptions(showing: .assertion(device)))
            try expectRejected(await player.authenticate(player.authentication(over: creation)), "creation's")
            let challenge = try Player.options(await player.requestOptions())
            let good = try player.authentication(over: challenge)
            expectSuccess(try await player.authenticate(good))
            try expectRejected(await player.authenticate(good), "used")
            for handle in [nil, [UInt8](repeating: 9, count: 16)] {
                let fresh = try Player.options(await player.requestOptions())
                let body = try player.authentication(over: fresh, userHandle: handle)
                try expectRejected(await player.authenticate(body), "handle")
            }
            #expect(texts.count == 1, "\(texts)")
            try await player.signIn()
            try await other.signIn()
        }

        @Test func `a counter that doesn't grow is refused, unless there is none`() async throws {
            let bench = try await AccountEdge.start()
            var player = try await bench.player()
            try await player.signIn()
            player.passkey.countsSignatures = true
            player.passkey.signCount = 41
            try await player.signIn()
            for counter in [42, 41, 0] as [UInt32] {
                player.passkey.signCount = counter &- 1
                expectRefusal(try await player.trySignIn(), 401, "passkey_rejected")
            }
            // The operator is told whose it is: it may have been copied.
            try await bench.gateway.auditLine("passkey_rejected", try #require(player.account), "passkey ")
            player.passkey.signCount = 42
            try await player.signIn()
        }

        private static let wrongMakes: [(String, MakeChange)] = [
            ("type", { $0.clientData.set("type", #""webauthn.get""#) }),
            ("origin", { $0.clientData.set("origin", #""https://evil.example""#) }),
            ("frame", { $0.clientData.set("crossOrigin", "true") }),
            ("domain", { $0.authenticatorData.rpIDHash = [UInt8](repeating: 0, count: 32) }),
            ("presence", { $0.authenticatorData.flags &= ~SimulatedPasskey.userPresent }),
            ("verification", { $0.authenticatorData.flags &= ~SimulatedPasskey.userVerified }),
            ("backup state", { $0.authenticatorData.flags &= ~SimulatedPasskey.backupEligible }),
            ("statement", { $0.changeStatement = { $0 = [(.text("sig"), .bytes([1]))] } }),
            ("identifier", { $0.authenticatorData.credential?.id = [UInt8](repeating: 7, count: 1_024) }),
            ("short identifier", { $0.authenticatorData.credential?.id = [UInt8](repeating: 7, count: 15) }),
        ]

        @Test func `a wrong part of a registration is 401, and makes no account`() async throws {
            let bench = try await AccountEdge.start()
            let player = try Player(at: bench.gateway)
            let proof = PlayerProof.assertion(try await bench.apple.enrolledDevice(at: bench.gateway))
            var texts: Set<String> = []
            for (name, change) in Self.wrongMakes {
                let challenge = try Player.options(await player.creationOptions(showing: proof))
                let answer = try await player.register(
                    player.registration(over: challenge) { change(&$0) }, showing: proof)
                #expect(answer.status == 401 && answer.code == "passkey_rejected", "\(name): \(answer)")
                texts.insert(answer.text.replacing(answer.requestID ?? "", with: ""))
            }
            #expect(texts.count == 1, "\(texts)")
            // A challenge of another device.
            let other = PlayerProof.assertion(try await bench.apple.enrolledDevice(at: bench.gateway))
            let challenge = try Player.options(await player.creationOptions(showing: proof))
            let body = try player.registration(over: challenge)
            for shown in [other, .nothing] {
                expectRefusal(try await player.register(body, showing: shown), 401, "passkey_rejected")
            }
            expectSuccess(try await player.register(body, showing: proof))
            expectRefusal(try await player.register(body, showing: proof), 401, "passkey_rejected")
        }

        @Test func `an operator is told which part was wrong`() async throws {
            let folder = try TemporaryDirectory()
            let bench = try await AccountEdge.start { $0.setting("AUDIT_LOG_PATH", folder.file("audit.log")) }
            var player = try await bench.player()
            let parts = [
                "origin": "the page or app is one of PASSKEY_ORIGINS", "domain": "the passkey is for this RP ID",
                "backup state": "only a passkey that may be backed up is",
            ]
            for (name, change) in Self.wrongUses {
                guard let title = parts[name] else { continue }
                let challenge = try Player.options(await player.requestOptions())
                let answer = try await player.authenticate(player.authentication(over: challenge) { change(&$0) })
                let output = try await GatewayProcess.run(
                    ["explain", try #require(answer.requestID)], bench.gateway.settings)
                #expect(output.ending == .exited(0) && output.outputText.contains("FAILED      \(title)"), "\(output)")
            }
        }

        // MARK: What isn't a credential

        @Test func `a body that isn't a credential is 400 and names what is missing`() async throws {
            let bench = try await AccountEdge.start()
            var player = try await bench.player()
            let challenge = try Player.options(await player.requestOptions())
            let good = try player.authentication(over: challenge)
            let bare = #"{"id":"AAAA","credentialId":"AAAA","challenge":"AAAA","publicKey":"AAAA","signature":"AAAA"}"#
            let cases: [(String, String)] = [
                (bare, "response.clientDataJSON is missing"), ("{}", "response is missing"),
                ("", "response is missing"), ("[]", "not a JSON object"), ("{", "not a JSON object"),
                (#"{"response":{}}"#, "id is missing"), (#"{"id":"","response":{}}"#, "id is not base64url"),
                (#"{"id":"*","response":{}}"#, "id is not base64url"),
                (#"{"id":"AAAA","type":"password","response":{}}"#, "type is not public-key"),
                (#"{"id":"AAAA","response":{}}"#, "response.clientDataJSON is missing"),
                (#"{"id":"AAAA","response":{"clientDataJSON":1}}"#, "response.clientDataJSON is missing"),
                (#"{"id":"AAAA","response":{"clientDataJSON":"*"}}"#, "response.clientDataJSON is not base64url"),
                (#"{"id":"AAAA","response":{"clientDataJSON":"e30"}}"#, "response.authenticatorData is missing"),
                (
                    #"{"id":"AAAA","response":{"clientDataJSON":"e30","authenticatorData":"AAAA"}}"#,
                    "response.signature is missing"
                ),
                (good.replacing("clientDataJSON", with: "x"), "response.clientDataJSON is missing"),
                (#"{"id":"AAAA","# + good.dropFirst(), "not a JSON object"),
            ]
            for (body, problem) in cases {
                let answer = try await player.authenticate(body)
                expectRefusal(answer, 400, "invalid_request")
                #expect(answer.field("error_description")?.contains(problem) == true, "\(body): \(answer)")
            }
            for body in ["", "{}", #"{"dpop_jkt":""}"#, #"{"dpop_jkt":"AAAA"}"#, #"{"dpop_jkt":1}"#, "x"] {
                let answer = try await player.request("POST", "/api/auth/passkey/authenticate/options", body)
                expectRefusal(answer, 400, "invalid_request")
            }
            expectSuccess(try await player.authenticate(good))
        }

        @Test func `CBOR that is too deep or too long is 400, and a body that is too large 413`() async throws {
            let bench = try await AccountEdge.start { $0.setting("MAX_BODY_BYTES", 65_536) }
            let player = try Player(at: bench.gateway)
            let proof = PlayerProof.assertion(try await bench.apple.enrolledDevice(at: bench.gateway))
            let deep = (0..<8).reduce(CBORItem.map([])) { item, _ in .array([item]) }
            let changes: [(String, MakeChange)] = [
                ("deep", { $0.changeEntries = { $0[1].1 = deep } }),
                (
                    "long",
                    {
                        $0.changeEntries = {
                            $0[1].1 = .map([(.text("x"), .bytes([UInt8](repeating: 0, count: 16_384)))])
                        }
                    }
                ),
                ("behind", { $0.changeObject = { $0.append(0) } }),
                ("cut", { $0.changeObject = { $0.removeLast() } }),
                ("behind the data", { $0.authenticatorData.changeBytes = { $0.append(0) } }),
                ("no map", { $0.changeObject = { $0 = [0x80] } }),
                ("client data", { $0.clientData.changeText = { $0 = Array("[]".utf8) } }),
            ]
            for (name, change) in changes {
                let challenge = try Player.options(await player.creationOptions(showing: proof))
                let answer = try await player.register(
                    player.registration(over: challenge) { change(&$0) }, showing: proof)
                #expect(answer.status == 400 && answer.code == "invalid_request", "\(name): \(answer)")
            }
            let large = "{\"x\":\"" + String(repeating: "x", count: 65_536) + "\"}"
            for path in [
                "passkey/register/options", "passkey/register", "passkey/authenticate/options", "passkey/authenticate",
                "device/options", "device",
            ] {
                expectRefusal(try await player.request("POST", "/api/auth/" + path, large), 413, "body_too_large")
            }
        }

        @Test func `a label has at most 64 bytes, no control characters, and is the player's own`() async throws {
            let bench = try await AccountEdge.start()
            let proof = PlayerProof.assertion(try await bench.apple.enrolledDevice(at: bench.gateway))
            let player = try Player(at: bench.gateway)
            let hidden = [#""a\u0000""#, #""\u001b[31m""#, "\"a\u{7F}\"", "\"\u{85}\"", "\"\u{202E}\"", "\"\u{2066}\""]
            for label in ["\"" + String(repeating: "x", count: 65) + "\"", "1", "{}"] + hidden {
                let challenge = try Player.options(await player.creationOptions(showing: proof))
                let body = try player.registration(over: challenge, more: #","label":\#(label)"#)
                expectRefusal(try await player.register(body, showing: proof), 400, "invalid_request")
            }
            let words = "<b>" + String(repeating: "é", count: 30)
            var owner = try Player(at: bench.gateway)
            try await owner.signUp(showing: proof, label: words)
            try await owner.signIn()
            #expect(try await owner.belongings().labels == [words])
            let output = try await bench.gateway.stop()
            #expect(!output.errorText.contains("<b>") && !output.outputText.contains("<b>"))
        }

        // MARK: Who asks

        @Test func `what an account's player does needs the token, and for changes a fresh passkey`() async throws {
            let bench = try await AccountEdge.start()
            var player = try await bench.signedIn()
            let others = try await bench.signedIn()
            let device = try await bench.apple.enrolledDevice(at: bench.gateway)
            let requests = [
                ("GET", "devices"), ("POST", "device/options"), ("POST", "device"), ("DELETE", "account"),
                ("DELETE", "passkey/" + player.passkeyID), ("DELETE", Player.path(of: device)),
            ]
            for (method, path) in requests {
                let path = "/api/auth/" + path
                expectRefusal(try await player.request(method, path), 401, "app_auth_required")
                let shown = try await player.request(method, path, showing: .assertion(device))
                expectRefusal(shown, 401, "fresh_passkey_required")
            }
            for (method, path) in requests where method == "DELETE" {
                expectRefusal(try await player.ask(method, "/api/auth/" + path), 401, "fresh_passkey_required")
            }
            // Of another account, and for another key.
            var stranger = others
            let foreign = try await stranger.freshPasskey()
            let answer = try await player.ask("DELETE", "/api/auth/account", #"{"passkey":\#(foreign)}"#)
            expectRefusal(answer, 401, "passkey_rejected")
            var elsewhere = try player.onAnotherDevice()
            let stolen = try await elsewhere.freshPasskey()
            let other = try await player.ask("DELETE", "/api/auth/account", #"{"passkey":\#(stolen)}"#)
            expectRefusal(other, 401, "passkey_rejected")
            expectRefusal(try await player.delete("passkey/" + others.passkeyID), 404, "not_found")
            expectRefusal(try await player.delete("passkey/AAAA"), 404, "not_found")
            expectRefusal(try await player.delete("passkey/*"), 404, "not_found")
            #expect(try await player.belongings().passkeys == [player.passkeyID])
        }

        @Test func `a sign-in needs a proof of its own`() async throws {
            let bench = try await AccountEdge.start()
            var player = try await bench.player()
            let path = "/api/auth/passkey/authenticate"
            let challenge = try Player.options(await player.requestOptions())
            let body = try player.authentication(over: challenge)
            expectRefusal(try await player.request("POST", path, body), 400, "invalid_dpop_proof")
            let elsewhere = try player.holder.proof("POST", player.holder.url("/token"))
            expectRefusal(try await player.authenticate(body, proof: elsewhere), 400, "invalid_dpop_proof")
            let proof = try player.holder.proof("POST", player.holder.url(path))
            expectSuccess(try await player.authenticate(body, proof: proof))
            let again = try player.authentication(over: Player.options(await player.requestOptions()))
            expectRefusal(try await player.authenticate(again, proof: proof), 400, "invalid_dpop_proof")
        }
    }
}
