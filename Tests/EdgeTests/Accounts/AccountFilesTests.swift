import DeviceSimulation
import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// What platforms and pages of other origins ask for, and what isn't there without accounts.
    @Suite struct AccountFilesTests {
        private static let endpoints = [
            ("POST", "/api/auth/passkey/register/options"), ("POST", "/api/auth/passkey/register"),
            ("POST", "/api/auth/passkey/authenticate/options"), ("POST", "/api/auth/passkey/authenticate"),
            ("GET", "/api/auth/devices"), ("POST", "/api/auth/device/options"), ("POST", "/api/auth/device"),
            ("DELETE", "/api/auth/passkey/AAAA"), ("DELETE", "/api/auth/device/AAAA"), ("DELETE", "/api/auth/account"),
            ("POST", "/api/auth/token/validate"), ("POST", "/api/auth/logout"),
            ("POST", "/api/auth/device/authenticate/options"), ("POST", "/api/auth/device/authenticate"),
        ]
        private static let files = [
            "/.well-known/apple-app-site-association", "/.well-known/assetlinks.json", "/.well-known/webauthn",
        ]

        @Test func `without accounts nothing of them is there`() async throws {
            let apple = try SimulatedApple()
            let edge = try await Edge.start { $0.appAttest(apple).setting("PUBLIC_ORIGIN", "http://localhost") }
            let player = try Player(at: edge.gateway)
            for (method, path) in Self.endpoints {
                expectRefusal(try await player.request(method, path), 404, "not_found")
                expectRefusal(try await player.request("OPTIONS", path), 404, "not_found")
            }
            for path in Self.files { expectRefusal(try await edge.gateway.get(path), 404, "not_found") }
        }

        @Test func `settings that passkeys can't work with refuse the start, and open sign-up is warned of`()
            async throws
        {
            let directory = try TemporaryDirectory()
            let good = GatewaySettings(targetPort: 1).setting("PUBLIC_ORIGIN", "https://mud.example").setting(
                "PASSKEY_RP_ID", "mud.example"
            ).setting("ATTESTED_KEYS_PATH", directory.file("keys.sqlite"))
            try directory.write("# none yet", to: "packed.pem")
            let wrong: [(GatewaySettings, String)] = [
                (good.removing("PUBLIC_ORIGIN"), "PASSKEY_RP_ID"),
                (good.setting("PASSKEY_RP_ID", "192.0.2.1"), "PASSKEY_RP_ID"),
                (good.setting("PASSKEY_RP_ID", "2001:db8::1"), "PASSKEY_RP_ID"),
                (good.setting("PASSKEY_RP_ID", "https://mud.example"), "PASSKEY_RP_ID"),
                (good.removing("PASSKEY_RP_ID").setting("ACCOUNT_SIGN_UP", "open"), "ACCOUNT_SIGN_UP"),
                (good.setting("PASSKEY_ANDROID_APPS", "org.example.mud:AB"), "PASSKEY_ANDROID_APPS"),
                (good.setting("PASSKEY_ATTESTATION", "required:/nowhere"), "PASSKEY_ATTESTATION"),
                (good.setting("PASSKEY_ATTESTATION", "required:" + directory.path), "PASSKEY_ATTESTATION"),
            ]
            for (settings, name) in wrong {
                let checked = try await GatewayProcess.run(["check-config"], settings)
                #expect(checked.ending == .exited(78), "\(name): \(checked)")
                #expect((checked.errorText + checked.outputText).contains(name), "\(checked)")
            }
            let open = try await GatewayProcess.run(["check-config"], good.setting("ACCOUNT_SIGN_UP", "open"))
            #expect(open.ending == .exited(0), "\(open)")
            #expect(open.errorText.contains("warning: ACCOUNT_SIGN_UP: ") && open.errorText.contains("admit=passkey"))
            let named = good.setting("ACCOUNT_SIGN_UP", "open").setting("MUD_ROUTES", "a=127.0.0.1:1,admit=passkey")
            let checked = try await GatewayProcess.run(["check-config"], named)
            #expect(checked.ending == .exited(0) && !checked.errorText.contains("has no route with"), "\(checked)")
        }

        @Test func `each endpoint has its methods, and there are no others`() async throws {
            let bench = try await AccountEdge.start()
            let player = try Player(at: bench.gateway)
            for (method, path) in Self.endpoints {
                let options = try await player.request("OPTIONS", path)
                #expect(options.status == 204 && options["allow"] == "\(method), OPTIONS", "\(options)")
                let wrong = try await player.request("PUT", path)
                expectRefusal(wrong, 405, "method_not_allowed")
                #expect(wrong["allow"] == "\(method), OPTIONS")
            }
            for path in [
                "", "passkey", "passkey/", "passkey/a/b", "device/a/b", "account/x", "accounts", "token",
            ] {
                expectRefusal(try await player.request("GET", "/api/auth/" + path), 404, "not_found")
            }
        }

        @Test func `platforms find the apps and pages of the domain`() async throws {
            let bench = try await AccountEdge.start {
                $0.setting("PASSKEY_ORIGINS", "https://localhost,https://play.example").setting(
                    "PASSKEY_ANDROID_APPS", "org.example.mud:" + String(repeating: "AB", count: 32))
            }
            let print = Array(repeating: "AB", count: 32).joined(separator: ":")
            let expected = [
                #"{"webcredentials":{"apps":["PORTCULL15.com.example.mudclient"]}}"#,
                #"[{"relation":["delegate_permission/common.handle_all_urls","delegate_permission/common.get_login_creds"]"#
                    + #","target":{"namespace":"android_app","package_name":"org.example.mud","#
                    + #""sha256_cert_fingerprints":["\#(print)"]}}]"#,
                #"{"origins":["https://localhost","https://play.example"]}"#,
            ]
            for (path, text) in zip(Self.files, expected) {
                let answer = try await bench.gateway.get(path)
                #expect(answer.status == 200 && answer.text == text, "\(answer)")
                #expect(answer["content-type"] == "application/json" && answer["location"] == nil)
                #expect(try await bench.gateway.get(path + "?v=1").text == text)
            }
            // The app on Android, by its exact signature.
            var player = try await bench.player()
            let origin = "android:apk-key-hash:" + PasskeyRequest.base64URL([UInt8](repeating: 0xAB, count: 32))
            for (origin, status) in [(origin, 200), (origin + "A", 401), ("android:apk-key-hash:AAAA", 401)] {
                let challenge = try Player.options(await player.requestOptions())
                let answer = try await player.authenticate(player.authentication(over: challenge, from: origin))
                #expect(answer.status == status, "\(origin): \(answer)")
            }
        }

        @Test func `pages of related origins may ask, and no others`() async throws {
            let bench = try await AccountEdge.start {
                $0.setting("PASSKEY_ORIGINS", "https://localhost,https://play.example")
            }
            let player = try Player(at: bench.gateway)
            let preflight =
                "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: content-type, dpop\r\n"
            for (method, path) in Self.endpoints {
                let related = "Origin: https://play.example\r\n"
                let answer = try await player.request("OPTIONS", path, fields: related + preflight)
                #expect(answer.status == 204 && answer["access-control-allow-origin"] == "https://play.example")
                #expect(answer["access-control-allow-methods"] == "\(method), OPTIONS")
                #expect(answer["access-control-allow-headers"] == "authorization, content-type, dpop")
                #expect(answer["vary"] == "Origin" && answer["access-control-allow-credentials"] == nil)
                // Refusals are told, too.
                let refused = try await player.request(method, path, fields: related)
                #expect(refused.status >= 400 && refused["access-control-allow-origin"] == "https://play.example")
                #expect(refused["access-control-expose-headers"] == "DPoP-Nonce, Retry-After, X-Refusal-Code")
                for origin in ["https://evil.example", "https://play.example.evil.example", "null", "http://localhost"]
                {
                    let fields = "Origin: \(origin)\r\n"
                    for method in ["OPTIONS", method] {
                        let answer = try await player.request(method, path, fields: fields + preflight)
                        #expect(answer["access-control-allow-origin"] == nil, "\(origin): \(answer)")
                    }
                }
            }
            // Those that are made before the endpoints, too.
            for (method, path) in [("PUT", "/api/auth/devices"), ("GET", "/api/auth/x"), ("X", "/api/auth/account")] {
                let answer = try await player.request(method, path, fields: "Origin: https://play.example\r\n")
                #expect(answer.status >= 400 && answer["access-control-allow-origin"] == "https://play.example")
            }
            for (method, path) in [("POST", "/token"), ("GET", "/health"), ("POST", "/ticket")] {
                let answer = try await player.request(method, path, fields: "Origin: https://play.example\r\n")
                #expect(answer["access-control-allow-origin"] == nil, "\(answer)")
            }
        }

        @Test func `a page of a related origin signs in and connects`() async throws {
            let bench = try await AccountEdge.start {
                $0.setting("PASSKEY_ORIGINS", "https://localhost,https://play.example")
            }
            var player = try await bench.player()
            let challenge = try Player.options(await player.requestOptions())
            let body = try player.authentication(over: challenge, from: "https://play.example")
            player.token = try await player.authenticate(body).field("accessToken")
            let socket = try await bench.gateway.open(player.handshake().adding("Origin", "https://play.example"))
            try await Edge.expectEcho(socket)
            let foreign = try player.handshake().adding("Origin", "https://evil.example")
            expectRefusal(try await bench.gateway.refusal(foreign), 403, "origin_refused")
        }

        @Test func `where an authenticator has to prove its model, only one of a known vendor does`() async throws {
            let directory = try TemporaryDirectory()
            // Another gateway's player: the vendor has to be known before the start.
            let first = try await AccountEdge.start()
            let player = try Player(at: first.gateway)
            try directory.write(player.vendorRootPEM, to: "packed.pem")
            let bench = try await AccountEdge.start { $0.setting("PASSKEY_ATTESTATION", "required:" + directory.path) }
            let proof = PlayerProof.assertion(try await bench.apple.enrolledDevice(at: bench.gateway))
            let (known, unknown) = (player.moved(to: bench.gateway), try Player(at: bench.gateway))
            let options = try await known.creationOptions(showing: proof)
            #expect(options.field("attestation") == "direct")
            func register(_ player: Player, _ format: SimulatedPasskey.Format) async throws -> ReceivedAnswer {
                let challenge = try Player.options(await player.creationOptions(showing: proof))
                return try await player.register(player.registration(over: challenge, format), showing: proof)
            }
            for format in [SimulatedPasskey.Format.none, .packedSelf, .apple, .other("tpm")] {
                expectRefusal(try await register(known, format), 401, "passkey_rejected")
            }
            expectRefusal(try await register(unknown, .packed), 401, "passkey_rejected")
            expectSuccess(try await register(known, .packed))
        }
    }
}
