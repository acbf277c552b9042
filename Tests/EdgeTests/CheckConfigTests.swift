import EdgeTestKit
import Testing

extension EdgeTests {
    /// What `portcullis check-config` prints, and its probe.
    @Suite struct CheckConfigTests {
        @Test func `only settings that differ from their defaults are shown, unless all are asked for`() async throws {
            let settings = GatewaySettings(targetPort: 1).setting("LOG_LEVEL", "info")
            let few = try await GatewayProcess.run(["check-config"], settings)
            #expect(few.ending == .exited(0) && few.outputText.contains("\nTN_PORT=1  # line "), "\(few)")
            #expect(!few.outputText.contains("LOG_LEVEL") && !few.outputText.contains("  # default"), "\(few)")
            let count = try #require(few.outputText.firstMatch(of: /\n# (\d+) settings have their defaults/)?.1)
            let all = try await GatewayProcess.run(["check-config", "--all"], settings)
            #expect(
                all.outputText.contains("\nLOG_LEVEL=info  # line ") && all.outputText.contains("  # default"), "\(all)"
            )
            // The line that counts stands for those.
            #expect(all.outputLines.count == few.outputLines.count - 1 + (Int(count) ?? 0), "\(few)\n\(all)")
        }

        @Test func `a probe of a running gateway finds what clients find`() async throws {
            let certificates = try await DevCertificates.shared()
            let edge = try await Edge.start { $0.tls(certificates) }
            let settings = edge.gateway.settings.setting("WS_PORT", edge.gateway.port)
                .setting("PUBLIC_ORIGIN", "https://localhost:\(edge.gateway.port)")
            let probed = try await GatewayProcess.run(["check-config", "--probe"], settings)
            #expect(probed.ending == .exited(0) && !probed.outputText.contains("failed"), "\(probed)")
            for line in [
                "probe: ok: TARGET_HOST: 127.0.0.1:\(edge.target.port) answers after ",
                "probe: ok: PUBLIC_ORIGIN: localhost is ", "probe: ok: TLS_CERT_PATH: the certificate is for localhost",
                "probe: ok: PUBLIC_ORIGIN: its port is WS_PORT, ",
                "probe: ok: TLS_CERT_PATH: localhost:\(edge.gateway.port) shows this certificate's key",
            ] {
                #expect(probed.outputText.contains(line), "\(line): \(probed)")
            }
            let other = settings.setting("TLS_CERT_PATH", certificates.otherServer.certificate)
                .setting("TLS_KEY_PATH", certificates.otherServer.key)
            let compared = try await GatewayProcess.run(["check-config", "--probe"], other)
            #expect(compared.outputText.contains("shows another key"), "\(compared)")
            try await edge.expectHealthy()
        }

        @Test func `a probe that fails ends with 1, and wrong settings with 78 as ever`() async throws {
            let target = try await TargetServer.start(.echo)
            await target.stopListening()
            let settings = GatewaySettings(targetPort: target.port)
            let failed = try await GatewayProcess.run(["check-config", "--probe"], settings)
            #expect(failed.ending == .exited(1), "\(failed)")
            #expect(failed.outputText.contains("probe: failed: TARGET_HOST: 127.0.0.1:\(target.port) doesn't answer"))
            #expect(try await GatewayProcess.run(["check-config"], settings).ending == .exited(0))
            let wrong = try await GatewayProcess.run(["check-config", "--probe"], settings.setting("LOG_LEVEL", "x"))
            #expect(wrong.ending == .exited(78) && !wrong.outputText.contains("probe"), "\(wrong)")
        }

        @Test func `the own port as the target is warned of`() async throws {
            let settings = GatewaySettings(targetPort: 6_203).setting("WS_PORT", 6_203)
            let checked = try await GatewayProcess.run(["check-config"], settings)
            #expect(checked.ending == .exited(0), "\(checked)")
            #expect(
                checked.errorText.contains("warning: TARGET_HOST: leads to port 6203 of this machine, which is WS_PORT")
            )
        }
    }
}
