import Admission
import Foundation
import Observability
import SettingsTestKit
import Testing

@testable import Settings

/// Secrets, the block list, and their effect on admission.
@Suite struct ConfigurationGateTests {
    private static let line = "main sha256:" + String(repeating: "ab", count: 32)
    private let bench: ConfigurationBench

    init() throws {
        bench = try ConfigurationBench()
    }

    /// Settings for a gateway that requires one of the secrets in `text`.
    private func sharing(_ text: String, mode: Int = 0o600, _ changes: [String: String?] = [:]) throws -> [String:
        String]
    {
        let path = try bench.file("secrets.txt", text, mode: mode)
        return bench.least(["AUTH_MODE": "shared-secret", "SHARED_SECRETS_PATH": path].merging(changes) { $1 })
    }

    @Test func `the secrets are read from their file`() throws {
        let loaded = try bench.load(sharing("# ours\n" + Self.line + "\n"))
        #expect(loaded.configuration.sharedSecrets?.names == ["main"])
        #expect(loaded.warnings == [])
    }

    @Test func `a mode without a file and a file without its mode are errors`() throws {
        #expect(
            bench.problems(bench.least(["AUTH_MODE": "shared-secret"]))
                == ["SHARED_SECRETS_PATH isn't set, and AUTH_MODE is shared-secret"])
        let without = try sharing(Self.line, ["AUTH_MODE": nil])
        #expect(bench.problems(without) == ["SHARED_SECRETS_PATH is set while AUTH_MODE is none"])
        #expect(bench.problems(bench.least(["AUTH_MODE": "secret"])) == ["AUTH_MODE has an unknown value"])
    }

    @Test func `an error in a list has its line number and not its text`() throws {
        let problems = bench.problems(
            try sharing(
                Self.line + "\nsecond hunter2\n", ["BLOCK_LIST_PATH": bench.file("block.txt", "\n\naddress nowhere\n")])
        )
        #expect(
            problems == [
                "SHARED_SECRETS_PATH names a file whose line 2 isn't a name and the hash of a secret",
                "BLOCK_LIST_PATH names a file whose line 3 holds no address",
            ])
        #expect(bench.problems(try sharing("")) == ["SHARED_SECRETS_PATH names a file that holds no secret"])
    }

    @Test func `an unreadable list is an error`() throws {
        let environment = bench.least([
            "AUTH_MODE": "shared-secret", "SHARED_SECRETS_PATH": "/nonexistent/a", "BLOCK_LIST_PATH": "/nonexistent/b",
        ])
        #expect(
            bench.problems(environment) == [
                "SHARED_SECRETS_PATH names a file that can't be read (/nonexistent/a: No such file or directory)",
                "BLOCK_LIST_PATH names a file that can't be read (/nonexistent/b: No such file or directory)",
            ])
    }

    @Test(arguments: [(65_536, true), (65_537, false)])
    func `the file of secrets has a maximum size`(size: Int, isGood: Bool) throws {
        let text = Self.line + "\n#" + String(repeating: "x", count: size - Self.line.utf8.count - 2)
        #expect(bench.problems(try sharing(text)).isEmpty == isGood)
    }

    @Test func `hashes that others can read cause a warning`() throws {
        #expect(
            try bench.warnings(sharing(Self.line, mode: 0o644))
                == ["SHARED_SECRETS_PATH: all users of this machine can read the secrets' hashes: chmod o= it."])
        #expect(try bench.warnings(sharing(Self.line, mode: 0o640)) == [])
    }

    @Test func `the block list is read from its file`() throws {
        let path = try bench.file("block.txt", "address 203.0.113.0/24\n")
        let list = try bench.load(bench.least(["BLOCK_LIST_PATH": path])).configuration.blockList
        #expect(list == (try BlockList("address 203.0.113.0/24", kinds: [])) && !list.isEmpty)
    }

    @Test
    func `a warning says if a secret alone admits, and otherwise the gate still needs an admission method`() throws {
        let open = try sharing(Self.line, ["REQUIRE_APP_AUTH": "false"])
        #expect(
            try bench.warnings(open) == [
                "REQUIRE_APP_AUTH: is false: any client with a shared secret is connected to the target."
            ])
        #expect(try bench.load(open).configuration.description.hasSuffix("anyone, each with a shared secret"))
        let closed = try sharing(Self.line, ["APPATTEST_TEAM_ID": nil, "APPATTEST_BUNDLE_ID": nil])
        let errors = bench.errors(closed)
        #expect(errors.map(\.setting) == ["REQUIRE_APP_AUTH"])
        #expect(errors.first?.remedy.hasSuffix("Where a shared secret is enough, set it to false.") == true)
    }

    @Test func `an origin can be required`() throws {
        #expect(try !bench.load(bench.least(["ALLOW_MISSING_ORIGIN": "false"])).configuration.gate.allowsMissingOrigin)
    }

    // MARK: Ranges

    @Test(
        arguments: [
            ("RESUME_GRACE_MINUTES", 0, 1440), ("SESSION_TIMEOUT_HOURS", 1, 720),
            ("OUTPUT_BUFFER_BYTES", 1024, 16_777_216), ("PING_INTERVAL_SECONDS", 1, 3600),
            ("MAX_SESSIONS_PER_DEVICE", 1, 10_000), ("MAX_SESSIONS_PER_IP", 1, 1_000_000),
            ("MESSAGES_PER_SECOND", 0, 1_000_000_000), ("MESSAGES_PER_SECOND_PER_IP", 0, 1_000_000_000),
            ("CLIENT_BYTES_PER_SECOND", 0, 1_000_000_000), ("TARGET_BYTES_PER_SECOND", 0, 1_000_000_000),
            ("REQUEST_TIMEOUT_MS", 100, 120_000), ("REQUESTS_PER_SECOND_PER_ADDRESS", 0, 1_000_000_000),
            ("AUDIT_REFUSALS_PER_MINUTE", 2, 1_000_000),
        ])
    func `each number has its range`(name: String, least: Int, most: Int) {
        for value in [least, most] { #expect(bench.problems(bench.least([name: String(value)])) == []) }
        #expect(bench.problems(bench.least([name: String(most + 1)])) == ["\(name) is out of range"])
        let below = least == 0 ? "isn't a whole number" : "is out of range"
        #expect(bench.problems(bench.least([name: String(least - 1)])) == ["\(name) \(below)"])
    }

    @Test func `zero removes rate limits`() throws {
        let names = [
            "MESSAGES_PER_SECOND", "MESSAGES_PER_SECOND_PER_IP", "CLIENT_BYTES_PER_SECOND", "TARGET_BYTES_PER_SECOND",
        ]
        let lifted = bench.least(Dictionary(uniqueKeysWithValues: names.map { ($0, "0") }))
        let traffic = try bench.load(lifted).configuration.traffic
        #expect(traffic.messagesPerSecond == nil)
        #expect(traffic.messagesPerSecondPerAddress == nil)
        #expect(traffic.clientBytesPerSecond == nil)
        #expect(traffic.targetBytesPerSecond == nil)
        let set = bench.least(Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, String($0 + 1)) }))
        let rates = try bench.load(set).configuration.traffic
        #expect(rates.messagesPerSecond == 1)
        #expect(rates.messagesPerSecondPerAddress == 2)
        #expect(rates.clientBytesPerSecond == 3)
        #expect(rates.targetBytesPerSecond == 4)
    }

    @Test func `limits for unauthenticated clients are applied`() throws {
        let configuration = try bench.load(
            bench.least([
                "REQUESTS_PER_SECOND_PER_ADDRESS": "7", "AUDIT_REFUSALS_PER_MINUTE": "8", "AUDIT_FULL": "continue",
            ])
        ).configuration
        #expect(configuration.limits.requestsPerSecond == 7)
        #expect(configuration.logs.auditRefusalsPerMinute == 8 && configuration.logs.auditFull == .continue)
        let lifted = try bench.load(bench.least(["REQUESTS_PER_SECOND_PER_ADDRESS": "0"])).configuration
        #expect(lifted.limits.requestsPerSecond == nil && lifted.logs.auditRefusalsPerMinute == 300)
        #expect(lifted.logs.auditFull == .refuse)
        #expect(bench.problems(bench.least(["AUDIT_FULL": "ignore"])) == ["AUDIT_FULL has an unknown value"])
    }

    @Test func `each number is applied`() throws {
        let configuration = try bench.load(
            bench.least([
                "RESUME_GRACE_MINUTES": "1", "SESSION_TIMEOUT_HOURS": "2", "OUTPUT_BUFFER_BYTES": "3000",
                "PING_INTERVAL_SECONDS": "4", "SESSION_EVENTS_GMCP": "true", "MAX_SESSIONS_PER_DEVICE": "6",
                "MAX_SESSIONS_PER_IP": "7", "REQUEST_TIMEOUT_MS": "800", "CHALLENGES_PER_MINUTE": "9",
                "FAILED_UPGRADES_PER_MINUTE": "10", "COPYOVER_READY_MS": "110",
            ])
        ).configuration
        #expect(configuration.resume.graceMinutes == 1)
        #expect(configuration.resume.sessionTimeoutHours == 2)
        #expect(configuration.resume.outputBufferBytes == 3000)
        let session = configuration.session
        #expect(session.slowClientSeconds == 4 && session.connectWaitSeconds == 8)
        #expect(session.peerSilenceSeconds == 12 && session.gatewaySilenceSeconds == 20)
        #expect(configuration.resume.tellsTarget == true)
        #expect(configuration.session.maximumPerDevice == 6 && configuration.session.maximumPerAddress == 7)
        #expect(configuration.connections.requestTimeoutMilliseconds == 800)
        // At least one registration.
        let limits = configuration.limits
        #expect(
            limits.registrationsPerMinute == 1 && limits.tokensPerMinute == 9 && limits.verificationsPerSecond == 20)
        #expect(configuration.copyover.settleMilliseconds == 11)
    }
}
