import Admission
import Foundation
import Logging
import Relay
import Settings
import SettingsTestKit
import Testing

@testable import GatewayServer

/// A whole gateway on a free loopback port, whose environment file changes.
struct ReloadTests {
    private let bench: ConfigurationBench
    private let path: String
    private let gateway: Gateway

    init() throws {
        let bench = try ConfigurationBench()
        let base = bench.least(["WS_PORT": "0", "REACTOR_THREADS": "2"])
        path = try bench.file("portcullis.env", Self.text(base))
        let source = ConfigurationSource(environment: [:], environmentFile: path)
        gateway = try Gateway(
            source.load(now: bench.now), from: source, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        self.bench = bench
    }

    private static func text(_ settings: [String: String]) -> String {
        settings.map { "\($0.key)=\($0.value)\n" }.joined()
    }

    private func reload(_ changes: [String: String?]) async throws -> ReloadOutcome {
        let base: [String: String?] = ["WS_PORT": "0", "REACTOR_THREADS": "2"]
        _ = try bench.file("portcullis.env", Self.text(bench.least(base.merging(changes) { $1 })))
        return await gateway.reload()
    }

    private func value(_ name: String) -> String? { gateway.current.now.settings[name]?.text }

    @Test func `all good settings are in effect at once`() async throws {
        let outcome = try await reload(["MAX_BODY_BYTES": "20000", "SHUTDOWN_GRACE_MS": "5"])
        guard case .applied(let difference) = outcome else { return #expect(Bool(false), "\(outcome)") }
        #expect(difference.applied.map(\.setting) == ["MAX_BODY_BYTES", "SHUTDOWN_GRACE_MS"])
        #expect(gateway.current.now.live.process.shutdownGraceMilliseconds == 5)
        #expect(value("MAX_BODY_BYTES") == "20000")
    }

    @Test func `one bad setting rejects all of them, and every error is reported`() async throws {
        let outcome = try await reload([
            "SHUTDOWN_GRACE_MS": "5", "MAX_BODY_BYTES": "no number", "MUD_CA_PATH": "/nowhere.pem",
            "MUD_TLS_MODE": "required",
        ])
        guard case .refused(let errors) = outcome else { return #expect(Bool(false), "\(outcome)") }
        #expect(errors.count == 2)
        for name in ["MAX_BODY_BYTES", "MUD_CA_PATH"] { #expect(errors.contains { $0.hasPrefix(name) }, "\(errors)") }
        #expect(gateway.current.now.live.process.shutdownGraceMilliseconds == 3000)
        #expect(value("SHUTDOWN_GRACE_MS") == "3000")
    }

    @Test func `what needs a restart is named at each reload until then`() async throws {
        for _ in 0..<2 {
            let outcome = try await reload(["LOG_LEVEL": "debug"])
            guard case .applied(let difference) = outcome else { return #expect(Bool(false), "\(outcome)") }
            #expect(difference.applied.isEmpty)
            #expect(difference.needingRestart.map(\.description) == ["LOG_LEVEL: info -> debug"])
        }
        guard case .applied(let difference) = try await reload([:]) else { return #expect(Bool(false)) }
        #expect(difference.needingRestart.isEmpty)
    }

    @Test func `without App Attest in the new settings the old ones stay`() async throws {
        let outcome = try await reload([
            "APPATTEST_TEAM_ID": nil, "APPATTEST_BUNDLE_ID": nil, "REQUIRE_APP_AUTH": "false",
        ])
        guard case .applied(let difference) = outcome else { return #expect(Bool(false), "\(outcome)") }
        #expect(difference.needingRestart.map(\.setting) == ["APPATTEST_TEAM_ID", "APPATTEST_BUNDLE_ID"])
        #expect(gateway.current.now.pinned.appAttest?.apps.count == 1)
    }

    @Test func `signed requests wait for the restart that App Attest needs`() async throws {
        let base: [String: String?] = ["WS_PORT": "0", "REACTOR_THREADS": "2"]
        func write(_ changes: [String: String?]) throws -> String {
            try bench.file("other.env", Self.text(bench.least(base.merging(changes) { $1 })))
        }
        let other = try write(["APPATTEST_TEAM_ID": nil, "APPATTEST_BUNDLE_ID": nil, "REQUIRE_APP_AUTH": "false"])
        let source = ConfigurationSource(environment: [:], environmentFile: other)
        let gateway = try Gateway(
            source.load(now: bench.now), from: source, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        _ = try write(["SIGNED_REQUESTS": "on"])
        for _ in 0..<2 {
            guard case .applied(let difference) = await gateway.reload() else { return #expect(Bool(false)) }
            #expect(
                difference.needingRestart.map(\.setting) == [
                    "APPATTEST_TEAM_ID", "APPATTEST_BUNDLE_ID", "SIGNED_REQUESTS",
                ])
            #expect(gateway.current.now.parts.relay.signedRequests == nil)
        }
    }
}
