import Foundation
import SettingsTestKit
import Testing

@testable import Settings

@Suite struct ConfigurationRulesTests {
    private let bench: ConfigurationBench

    init() throws {
        bench = try ConfigurationBench()
    }

    @Test func `all errors are reported at once`() throws {
        let file = try bench.file("gateway.env", "WS_PRT=1\nLOG_LEVEL=debug\nLOG_LEVEL=info\nnonsense\n")
        let problems = bench.problems(
            ["TN_PORT": "0", "BIND_HOST": "localhost", "SHUTDOWN_GRACE_MS": "15000", "MTLS_CLIENT_CAPATH": "x"],
            file: file)
        #expect(
            problems == [
                "LOG_LEVEL is set twice, first in line 2",
                "- isn't an assignment",
                "WS_PRT is no setting",
                "MTLS_CLIENT_CAPATH is no setting",
                "BIND_HOST isn't an IP address",
                "TLS_CERT_PATH isn't set, and INBOUND_TLS_MODE is required",
                "TLS_KEY_PATH isn't set, and INBOUND_TLS_MODE is required",
                "TARGET_HOST isn't set",
                "TN_PORT is out of range",
                "REQUIRE_APP_AUTH is true, but no admission method is configured",
                "SHUTDOWN_DEADLINE_MS isn't later than SHUTDOWN_GRACE_MS",
            ])
    }

    @Test func `an error says where it is and what to do`() throws {
        let file = try bench.file("gateway.env", "\nLOG_LEVEL=loud\n")
        #expect(
            bench.errors(bench.least(), file: file).map(\.description) == [
                "LOG_LEVEL has an unknown value (\(file), line 2). "
                    + "Choose one of `trace`, `debug`, `info`, `notice`, `warning`, `error`, `critical`."
            ])
        #expect(
            bench.errors(bench.least(["TN_PORT": nil])).map(\.description) == [
                "TARGET_PORT isn't set. It is needed: The TCP port of that service."
            ])
    }

    @Test(
        arguments: [
            (
                ["REQUIRE_APP_AUTH": "true", "APPATTEST_TEAM_ID": nil, "APPATTEST_BUNDLE_ID": nil],
                "REQUIRE_APP_AUTH is true, but no admission method is configured"
            ),
            (
                ["APPATTEST_TEAM_ID": nil, "APPATTEST_APP_IDS": "AAAAAAAAAA.b"],
                "APPATTEST_BUNDLE_ID is set without APPATTEST_TEAM_ID"
            ),
            (
                ["APPATTEST_BUNDLE_ID": nil, "APPATTEST_APP_IDS": "AAAAAAAAAA.b"],
                "APPATTEST_TEAM_ID is set without APPATTEST_BUNDLE_ID"
            ),
            (
                ["BIND_HOST": "0.0.0.0"],
                "INBOUND_TLS_MODE is off while BIND_HOST is an address that other machines can reach"
            ),
            (
                ["BIND_HOST": "::"],
                "INBOUND_TLS_MODE is off while BIND_HOST is an address that other machines can reach"
            ),
            (["MTLS_CLIENT_CRL_PATH": "/crl.pem"], "MTLS_CLIENT_CRL_PATH is set without MTLS_CLIENT_CA_PATH"),
            (
                ["APPATTEST_ROOT_CA_PATH": "/root.pem"],
                "APPATTEST_ROOT_CA_PATH replaces Apple's root, which isn't allowed"
            ),
            (["SHUTDOWN_GRACE_MS": "15000"], "SHUTDOWN_DEADLINE_MS isn't later than SHUTDOWN_GRACE_MS"),
            (["MAX_BODY_BYTES": "16383"], "MAX_BODY_BYTES is out of range"),
            (["ATTESTED_KEYS_PATH": "/tmp"], "ATTESTED_KEYS_PATH names a folder"),
            (
                ["AUDIT_LOG_PATH": "/nonexistent/audit.log"],
                "AUDIT_LOG_PATH names a file that can't be written (/nonexistent: No such file or directory)"
            ),
            (
                ["INBOUND_TLS_MODE": nil, "TLS_KEY_PATH": "/nonexistent"],
                "TLS_CERT_PATH isn't set, and INBOUND_TLS_MODE is required"
            ),
        ] as [([String: String?], String)])
    func `an impossible combination prevents the start`(changes: [String: String?], problem: String) {
        #expect(bench.problems(bench.least(changes)) == [problem])
    }

    @Test func `client certificates need TLS`() throws {
        let authority = try bench.file("ca.pem", bench.authority.certificate)
        #expect(
            bench.problems(bench.least(["MTLS_CLIENT_CA_PATH": authority])) == [
                "MTLS_CLIENT_CA_PATH is set while INBOUND_TLS_MODE is off"
            ])
    }

    @Test func `a wrong value causes no consequential errors`() throws {
        #expect(
            bench.problems(bench.least(["INBOUND_TLS_MODE": "of"])) == ["INBOUND_TLS_MODE has an unknown value"])
        #expect(bench.problems(bench.least(["TN_PORT": "23x"])) == ["TN_PORT isn't a whole number"])
        #expect(
            bench.problems(bench.least(["APPATTEST_TEAM_ID": "short"])) == [
                "APPATTEST_TEAM_ID isn't a team identifier"
            ])
        #expect(
            bench.problems(bench.least(["PING_INTERVAL_SECONDS": "x"])) == [
                "PING_INTERVAL_SECONDS isn't a whole number"
            ])
    }

    @Test(arguments: ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"])
    func `plain text is allowed on loopback`(host: String) {
        #expect(bench.problems(bench.least(["BIND_HOST": host])) == [])
    }

    @Test func `plain text elsewhere is allowed with the flag and causes a warning`() throws {
        let settings = bench.least(["BIND_HOST": "0.0.0.0", "ALLOW_INSECURE_INBOUND_NO_TLS": "true"])
        #expect(try bench.load(settings).configuration.tls == nil)
        #expect(
            try bench.warnings(settings) == [
                "INBOUND_TLS_MODE: is off: anyone on the network path can read and change all traffic."
            ])
    }

    /// The bench's clock shows the time of `now`.
    @Test func `a gate that only reports needs a date within 90 days, which it warns of`() throws {
        func settings(_ days: Double?, _ more: [String: String?] = [:]) -> [String: String] {
            let date = days.map { (bench.now + $0 * 86_400).formatted(.iso8601) }
            let own: [String: String?] = ["REQUIRE_APP_AUTH": "report", "REPORT_UNTIL": date]
            return bench.least(own.merging(more) { $1 })
        }
        let warnings = try bench.warnings(settings(90))
        #expect(warnings.count == 1 && warnings[0].hasPrefix("REQUIRE_APP_AUTH: is report: until 20"), "\(warnings)")
        #expect(try bench.load(settings(1)).configuration.description.contains(", anyone until 20"))
        #expect(bench.problems(settings(nil)) == ["REPORT_UNTIL isn't set, and REQUIRE_APP_AUTH is report"])
        // A restart after the date starts: the mode has ended.
        for days in [0, -1.0] {
            let warnings = try bench.warnings(settings(days))
            #expect(warnings.count == 1 && warnings[0].hasPrefix("REPORT_UNTIL: is in the past"), "\(warnings)")
        }
        #expect(bench.problems(settings(90.1)) == ["REPORT_UNTIL is more than 90 days ahead"])
        #expect(
            try bench.warnings(settings(1, ["REQUIRE_APP_AUTH": "true"]))
                == ["REPORT_UNTIL: has no effect: REQUIRE_APP_AUTH isn't report."])
        // It admits nobody in the end.
        let nothing = settings(1, ["APPATTEST_TEAM_ID": nil, "APPATTEST_BUNDLE_ID": nil])
        #expect(bench.problems(nothing) == ["REQUIRE_APP_AUTH is report, but no admission method is configured"])
        // Until its end it would be an open relay.
        let relay = settings(1, ["TARGET_MODE": "arbitrary", "TARGET_PORTS": "4000"])
        #expect(bench.problems(relay).first?.contains("needs REQUIRE_APP_AUTH=true") == true)
    }

    @Test func `an open gate causes a warning`() throws {
        let settings = bench.least(
            ["REQUIRE_APP_AUTH": "false", "APPATTEST_TEAM_ID": nil, "APPATTEST_BUNDLE_ID": nil])
        #expect(try bench.load(settings).configuration.appAttest == nil)
        #expect(
            try bench.warnings(settings) == [
                "REQUIRE_APP_AUTH: is false: any client that can reach the port is connected to the target."
            ])
    }

    @Test(arguments: [
        (["APPATTEST_ALLOW_CUSTOM_ROOT": "true"], "APPATTEST_ALLOW_CUSTOM_ROOT"),
        (["TLS_CERT_PATH": "/cert.pem"], "TLS_CERT_PATH"),
        (["MAX_SESSIONS_GLOBAL": "11", "MAX_CONNECTIONS": "10"], "MAX_SESSIONS_GLOBAL"),
        (["TNHOST": "x"], "TN_HOST"),
    ])
    func `a setting without effect causes a warning`(changes: [String: String], setting: String) throws {
        let warnings = try bench.load(bench.least(changes)).warnings
        #expect(warnings.map(\.setting) == [setting])
    }

    @Test func `other programs' names in the environment are ignored`() throws {
        let others = [
            "PATH": "/bin", "WS_SERVICE_HOST": "10.0.0.1", "TN_PORT_23_TCP": "tcp://10.0.0.1:23", "HOST": "x",
        ]
        #expect(try bench.load(bench.least(others)).warnings.isEmpty)
    }

    @Test(arguments: [
        ("APPATTEST_BUNDLEID", "APPATTEST_BUNDLE_ID"), ("APPATTEST_TEAMS_ID", "APPATTEST_TEAM_ID"),
        ("MTLS_CLIENT_CRL_PAHT", "MTLS_CLIENT_CRL_PATH"), ("REQUIRE_APP_AUHT", "REQUIRE_APP_AUTH"),
        ("MTLS_CA_PATH", "MTLS_CLIENT_CA_PATH"), ("MTLS_CRL_PATH", "MTLS_CLIENT_CRL_PATH"),
    ])
    func `a mistyped name is an error in both places and the nearest name is suggested`(name: String, nearest: String)
        throws
    {
        let file = try bench.file("gateway.env", name + "=x\n")
        let both = bench.errors(bench.least([name: "x"])) + bench.errors(bench.least(), file: file)
        #expect(both.map(\.setting) == [name, name])
        #expect(both.map(\.remedy) == ["Did you mean \(nearest)?", "Did you mean \(nearest)?"])
    }

    @Test func `a setting that several parts read is reported once`() {
        #expect(
            bench.problems(bench.least(["REQUIRE_APP_AUTH": "no"])) == [
                "REQUIRE_APP_AUTH has an unknown value"
            ])
    }

    @Test func `an unknown name in the file is an error even if no name is similar`() throws {
        let file = try bench.file("gateway.env", "ENTIRELY_DIFFERENT=x\n")
        #expect(bench.problems(bench.least(), file: file) == ["ENTIRELY_DIFFERENT is no setting"])
    }

    /// Consequences of the error, such as missing settings, aren't reported.
    @Test(arguments: [[:], ["TN_PORT": "x"]])
    func `a missing file prevents the start and is the only error`(environment: [String: String]) {
        let errors = bench.errors(environment, file: "/nonexistent.env")
        #expect(
            errors.map(\.description) == [
                "The environment file can't be read (/nonexistent.env: No such file or directory)."
                    + " Check the path and the file's permissions; a relative path counts from the working directory."
            ])
        #expect(throws: ConfigurationErrors.self) {
            try ConfigurationLoading.loadStoreLocation(environment: environment, environmentFile: "/nonexistent.env")
        }
    }

    @Test func `one error is a line and several are a list below a line`() {
        let one = ConfigurationErrors(errors: bench.errors(bench.least(["TN_PORT": "x"])), warnings: [])
        #expect(one.description == one.errors[0].description)
        let two = ConfigurationErrors(
            errors: bench.errors(bench.least(["TN_PORT": "x", "WS_PORT": "x"])), warnings: [])
        let lines = two.description.split(separator: "\n")
        #expect(lines.first == "the configuration has 2 errors:" && lines.count == 3)
        #expect(lines.dropFirst().allSatisfy { $0.hasPrefix("  - ") })
    }

    @Test func `a file at the size limit is read and a larger one is refused`() throws {
        let line = "WS_PORT=7000\n"
        let comment = "#" + String(repeating: "x", count: ConfigurationLoading.maximumFileBytes - line.utf8.count - 2)
        let full = try bench.file("full.env", line + comment + "\n")
        #expect(try bench.load(bench.least(), file: full).configuration.listener.port == 7000)
        let over = try bench.file("over.env", line + comment + "x\n")
        #expect(bench.problems(bench.least(), file: over) == ["- has more than 262144 bytes"])
    }

    @Test func `hostile names and paths are shown escaped`() throws {
        let path = bench.folder + "/a\u{1B}[2J\u{202E}.env"
        try Data("LOG_LEVEL=x\n".utf8).write(to: URL(fileURLWithPath: path))
        let text = bench.errors(bench.least(), file: path).map(\.description).joined()
        #expect(text.contains("\\u{001B}"))
        #expect(!text.contains("\u{1B}") && !text.contains("\u{202E}"))
    }
}
