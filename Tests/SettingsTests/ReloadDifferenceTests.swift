import Foundation
import SettingsTestKit
import Testing

@testable import Settings

/// The differences that a reload reports, applied or not.
struct ReloadDifferenceTests {
    private let bench: ConfigurationBench

    init() throws {
        bench = try ConfigurationBench()
    }

    private func inEffect(_ environment: [String: String]) throws -> SettingsInEffect {
        SettingsInEffect(try bench.load(environment))
    }

    private func lines(_ lines: [ReloadDifference.Line]) -> [String] { lines.map(\.description) }

    @Test func `equal settings have no difference`() throws {
        let settings = try inEffect(bench.secured())
        let difference = ReloadDifference(from: settings, to: try inEffect(bench.secured()))
        // The bench makes new certificates each time.
        #expect(
            lines(difference.applied) == [
                "TLS_CERT_PATH: the file has changed", "TLS_KEY_PATH: the file has changed",
            ])
        #expect(difference.needingRestart.isEmpty)
        #expect(ReloadDifference(from: settings, to: settings).applied.isEmpty)
    }

    @Test func `a setting is named with both of its values`() throws {
        let difference = ReloadDifference(
            from: try inEffect(bench.least(["MAX_BODY_BYTES": "20000"])),
            to: try inEffect(bench.least(["MUD_ROUTES": "a=b.example:1"])))
        #expect(
            lines(difference.applied) == [
                "TARGET_ROUTES: (none) -> a=b.example:1", "MAX_BODY_BYTES: 20000 -> 65536",
            ])
    }

    @Test func `settings that need a restart are listed separately`() throws {
        let difference = ReloadDifference(
            from: try inEffect(bench.least()),
            to: try inEffect(bench.least(["WS_PORT": "1", "REACTOR_THREADS": "3", "PING_INTERVAL_SECONDS": "20"])))
        #expect(lines(difference.applied) == ["PING_INTERVAL_SECONDS: 30 -> 20"])
        #expect(lines(difference.needingRestart) == ["WS_PORT: 6200 -> 1", "REACTOR_THREADS: 0 -> 3"])
    }

    /// Enabling App Attest or TLS takes more than new settings.
    @Test func `the settings of a method that needs a restart wait with it`() throws {
        let without = try inEffect(
            bench.secured(["APPATTEST_TEAM_ID": nil, "APPATTEST_BUNDLE_ID": nil, "REQUIRE_APP_AUTH": "false"]))
        let difference = ReloadDifference(from: without, to: try inEffect(bench.secured()), pinned: [.appAttest])
        #expect(difference.needingRestart.map(\.setting) == ["APPATTEST_TEAM_ID", "APPATTEST_BUNDLE_ID"])
        #expect(difference.applied.map(\.setting).contains("REQUIRE_APP_AUTH"))
    }

    @Test func `what has no effect without a part that isn't there needs a restart, and can be switched off at once`()
        throws
    {
        let names = ["SIGNED_REQUESTS", "ALLOW_DEV_TOKENS"]
        let without = try inEffect(
            bench.secured(["APPATTEST_TEAM_ID": nil, "APPATTEST_BUNDLE_ID": nil, "REQUIRE_APP_AUTH": "false"]))
        let with = try inEffect(bench.secured([names[0]: "on", names[1]: "true"]))
        let on = ReloadDifference(from: without, to: with, pinned: [.appAttest], missing: [.appAttest])
        #expect(on.needingRestart.map(\.setting) == ["APPATTEST_TEAM_ID", "APPATTEST_BUNDLE_ID"] + names)
        let off = ReloadDifference(from: with, to: without, pinned: [.appAttest])
        #expect(off.needingRestart.map(\.setting) == ["APPATTEST_TEAM_ID", "APPATTEST_BUNDLE_ID"])
        #expect(Set(off.applied.map(\.setting)).isSuperset(of: names))
    }

    /// Changing this list changes what operators can do without a restart.
    @Test func `these settings change only with a restart`() {
        #expect(
            GatewaySettings.table.rows.filter { $0.reload == .restart }.map(\.name) == [
                "BIND_HOST", "WS_PORT", "INBOUND_TLS_MODE", "ATTESTED_KEYS_PATH", "STORE_URL",
                "STORE_PASSWORD_PATH", "STORE_SECRETS_KEY_PATH", "ALLOW_INSECURE_STORE_TLS", "STORE_TIMEOUT_MS",
                "MAX_SPENT_PROOFS", "PASSKEY_RP_ID", "PASSKEY_ORIGINS", "PASSKEY_ANDROID_APPS", "PASSKEY_ATTESTATION",
                "ADMIN_BIND", "FLEET_BIND", "TICKET_TTL_SECONDS", "CONTROL_SOCKET_PATH",
                "PUBLIC_ORIGIN", "CHALLENGE_TTL_SECONDS", "MAX_LIMITER_ENTRIES",
                "REACTOR_THREADS", "LOG_LEVEL", "LOG_FORMAT", "AUDIT_LOG_PATH",
            ])
    }
}
