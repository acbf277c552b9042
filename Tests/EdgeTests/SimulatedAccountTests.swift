import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// `portcullis-sim account`, against the real binary.
    @Suite struct SimulatedAccountTests {
        private struct Stage {
            let edge: Edge
            let directory: TemporaryDirectory
            private let certificates: DevCertificates

            init() async throws {
                let (certificates, directory) = (try await DevCertificates.shared(), try TemporaryDirectory())
                let port = try FrontProxy.freePort()
                try await ChildProcess.check(
                    Binaries.find("portcullis-sim"),
                    [
                        "authority", "--authority", directory.file("authority.json"), "--root",
                        directory.file("root.pem"),
                    ])
                edge = try await Edge.start {
                    $0.tls(certificates).setting("WS_PORT", port).setting("PASSKEY_RP_ID", "localhost")
                        .setting("PUBLIC_ORIGIN", "https://localhost:\(port)").setting("REQUIRE_APP_AUTH", true)
                        .setting("APPATTEST_TEAM_ID", "ABCDE12345").setting("APPATTEST_BUNDLE_ID", "com.example.mud")
                        .setting("APPATTEST_ROOT_CA_PATH", directory.file("root.pem"))
                        .setting("APPATTEST_ALLOW_CUSTOM_ROOT", true)
                        .setting("CONTROL_SOCKET_PATH", directory.file("control.sock"))
                }
                (self.certificates, self.directory) = (certificates, directory)
            }

            /// - Parameter player: names the authenticator's file.
            func run(_ command: String, _ arguments: [String] = [], by player: String) async throws -> ChildOutput {
                try await ChildProcess.run(
                    Binaries.find("portcullis-sim"),
                    [
                        "account", command, "--gateway", "https://localhost:\(edge.gateway.port)", "--ca",
                        certificates.serverCA, "--authenticator", directory.file(player),
                    ] + arguments)
            }

            func check(_ command: String, _ arguments: [String] = [], by player: String) async throws -> [String] {
                let output = try await run(command, arguments, by: player)
                #expect(output.ending == .exited(0), "\(output)")
                return output.outputLines
            }

            func device(_ name: String) -> [String] {
                ["--device", directory.file(name), "--authority", directory.file("authority.json")]
            }
        }

        @Test func `a player signs up, signs in and plays`() async throws {
            let stage = try await Stage()
            let made = try await stage.check(
                "sign-up", ["--label", "my phone"] + stage.device("phone.json"), by: "one")
            #expect(made.count == 2 && made[0].hasPrefix("account ") && made[1].hasPrefix("passkey "))
            let token = try await stage.check("sign-in", by: "one")
            #expect(token.first?.split(separator: ".").count == 3)
            let play = try await stage.run("connect", ["--send", "look"], by: "one")
            #expect(play.ending == .exited(0) && play.outputText.contains("look"), "\(play)")
            let listed = try await stage.check("devices", by: "one")
            #expect(listed.count == 2 && listed[0] == made[0])
            #expect(listed[1].hasPrefix(made[1] + " ") && listed[1].hasSuffix(#" "my phone""#))
        }

        @Test func `a device joins and leaves, and a second passkey outlives the first`() async throws {
            let stage = try await Stage()
            let first = try await stage.check("sign-up", stage.device("phone.json"), by: "one")
            let joined = try await stage.check("join", ["--label", "phone"] + stage.device("phone.json"), by: "one")
            let key = try #require(joined.first?.split(separator: " ").last)
            #expect(try await stage.check("devices", by: "one").contains { $0.hasPrefix("device \(key) ") })
            _ = try await stage.check("remove", ["--device-key", String(key)], by: "one")
            let second = try await stage.check("add-passkey", ["--into", stage.directory.file("two")], by: "one")
            #expect(second[0] == first[0] && second[1] != first[1])
            let id = try #require(first[1].split(separator: " ").last)
            _ = try await stage.check("remove", ["--passkey", String(id)], by: "one")
            let gone = try await stage.run("sign-in", by: "one")
            #expect(gone.ending == .exited(1) && gone.errorText.contains("sign-up makes one"), "\(gone)")
            #expect(try await stage.check("devices", by: "two").count == 2)
            _ = try await stage.check("remove", ["--account"], by: "two")
            let ended = try await stage.run("sign-in", by: "two")
            #expect(ended.ending == .exited(1) && ended.errorText.contains("404 unknown_credential"), "\(ended)")
        }

        @Test func `a player stays signed in from command to command, until the log-out`() async throws {
            let stage = try await Stage()
            let device = stage.device("phone.json")
            // Tokens are bound to the device's key. A passkey that isn't there can't be chosen.
            let (pin, noPasskey) = (["--pin", "2468"] + device, ["--with", "AQ"])
            func state(_ arguments: [String]) async throws -> [String] {
                try await stage.check("state", arguments, by: "one")
            }
            _ = try await stage.check("sign-up", device, by: "one")
            #expect(try await state(pin) == ["needs sign-in: notSignedIn"])
            _ = try await stage.check("sign-in", pin, by: "one")
            #expect(try await state(pin) == ["authenticated"])
            #expect(try await state(device) == ["needs sign-in: noUnlock"])
            for _ in 0..<2 { _ = try await stage.check("devices", pin + noPasskey, by: "one") }
            let wrong = try await stage.run("devices", ["--pin", "1357"] + device, by: "one")
            #expect(wrong.ending == .exited(1) && wrong.errorText.contains("attemptsLeft: 4"), "\(wrong)")
            _ = try await stage.check("join", pin, by: "one")
            _ = try await stage.check("log-out", pin + noPasskey, by: "one")
            #expect(try await state(pin) == ["needs sign-in: loggedOut"])
            _ = try await stage.check("sign-in", ["--by-device"] + pin + noPasskey, by: "one")
            _ = try await stage.check("log-out", ["--everywhere"] + pin + noPasskey, by: "one")
            #expect(try await state(pin) == ["needs sign-in: loggedOut"])
        }

        @Test func `an operator's ticket for the account recovers it`() async throws {
            let stage = try await Stage()
            let made = try await stage.check("sign-up", stage.device("phone.json"), by: "one")
            let account = try #require(made[0].split(separator: " ").last)
            let output = try await GatewayProcess.run(
                ["ticket", "--socket", stage.directory.file("control.sock"), "--account", String(account)])
            let ticket = try #require(output.outputLines.first, "\(output)")
            let back = try await stage.check("recover", ["--ticket", ticket], by: "two")
            #expect(back[0] == made[0] && back[1] != made[1])
            _ = try await stage.check("sign-in", by: "two")
            let again = try await stage.run("recover", ["--ticket", ticket], by: "three")
            #expect(again.ending == .exited(1) && again.errorText.contains("401 invalid_ticket"), "\(again)")
        }

        @Test func `what is missing is said`() async throws {
            let stage = try await Stage()
            let proof = try await stage.run("sign-up", ["--open"], by: "one")
            #expect(proof.ending == .exited(1) && proof.errorText.contains("401 app_auth_required"), "\(proof)")
            let device = try await stage.run("sign-up", by: "one")
            #expect(device.ending == .exited(1) && device.errorText.contains("--dev-token"), "\(device)")
            let passkey = try await stage.run("sign-in", by: "one")
            #expect(passkey.ending == .exited(1) && passkey.errorText.contains("no such passkey"), "\(passkey)")
        }
    }
}
