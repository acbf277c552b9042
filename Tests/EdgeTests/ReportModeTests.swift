import EdgeTestKit
import Foundation
import Testing

extension EdgeTests {
    /// `REQUIRE_APP_AUTH=report` with real clients over TLS, and its end while the gateway runs.
    @Suite struct ReportModeTests {
        private let apple: SimulatedApple
        private let directory: TemporaryDirectory

        init() throws {
            apple = try SimulatedApple()
            directory = try TemporaryDirectory()
        }

        private static func date(in seconds: Int) -> String {
            (Date.now + TimeInterval(seconds)).formatted(.iso8601)
        }

        private func settings(_ target: TargetServer, until date: String) async throws -> GatewaySettings {
            GatewaySettings(targetPort: target.port).tls(try await DevCertificates.shared()).appAttest(apple)
                .setting("REQUIRE_APP_AUTH", "report").setting("REPORT_UNTIL", date)
                .setting("ATTESTED_KEYS_PATH", directory.file("keys.sqlite"))
        }

        private func start(until date: String) async throws -> (Edge, TLSChoice) {
            let target = try await TargetServer.start(.echo)
            let gateway = try await GatewayProcess.start(try await settings(target, until: date), in: directory)
            let certificates = try await DevCertificates.shared()
            return (Edge(target: target, gateway: gateway), TLSChoice(trustedCA: certificates.serverCA))
        }

        @Test func `clients without valid app authentication are admitted and recorded`() async throws {
            let (edge, tls) = try await start(until: Self.date(in: 86_400))
            try await edge.gateway.errorLine("WARNING", "REQUIRE_APP_AUTH: is report: until")
            let health = try await edge.gateway.get("/health")
            #expect(health.status == 200 && health.text.contains("REQUIRE_APP_AUTH is report"), "\(health)")

            try await Edge.expectEcho(edge.gateway.open(tls: tls))
            let bare = try await edge.gateway.auditLine("\"reported\"", "app_auth_required")
            #expect(bare.contains("\"way\":\"none\"") && bare.contains("\"check\":\"credential\""), "\(bare)")
            let stranger = try apple.device()
            try await Edge.expectEcho(edge.gateway.open(stranger.handshake(at: edge.gateway), tls: tls))
            let unknown = try await edge.gateway.auditLine("\"reported\"", "unknown_key")
            #expect(unknown.contains("\"way\":\"app_attest\"") && unknown.contains(stranger.keyID), "\(unknown)")

            let device = try await apple.enrolledDevice(at: edge.gateway)
            try await Edge.expectEcho(edge.gateway.open(device.handshake(at: edge.gateway), tls: tls))
            try await edge.gateway.auditLine("\"admitted\"", "\"upgrade\"", device.keyID)
            // What the operator has decided about a device stays.
            #expect(try await edge.gateway.keys("revoke", device.keyID).ending == .exited(0))
            let revoked = try await device.handshake(at: edge.gateway)
            expectRefusal(try await edge.gateway.refusal(revoked, tls: tls), 403, "key_revoked")
            expectRefusal(
                try await edge.gateway.refusal(Handshake().setting("Origin", "https://evil.example"), tls: tls), 403,
                "origin_refused")
        }

        @Test func `the mode ends by itself on its date, and its sessions with it`() async throws {
            let (edge, tls) = try await start(until: Self.date(in: 86_400))
            let device = try await apple.enrolledDevice(at: edge.gateway)
            let proven = try await edge.gateway.open(device.handshake(at: edge.gateway), tls: tls)
            try await Edge.expectEcho(proven)
            let bare = try await edge.gateway.open(tls: tls)
            try await Edge.expectEcho(bare)

            var values = edge.gateway.settings.values
            values["REPORT_UNTIL"] = Self.date(in: 8)
            let lines = values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)\n" }
            _ = try directory.write(lines.joined(), to: "portcullis.env")
            edge.gateway.child.signal(SIGHUP)
            try await edge.gateway.errorLine("setting changed", "REPORT_UNTIL")
            try await Edge.expectEcho(bare)

            let close = try await bare.closedByServer(within: .seconds(60))
            #expect(close.code == 1008, "\(close)")
            expectRefusal(try await edge.gateway.refusal(Handshake(), tls: tls), 401, "app_auth_required")
            try await edge.gateway.errorLine("WARNING", "report ended at", within: .seconds(60))
            #expect(try await edge.gateway.get("/health").text.contains("report ended at"))
            try await edge.gateway.auditLine("\"session\"", "\"ended\"", "session_expired")
            try await Edge.expectEcho(proven)
        }

        @Test func `after the date the gateway starts and refuses`() async throws {
            let (edge, tls) = try await start(until: Self.date(in: -60))
            try await edge.gateway.errorLine("WARNING", "REPORT_UNTIL: is in the past")
            expectRefusal(try await edge.gateway.refusal(Handshake(), tls: tls), 401, "app_auth_required")
        }

        @Test func `without a date or with one that is far away the gateway doesn't start`() async throws {
            let target = try await TargetServer.start(.echo)
            for (date, problem) in [
                (nil, "REPORT_UNTIL isn't set"),
                (Self.date(in: 91 * 86_400), "REPORT_UNTIL is more than 90 days ahead"),
                ("tomorrow", "REPORT_UNTIL isn't a date"),
            ] {
                var settings = try await settings(target, until: date ?? "")
                if date == nil { settings = settings.removing("REPORT_UNTIL") }
                for command in ["check-config", "serve"] {
                    let output = try await GatewayProcess.run([command], settings)
                    #expect(output.ending == .exited(78) && output.errorText.contains(problem), "\(output)")
                }
            }
            let good = try await GatewayProcess.run(
                ["check-config"], try await settings(target, until: Self.date(in: 60)))
            #expect(good.ending == .exited(0) && good.errorText.contains("is report: until"), "\(good)")
        }
    }
}
