import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// The commands of `portcullis-sim` that use access tokens, against the real binary.
    @Suite struct SimulatedTokenTests {
        private struct Stage {
            let edge: Edge
            let directory: TemporaryDirectory
            private let certificates: DevCertificates

            init(_ change: (GatewaySettings) -> GatewaySettings = { $0 }) async throws {
                let certificates = try await DevCertificates.shared()
                let directory = try TemporaryDirectory()
                try await ChildProcess.check(
                    Binaries.find("portcullis-sim"),
                    [
                        "authority", "--authority", directory.file("authority.json"), "--root",
                        directory.file("root.pem"),
                    ])
                edge = try await Edge.start {
                    change(
                        $0.tls(certificates).setting("REQUIRE_APP_AUTH", true)
                            .setting("APPATTEST_TEAM_ID", "ABCDE12345")
                            .setting("APPATTEST_BUNDLE_ID", "com.example.mud")
                            .setting("APPATTEST_ROOT_CA_PATH", directory.file("root.pem"))
                            .setting("APPATTEST_ALLOW_CUSTOM_ROOT", true)
                            .setting("CHALLENGES_PER_MINUTE", 1_000_000))
                }
                (self.certificates, self.directory) = (certificates, directory)
            }

            func run(_ command: [String], _ arguments: [String]) async throws -> ChildOutput {
                try await ChildProcess.run(
                    Binaries.find("portcullis-sim"),
                    command + ["--gateway", "https://localhost:\(edge.gateway.port)", "--ca", certificates.serverCA]
                        + arguments)
            }

            var device: [String] { ["--device", directory.file("device.json")] }
            var authority: [String] { ["--authority", directory.file("authority.json")] }
        }

        @Test func `a device registers, gets a token and plays with it`() async throws {
            let stage = try await Stage()
            let token = try await stage.run(["device", "token"], stage.device + stage.authority)
            #expect(token.ending == .exited(0), "\(token)")
            #expect(token.outputText.split(separator: ".").count == 3)
            let play = try await stage.run(["device", "connect"], ["--token", "--send", "look"] + stage.device)
            #expect(play.ending == .exited(0) && play.outputText.contains("look"), "\(play)")
        }

        @Test func `a device follows a demand for a nonce`() async throws {
            let stage = try await Stage { $0.setting("DPOP_NONCE", "always") }
            let play = try await stage.run(
                ["device", "connect"], ["--token", "--send", "look"] + stage.device + stage.authority)
            #expect(play.ending == .exited(0) && play.outputText.contains("look"), "\(play)")
        }

        @Test func `a device that isn't registered is told how to register`() async throws {
            let stage = try await Stage()
            let token = try await stage.run(["device", "token"], stage.device)
            #expect(token.ending == .exited(1))
            #expect(
                token.errorText.contains("registration required") && token.errorText.contains("--authority"), "\(token)"
            )
        }

        @Test func `a refused connection names its request as the audit log does`() async throws {
            let stage = try await Stage()
            let play = try await stage.run(["device", "connect"], ["--send", "look"])
            #expect(play.ending == .exited(1), "\(play)")
            let id = try #require(
                play.errorText.firstMatch(of: /401 app_auth_required \(request ([0-9a-f]{16})\)/), "\(play)"
            ).output.1
            let lines = try await stage.edge.gateway.stop().outputLines
            #expect(lines.contains { $0.contains(id) && $0.contains("app_auth_required") }, "\(lines)")
        }

        /// A device that was registered in the other dialect gets tokens too.
        @Test func `a device of the other dialect gets a token without registering again`() async throws {
            let stage = try await Stage()
            let registered = try await stage.run(["device", "register"], stage.device + stage.authority)
            #expect(registered.ending == .exited(0), "\(registered)")
            let token = try await stage.run(["device", "token"], stage.device)
            #expect(token.ending == .exited(0), "\(token)")
        }

        /// Any resource of the gateway will do: `/health` doesn't look at the token.
        @Test func `concurrent requests share one token`() async throws {
            let stage = try await Stage()
            let url = "https://localhost:\(stage.edge.gateway.port)/health"
            let answer = try await stage.run(
                ["device", "request"], ["GET", url, "--times", "8"] + stage.device + stage.authority)
            #expect(answer.ending == .exited(0), "\(answer)")
            #expect(answer.outputText.components(separatedBy: "healthy").count == 9)
            let lines = try await stage.edge.gateway.stop().outputLines
            #expect(lines.count { $0.contains("\"event\":\"token\"") && $0.contains("admitted") } == 1)
        }

        @Test(arguments: [
            ["--scenario", "token"], ["--scenario", "connect", "--token"], ["--scenario", "echo", "--token"],
        ])
        func `load sessions with tokens are answered`(arguments: [String]) async throws {
            let stage = try await Stage { $0.setting("FAILED_UPGRADES_PER_MINUTE", 50_000) }
            let result = try await stage.run(
                ["load"],
                ["--clients", "4", "--devices", "2", "--seconds", "0.5", "--sources", "0", "--quiet", "--json"]
                    + arguments + stage.authority)
            #expect(result.ending == .exited(0), "\(result)")
        }
    }
}
