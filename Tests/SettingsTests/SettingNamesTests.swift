import Foundation
import SettingsTestKit
import Testing

@testable import Settings

/// Names that were settings, and other spellings of settings.
@Suite("The names of settings")
struct SettingNamesTests {
    private let bench: ConfigurationBench

    init() throws { bench = try ConfigurationBench() }

    private static let removed = RemovedSetting.all.map(\.name)
    private static let spellings = GatewaySettings.table.rows.flatMap { row in row.spellings.map { ($0, row.name) } }

    // MARK: Names that were settings

    @Test(arguments: removed) func `a removed setting stops the start and says what replaces it`(name: String) throws {
        let file = try bench.file("gateway.env", name + "=1\n")
        let errors = bench.errors(bench.least([name: "1"])) + bench.errors(bench.least(), file: file)
        #expect(errors.map(\.setting) == [name, name])
        #expect(errors.map(\.origin) == [.environment, .file(path: file, line: 1)])
        for error in errors {
            #expect(error.problem == "is no setting any more")
            #expect(error.remedy.hasPrefix("Remove it: ") || error.remedy.hasPrefix("Set "), "\(error.remedy)")
            #expect(error.remedy.hasSuffix("."))
        }
    }

    @Test(arguments: removed) func `a removed setting without a value doesn't stop the start`(name: String) {
        #expect(bench.problems(bench.least([name: ""])) == [])
    }

    @Test func `what replaces a removed setting is a setting`() {
        let table = GatewaySettings.table
        for removed in RemovedSetting.all {
            #expect(!table.names.contains(removed.name) && table.spellings[removed.name] == nil, "\(removed.name)")
            for match in removed.advice.matches(of: /\b[A-Z]+(?:_[A-Z]+)+\b/) {
                #expect(table.names.contains(String(match.0)), "\(removed.name): \(match.0)")
            }
        }
        #expect(Set(Self.removed).count == Self.removed.count && Self.removed.count > 35)
    }

    @Test func `there are no more settings than an operator can look through`() {
        // 112, four of requests that are signed one by one, ten of players' accounts, both off by default, and two of
        // TLS.
        #expect(GatewaySettings.table.rows.count <= 128)
    }

    @Test func `the documentation has every name that isn't a setting's own`() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let manual = try String(contentsOf: root.appendingPathComponent("docs/CONFIGURATION.md"), encoding: .utf8)
        for removed in RemovedSetting.all {
            #expect(manual.contains("\n| \(removed.name) | \(removed.advice) |\n"), "\(removed.name)")
        }
        for (spelling, name) in Self.spellings {
            #expect(manual.contains("\n| \(spelling) | \(name) |\n"), "\(spelling)")
        }
    }

    // MARK: Spellings

    @Test func `the names of mud-web-proxy are accepted`() {
        let accepted = Set(Self.spellings.map(\.0)).union(GatewaySettings.table.names)
        #expect(
            accepted.isSuperset(of: [
                "BIND_HOST", "WS_PORT", "TN_HOST", "TN_PORT", "INBOUND_TLS_MODE", "TLS_CERT_PATH", "TLS_KEY_PATH",
                "ALLOW_INSECURE_INBOUND_NO_TLS", "TARGET_MODE", "MUD_TLS_MODE", "MUD_DIAL_TIMEOUT_MS", "MUD_ROUTES",
                "AUTH_MODE", "REQUIRE_APP_AUTH", "ALLOWED_ORIGINS", "ALLOW_MISSING_ORIGIN", "TRUSTED_PROXY_CIDRS",
                "SESSION_TIMEOUT_HOURS", "MAX_SESSIONS_PER_DEVICE", "MAX_SESSIONS_PER_IP", "MAX_SESSIONS_GLOBAL",
                "RESUME_GRACE_MINUTES", "SHUTDOWN_GRACE_MS", "SHUTDOWN_DEADLINE_MS", "MAX_SUBNEGOTIATION_BYTES",
                "OUTPUT_BUFFER_BYTES", "LOG_LEVEL", "APPATTEST_BUNDLE_ID", "APPATTEST_TEAM_ID", "ATTESTED_KEYS_PATH",
            ]))
    }

    @Test func `names follow one scheme`() {
        for name in GatewaySettings.table.names {
            #expect(!name.hasPrefix("TN_") && !name.hasPrefix("MUD_") && !name.hasSuffix("_PER_IP"), "\(name)")
        }
    }

    @Test(arguments: spellings) func `a spelling is read like the name, and shown as it was written`(
        spelling: String, name: String
    ) throws {
        let wrong = bench.least().filter { $0.key != spelling }.merging([spelling: "?"]) { $1 }
        #expect(bench.errors(wrong).map(\.setting).contains(spelling), "\(bench.problems(wrong))")
        let file = try bench.file("gateway.env", "\n\(spelling)=?\n")
        let errors = bench.errors(bench.least().filter { $0.key != spelling }, file: file)
        #expect(errors.contains { $0.setting == spelling && $0.origin == .file(path: file, line: 2) }, "\(errors)")
    }

    @Test func `a name and its spelling together are an error, in one place`() throws {
        let twice = bench.least(["TN_PORT": "4000", "TARGET_PORT": "4001"])
        #expect(bench.problems(twice) == ["TARGET_PORT is set twice, also as TN_PORT"])
        let file = try bench.file("gateway.env", "TN_PORT=4000\nTARGET_PORT=4001\n")
        let without = bench.least(["TN_PORT": nil])
        #expect(bench.problems(without, file: file) == ["TARGET_PORT is set twice, also as TN_PORT"])
    }

    /// As for one name.
    @Test func `the environment overrides the file, whichever spelling they use`() throws {
        let file = try bench.file("gateway.env", "TARGET_PORT=4001\n")
        let loaded = try bench.load(bench.least(["TN_PORT": "4002"]), file: file)
        #expect(loaded.configuration.target.port == 4002)
        let shown = try #require(loaded.settings.first { $0.row.name == "TARGET_PORT" })
        #expect(shown.description == "TN_PORT=4002  # environment")
        let other = try bench.file("other.env", "TN_PORT=4001\n")
        let second = try bench.load(bench.least(["TN_PORT": nil, "TARGET_PORT": "4002"]), file: other)
        #expect(second.configuration.target.port == 4002)
        let empty = bench.least(["TN_PORT": ""])
        #expect(bench.problems(empty, file: other) == ["TN_PORT isn't set"])
    }
}
