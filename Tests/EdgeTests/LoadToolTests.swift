import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// Tests `portcullis-sim load` itself: its results are meaningful only if each of its scenarios carries every byte.
    @Suite struct LoadToolTests {
        @Test(arguments: [
            ["--scenario", "flood", "--window", "4"], ["--scenario", "flood", "--transport", "frames"],
            ["--scenario", "flood", "--transport", "frames", "--window", "4", "--burst", "--size", "70000"],
            ["--scenario", "echo", "--rate", "20", "--transport", "frames"], ["--scenario", "challenge"],
        ])
        func `the load tool reaches every kind of gateway`(arguments: [String]) async throws {
            let certificates = try await DevCertificates.shared()
            let apple = try SimulatedApple()
            let edge = try await Edge.start {
                $0.tls(certificates).appAttest(apple).setting("REQUIRE_APP_AUTH", false)
                    .setting("MAX_MESSAGE_BYTES", 100_000).setting("CHALLENGES_PER_MINUTE", 1_000_000)
            }
            let report = try await load("https://localhost:\(edge.gateway.port)", ca: certificates.serverCA, arguments)
            #expect(report.contains("answered") && !report.contains("error "))
        }

        @Test func `the load tool counts refusals by code and fails`() async throws {
            let certificates = try await DevCertificates.shared()
            let apple = try SimulatedApple()
            let edge = try await Edge.start {
                $0.tls(certificates).appAttest(apple).setting("FAILED_UPGRADES_PER_MINUTE", 1_000_000)
            }
            for transport in ["websocket", "frames"] {
                let result = try await ChildProcess.run(
                    Binaries.find("portcullis-sim"),
                    words("https://localhost:\(edge.gateway.port)", ca: certificates.serverCA)
                        + ["--scenario", "idle", "--transport", transport], within: .seconds(120))
                #expect(result.ending == .exited(1))
                #expect(result.outputText.contains("error refused_401_"), "\(result)")
            }
        }

        @Test func `a stream without WebSocket is echoed`() async throws {
            let target = try await TargetServer.start(.echo)
            let report = try await load(
                "http://127.0.0.1:\(target.port)", ca: nil, ["--scenario", "flood", "--transport", "stream"])
            #expect(report.contains("answered") && !report.contains("error "))
        }

        @Test func `players sign up by their devices, and sign in with their passkeys`() async throws {
            let (certificates, directory) = (try await DevCertificates.shared(), try TemporaryDirectory())
            let (authority, root) = (directory.file("authority.json"), directory.file("root.pem"))
            _ = try await ChildProcess.check(
                Binaries.find("portcullis-sim"), ["authority", "--authority", authority, "--root", root])
            let port = try FrontProxy.freePort()
            let origin = "https://localhost:\(port)"
            let edge = try await Edge.start {
                $0.tls(certificates).setting("WS_PORT", port)
                    .setting("APPATTEST_TEAM_ID", "ABCDE12345").setting("APPATTEST_BUNDLE_ID", "com.example.mud")
                    .setting("APPATTEST_ROOT_CA_PATH", root).setting("APPATTEST_ALLOW_CUSTOM_ROOT", "true")
                    .setting("PUBLIC_ORIGIN", origin).setting("PASSKEY_RP_ID", "localhost")
                    .setting("CHALLENGES_PER_MINUTE", 1_000_000)
            }
            let report = try await load(
                origin, ca: certificates.serverCA,
                ["--scenario", "passkey", "--authority", authority, "--devices", "4"])
            #expect(report.contains("answered") && !report.contains("error "), "\(report)")
            let line = try await edge.gateway.auditLine("\"event\":\"account\"", "sign-in, token ")
            #expect(line.contains("\"way\":\"passkey\""))
        }

        /// A measured time in which the machine answered nothing is followed by a longer one.
        ///
        /// - Returns: the names of errors, and whether messages were answered.
        private func load(_ gateway: String, ca: String?, _ arguments: [String]) async throws -> String {
            var report = ""
            for seconds in ["0.3", "3", "30"] {
                report = try await measure(words(gateway, ca: ca, seconds: seconds) + arguments)
                if report != "silent" { break }
            }
            return report
        }

        private func measure(_ arguments: [String]) async throws -> String {
            let result = try await ChildProcess.check(Binaries.find("portcullis-sim"), arguments + ["--json"])
            let fields = try #require(
                JSONSerialization.jsonObject(with: Data(result.standardOutput)) as? [String: Any])
            let traffic = try #require(fields["traffic"] as? [String: Any])
            let errors = (fields["errors"] as? [String: Int] ?? ["": 0]).map { "error \($0.key)" }
            return (errors + [(traffic["messagesAnswered"] as? Int ?? 0) > 0 ? "answered" : "silent"]).joined()
        }

        private func words(_ gateway: String, ca: String?, seconds: String = "0.3") -> [String] {
            [
                "load", "--gateway", gateway, "--clients", "4", "--seconds", seconds, "--warm-up", "0.1", "--sources",
                "0", "--quiet",
            ]
                + (ca.map { ["--ca", $0] } ?? [])
        }
    }
}
